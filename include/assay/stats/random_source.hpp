// SPDX-License-Identifier: Apache-2.0
/// @file
/// `random_source`: the same random numbers from the same seed on every machine.
#pragma once

#include <assay/core/requirements.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::stats {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
/// Standard distributions differ between standard libraries, and a printed seed must not.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    auto z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  bool flip() noexcept { return (next() >> 63U) != 0; }

  /// Uniform in [0, count), without bias to small numbers; `count` > 0.
  std::uint64_t below(std::uint64_t count) noexcept {
    std::uint64_t const unfair = (0 - count) % count;  // 2^64 mod count
    auto drawn = next();
    while (drawn < unfair) { drawn = next(); }
    return drawn % count;
  }

  template <class T>
  void shuffle(std::vector<T>& values) noexcept {
    for (auto left = values.size(); left > 1; --left) {
      std::swap(values[left - 1], values[static_cast<std::size_t>(below(left))]);
    }
  }

 private:
  std::uint64_t state_;
};

/// The seed of part `index` of an experiment with this seed.
inline std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t index) noexcept {
  return random_source{random_source{seed}.next() ^ (index * 0xD1342543DE82EF95U)}.next();
}

/// A seed from the machine's entropy; never 0, which stands for "draw one".
inline std::uint64_t draw_seed() {
  std::uint64_t drawn = 0;
  if (::getentropy(&drawn, sizeof drawn) != 0) {
    throw std::system_error(errno, std::generic_category(), "the machine gives no entropy");
  }
  return drawn == 0 ? 1 : drawn;
}

}  // namespace assay::stats
