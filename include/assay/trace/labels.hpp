// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names by which `nsys stats` calls things.
#pragma once

#include <assay/trace/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace assay::trace {

/// A call's name without `_v` and four digits at its end; names with a version of more or fewer
/// digits stay whole, as they do in nsys.
constexpr std::string_view without_version(std::string_view name) noexcept {
  constexpr std::size_t suffix = 6;
  if (name.size() <= suffix) { return name; }
  auto const end = name.substr(name.size() - suffix);
  auto const digits = end.substr(2);
  auto const versioned =
      end.starts_with("_v") &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return versioned ? name.substr(0, name.size() - suffix) : name;
}

/// A call's name without any version: `cudaMallocAsync` for `cudaMallocAsync_v11020`.
constexpr std::string_view plain_name(std::string_view name) noexcept {
  auto const digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits == 0 || digits + 1 == name.size()) { return name; }
  auto const versioned = name[digits] == 'v' && name[digits - 1] == '_';
  return versioned ? name.substr(0, digits - 1) : name;
}

/// `Host-to-Device` and the like.
constexpr std::string_view label(copy_kind kind) noexcept {
  constexpr std::array<std::string_view, 14> names{"Unknown",
                                                   "Host-to-Device",
                                                   "Device-to-Host",
                                                   "Host-to-Array",
                                                   "Array-to-Host",
                                                   "Array-to-Array",
                                                   "Array-to-Device",
                                                   "Device-to-Array",
                                                   "Device-to-Device",
                                                   "Host-to-Host",
                                                   "Peer-to-Peer",
                                                   "Unified Host-to-Device",
                                                   "Unified Device-to-Host",
                                                   "Unified Device-to-Device"};
  auto const at = static_cast<std::size_t>(kind);
  return names[at < names.size() ? at : 0];
}

/// `Pageable`, `Pinned` and the like.
constexpr std::string_view label(memory_kind kind) noexcept {
  constexpr std::array<std::string_view, 8> names{"Pageable",       "Pinned",  "Device",
                                                  "Array",          "Managed", "Device Static",
                                                  "Managed Static", "Unknown"};
  auto const at = static_cast<std::size_t>(kind);
  return names[at < names.size() ? at : names.size() - 1];
}

constexpr std::string_view label(range_style style) noexcept {
  return style == range_style::push_pop    ? "PushPop"
         : style == range_style::start_end ? "StartEnd"
                                           : "Mark";
}

/// `[CUDA memcpy Host-to-Device]`.
inline std::string copy_label(copy_kind kind) {
  return "[CUDA memcpy " + std::string{label(kind)} + "]";
}
inline constexpr std::string_view set_label = "[CUDA memset]";

/// `domain:name`; nothing stands before the colon for the default domain.
inline std::string range_label(model const& of, range_record const& range) {
  return std::string{of.strings[range.domain]} + ":" + std::string{of.strings[range.name]};
}

/// `NVIDIA H200 (0)`; a device that the trace does not describe is `Device (0)`.
inline std::string device_label(model const& of, std::int32_t device) {
  std::string_view name = "Device";
  for (auto const& each : of.devices) {
    if (each.id == device && !each.name.empty()) { name = each.name; }
  }
  return std::string{name} + " (" + std::to_string(device) + ")";
}

}  // namespace assay::trace
