// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names that `nsys stats` prints, and names of kernels for people.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>
#include <assay/trace/model.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace assay::trace {

/// A call's name without its version, `_v` and a number of at least `least` and at most `most`
/// digits.
constexpr std::string_view without_version(std::string_view name, std::size_t least,
                                           std::size_t most) noexcept {
  auto const last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last < 2) { return name; }
  auto const digits = name.size() - 1 - last;
  auto const versioned = digits >= least && digits <= most && name.substr(last - 1, 2) == "_v";
  return versioned ? name.substr(0, last - 1) : name;
}

/// A call's name without `_v` and four digits at its end; names with a version of more or fewer
/// digits stay whole, as they do in nsys.
constexpr std::string_view without_version(std::string_view name) noexcept {
  return without_version(name, 4, 4);
}

/// A call's name without any version: `cudaMallocAsync` for `cudaMallocAsync_v11020`.
constexpr std::string_view plain_name(std::string_view name) noexcept {
  return without_version(name, 1, name.size());
}

/// `Host-to-Device` and the like.
constexpr std::string_view to_string(copy_kind kind) noexcept {
  constexpr auto names = std::to_array<std::string_view>(
      {"Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host",
       "Array-to-Array", "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host",
       "Peer-to-Peer", "Unified Host-to-Device", "Unified Device-to-Host",
       "Unified Device-to-Device"});
  auto const at = static_cast<std::size_t>(kind);
  return names[at < names.size() ? at : 0];
}

/// `Pageable`, `Pinned` and the like.
constexpr std::string_view to_string(memory_kind kind) noexcept {
  constexpr auto names =
      std::to_array<std::string_view>({"Pageable", "Pinned", "Device", "Array", "Managed",
                                       "Device Static", "Managed Static", "Unknown"});
  auto const at = static_cast<std::size_t>(kind);
  return names[at < names.size() ? at : names.size() - 1];
}

constexpr std::string_view to_string(range_style style) noexcept {
  return style == range_style::push_pop    ? "PushPop"
         : style == range_style::start_end ? "StartEnd"
                                           : "Mark";
}

/// `[CUDA memcpy Host-to-Device]`.
inline std::string copy_label(copy_kind kind) {
  return concat({"[CUDA memcpy ", to_string(kind), "]"});
}
inline constexpr std::string_view memset_label = "[CUDA memset]";

/// The name of a range without the numbers that PyTorch gives to each of its instances.
constexpr std::string_view without_instance(std::string_view name) noexcept {
  return name.substr(0, std::min(name.find(", seq = "), name.find(", op_id = ")));
}

/// `domain:name`; nothing stands before the colon for the default domain.
inline std::string range_label(model const& of, range_record const& range) {
  return concat({of.strings[range.domain], ":", of.strings[range.name]});
}

/// `NVIDIA H200 (0)`; a device that the trace does not describe is `Device (0)`.
inline std::string device_label(model const& of, std::int32_t device) {
  std::string_view name = "Device";
  for (auto const& each : of.devices) {
    if (each.id == device && !each.name.empty()) { name = each.name; }
  }
  return concat({name, " (", std::to_string(device), ")"});
}

/// The demangled text of a name; the name itself if it is not mangled.
inline std::string demangled(char const* mangled) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const text{
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free};
  return text != nullptr && status == 0 ? text.get() : mangled;
}

/// A demangled function without return type, namespaces, template arguments and parameters:
/// `scale` of `void app::scale<float>(float*, int)`.
inline std::string short_kernel_name(std::string_view demangled) {
  std::string name;   // the text since the last `::` or blank
  std::string whole;  // the result if `name` is empty at the end
  std::string open;   // brackets
  for (std::size_t at = 0; at < demangled.size(); ++at) {
    auto const rest = demangled.substr(at);
    char const c = demangled[at];
    if (open.empty() && rest.starts_with("(anonymous namespace)")) {
      at += std::string_view{"(anonymous namespace)"}.size() - 1;
      continue;
    }
    if (c == '(' && open.empty()) { break; }  // the parameters
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      open.push_back(c);
    } else if (c == ')' || c == '}' || c == ']') {
      if (!open.empty()) { open.pop_back(); }
    } else if (c == '>') {  // a comparison or an arrow stands in parentheses and closes nothing
      if (!open.empty() && open.back() == '<') { open.pop_back(); }
    } else if (open.empty() && c == ' ') {
      if (!name.empty()) { whole = name; }
      name.clear();
    } else if (open.empty() && rest.starts_with("::")) {
      name.clear();
      ++at;
    } else if (open.empty()) {
      name.push_back(c);
    }
  }
  if (name.empty()) { name = whole; }
  return name.empty() ? std::string{demangled} : name;
}

}  // namespace assay::trace
