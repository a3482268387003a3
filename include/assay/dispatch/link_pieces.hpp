// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `links_through`: the links of one kind of copies from measured times.
#pragma once

#include <assay/dispatch/machine_terms.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::dispatch {

/// The median time of copies of one size.
struct timed_copy {
  double bytes = 0;
  double seconds = 0;
  double spread = 0;  ///< half of the interval of the median, as a share
};

/// Links that go through all measured times and on with the last slope. Below the first size the
/// time falls with the first slope. A copy that took longer than a larger one counts as long as
/// the larger one. Drivers send 16 KiB another way than 64 KiB, which may be slower. Throws
/// `std::invalid_argument` unless there are 2 sizes or more, rising, with positive times.
inline std::vector<link> links_through(std::string_view transfer, to end, memory_type memory,
                                       std::vector<timed_copy> times) {
  bool valid = times.size() >= 2;
  for (std::size_t i = 0; valid && i < times.size(); ++i) {
    valid = std::isfinite(times[i].seconds) && times[i].seconds > 0 &&
            (i == 0 || times[i].bytes > times[i - 1].bytes);
  }
  if (!valid) {
    throw std::invalid_argument(std::to_string(times.size()) +
                                " timed copies: 2 or more are needed, of rising sizes and with "
                                "positive times");
  }
  for (std::size_t i = times.size() - 1; i > 0; --i) {
    times[i - 1].seconds = std::min(times[i - 1].seconds, times[i].seconds);
  }
  constexpr double fastest = 1e13;  // bytes per second: faster than any link, but finite
  std::vector<link> made;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    auto const& from = times[i];
    auto const& next = times[i + 1];
    double const bytes = next.bytes - from.bytes;
    double const rate = bytes / std::max(next.seconds - from.seconds, bytes / fastest);
    made.push_back({.transfer = std::string{transfer},
                    .end = end,
                    .memory = memory,
                    .latency_seconds = from.seconds,
                    .bytes_per_second = rate,
                    .spread = std::max(from.spread, next.spread),
                    .from_bytes = from.bytes});
  }
  auto& first = made.front();
  first.latency_seconds =
      std::max(0.0, first.latency_seconds - first.from_bytes / first.bytes_per_second);
  first.from_bytes = 0;
  return made;
}

}  // namespace assay::dispatch
