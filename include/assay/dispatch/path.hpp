// SPDX-License-Identifier: Apache-2.0
/// @file
/// `path`: a place where a task can run.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/place.hpp>

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace assay::dispatch {

/// One way to run a task. Each thread count is a path of its own.
struct path {
  std::variant<on::host, on::device> place;

  path(on::host where) : place(where) {}
  path(on::device where) : place(where) {}
  bool operator==(path const&) const = default;

  on::host const* host() const noexcept { return std::get_if<on::host>(&place); }
  on::device const* device() const noexcept { return std::get_if<on::device>(&place); }

  /// `host{4}` or `device{0}`.
  std::string describe() const {
    return host() != nullptr ? concat({"host{", std::to_string(host()->threads), "}"})
                             : concat({"device{", std::to_string(device()->id), "}"});
  }
};

/// The path that `describe` wrote; nothing for other texts.
inline std::optional<path> parse_path(std::string_view text) {
  bool const on_host = text.starts_with("host{");
  if (!on_host && !text.starts_with("device{")) { return std::nullopt; }
  text.remove_prefix(text.find('{') + 1);
  int number = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || number < (on_host ? 1 : 0)) { return std::nullopt; }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text != "}") { return std::nullopt; }
  return on_host ? path{on::host{number}} : path{on::device{number}};
}

/// The device of the paths; nothing if all are on the host. Throws `std::invalid_argument` for
/// paths on two devices.
inline std::optional<on::device> one_device(std::span<path const> paths) {
  std::optional<on::device> found;
  for (auto const& each : paths) {
    if (each.device() == nullptr) { continue; }
    if (found && *found != *each.device()) {
      throw std::invalid_argument(
          concat({each.describe(), " and device{", std::to_string(found->id),
                  "} are two devices: calibrate the paths of each by itself"}));
    }
    found = *each.device();
  }
  return found;
}

}  // namespace assay::dispatch
