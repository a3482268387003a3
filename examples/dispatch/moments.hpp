// SPDX-License-Identifier: Apache-2.0
/// @file
/// `moments`: the sum, the least and the largest of some elements, also on several threads.
#pragma once

#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>

namespace assay::examples {

/// The sum, the least and the largest of some elements. Without elements: 0 and infinities.
struct moments {
  double sum = 0;
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
  bool operator==(moments const&) const = default;

  /// `12.5 in [-0.75, 0.5]`, with as many digits as tell two values apart.
  std::string describe() const {
    std::array<char, 100> text{};
    (void)std::snprintf(text.data(), text.size(), "%.17g in [%.9g, %.9g]", sum,
                        static_cast<double>(least), static_cast<double>(most));
    return text.data();
  }
};

/// The moments of both.
inline moments operator+(moments const& a, moments const& b) {
  return {a.sum + b.sum, std::min(a.least, b.least), std::max(a.most, b.most)};
}

/// The moments of all parts of `count` elements: `part(begin, end)` returns the moments of one.
template <class Part>
moments moments_by_parts(int threads, std::int64_t count, Part const& part) {
  constexpr std::int64_t grain = 16384;  // a microsecond of work
  std::mutex guard;
  moments all;
  host::parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
    auto const mine = part(begin, end);
    std::lock_guard const lock{guard};
    all = all + mine;
  });
  return all;
}

namespace detail {

/// Lanes that the compiler keeps in vector registers.
inline moments moments_of(float const* x, std::int64_t count) {
  constexpr int lanes = 32;
  constexpr int exact = 64;  // elements with a sum that a float holds
  std::array<double, lanes> sums{};
  std::array<float, lanes> least, most;
  least.fill(moments{}.least);
  most.fill(moments{}.most);
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
  moments all;
  for (std::size_t l = 0; l < lanes; ++l) { all = all + moments{sums[l], least[l], most[l]}; }
  for (; i < count; ++i) { all = all + moments{x[i], x[i], x[i]}; }
  return all;
}

}  // namespace detail

/// The moments of `count` elements. Floats add up groups of 64 before a double takes them, so that
/// vectors of floats do the work.
inline moments moments_of(int threads, float const* x, std::int64_t count) {
  return moments_by_parts(threads, count, [x](std::int64_t begin, std::int64_t end) {
    return detail::moments_of(x + begin, end - begin);
  });
}

}  // namespace assay::examples
