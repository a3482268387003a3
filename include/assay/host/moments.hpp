// SPDX-License-Identifier: Apache-2.0
/// @file
/// `moments_of`: the sum, the least and the largest of elements, on several threads.
#pragma once

#include <assay/host/parallel_for.hpp>
#include <assay/stats/moments.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace assay::host {

/// The moments of all parts of `count` elements: `part(begin, end)` returns those of one.
template <class Part>
stats::moments moments_by_parts(int threads, std::int64_t count, Part const& part) {
  constexpr std::int64_t grain = 16384;  // a microsecond of work
  std::mutex guard;
  stats::moments all;
  parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
    auto const mine = part(begin, end);
    std::lock_guard const lock{guard};
    all = all + mine;
  });
  return all;
}

namespace detail {

/// Lanes that the compiler keeps in vector registers.
inline stats::moments moments_of(float const* x, std::int64_t count) {
  constexpr int lanes = 32;
  constexpr int exact = 64;  // elements whose sum a float holds
  std::array<double, lanes> sums{};
  std::array<float, lanes> least, most;
  least.fill(stats::moments{}.least);
  most.fill(stats::moments{}.most);
  std::int64_t i = 0;
  for (; i + lanes * exact <= count; i += lanes * exact) {
    std::array<float, lanes> part{};
    for (int k = 0; k < exact; ++k) {
      float const* const from = x + i + k * lanes;
      for (std::size_t l = 0; l < lanes; ++l) {
        part[l] += from[l];
        least[l] = std::min(least[l], from[l]);
        most[l] = std::max(most[l], from[l]);
      }
    }
    for (std::size_t l = 0; l < lanes; ++l) { sums[l] += static_cast<double>(part[l]); }
  }
  stats::moments all;
  for (std::size_t l = 0; l < lanes; ++l) {
    all = all + stats::moments{sums[l], least[l], most[l]};
  }
  for (; i < count; ++i) { all = all + stats::moments{x[i], x[i], x[i]}; }
  return all;
}

}  // namespace detail

/// The moments of `count` elements. Floats add up groups of 64 before a double takes them, so that
/// vectors of floats do the work.
inline stats::moments moments_of(int threads, float const* x, std::int64_t count) {
  return moments_by_parts(threads, count, [x](std::int64_t begin, std::int64_t end) {
    return detail::moments_of(x + begin, end - begin);
  });
}

}  // namespace assay::host
