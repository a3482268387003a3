// SPDX-License-Identifier: Apache-2.0
/// @file
/// `link`: what copies between a device and one type of host memory add to a call.
#pragma once

#include <assay/core/memory_type.hpp>
#include <assay/dispatch/facts.hpp>
#include <assay/dispatch/path.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace assay::dispatch {

/// The copies of arrays in one type of host memory.
struct link {
  memory_type memory = memory_type::pageable;
  double latency_seconds = 0;        ///< of each copy of an array
  double seconds_per_byte_in = 0;    ///< to the device
  double seconds_per_byte_back = 0;  ///< to the host
  bool operator==(link const&) const = default;
};

/// What the copies of one call took: the seconds of the call beyond those on resident arrays.
struct copied_call {
  double copies = 0;
  double bytes_in = 0, bytes_back = 0;
  double seconds = 0;
  double extra_seconds = 0;
};

/// The link with the least sum of squared errors, as shares of the calls. None of its numbers is
/// below 0.
inline link fitted_link(memory_type memory, std::vector<copied_call> const& calls) {
  std::array<std::array<double, 3>, 3> products{};
  std::array<double, 3> right{}, found{};
  for (auto const& each : calls) {
    std::array const of{each.copies / each.seconds, each.bytes_in / each.seconds,
                        each.bytes_back / each.seconds};
    for (std::size_t i = 0; i < 3; ++i) {
      right[i] += of[i] * each.extra_seconds / each.seconds;
      for (std::size_t k = 0; k < 3; ++k) { products[i][k] += of[i] * of[k]; }
    }
  }
  // Each step is the best value of one number beside the others; 2,000 rounds take 30 us.
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (products[i][i] == 0) { continue; }
      double rest = right[i] + products[i][i] * found[i];
      for (std::size_t k = 0; k < 3; ++k) { rest -= products[i][k] * found[k]; }
      found[i] = std::max(0.0, rest / products[i][i]);
    }
  }
  return {memory, found[0], found[1], found[2]};
}

/// The seconds of the copies before and after a call. Infinite where the path cannot use an array.
struct copies {
  double in = 0;
  double back = 0;
  double seconds() const noexcept { return in + back; }
};

/// The links of one path, found once, so that a choice searches for none.
class path_links {
 public:
  path_links(std::vector<link> const& all, path const& on)
      : device_(on.device() != nullptr ? on.device()->id : array_fact::on_host) {
    for (auto& each : by_memory_) {
      each.latency_seconds = std::numeric_limits<double>::infinity();
    }
    for (auto const& each : all) { by_memory_[static_cast<std::size_t>(each.memory)] = each; }
  }

  /// The copies of a call. Without a link for an array the path is impossible, as is a path over
  /// the memory of another device.
  copies of(facts const& known) const noexcept {
    copies total;
    bool const on_host = device_ == array_fact::on_host;
    for (std::size_t i = 0; i < known.count; ++i) {
      auto const& each = known.arrays[i];
      if (each.memory == memory_type::device) {
        bool const reached = !on_host && each.newest == device_;
        if (!reached) { total.in = std::numeric_limits<double>::infinity(); }
        continue;
      }
      if (on_host || !(each.bytes > 0)) { continue; }
      auto const& by = by_memory_[static_cast<std::size_t>(each.memory)];
      if (each.is_read()) { total.in += by.latency_seconds + each.bytes * by.seconds_per_byte_in; }
      if (each.is_written()) {
        total.back += by.latency_seconds + each.bytes * by.seconds_per_byte_back;
      }
    }
    return total;
  }

 private:
  int device_;
  std::array<link, 4> by_memory_{};
};

}  // namespace assay::dispatch
