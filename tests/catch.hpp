// SPDX-License-Identifier: Apache-2.0
/// @file
/// Catch2, v3 or v2: distributions ship either.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // as v2 has it
namespace assay::test {
/// Matches a string that has `text` in it; v2 and v3 call that by different names.
inline auto contains(std::string const& text) { return Catch::Matchers::ContainsSubstring(text); }
}  // namespace assay::test
#else
#include <catch2/catch.hpp>
namespace assay::test {
inline auto contains(std::string const& text) { return Catch::Matchers::Contains(text); }
}  // namespace assay::test
#endif

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>

namespace assay::test {

/// What `call` throws says, or that it threw nothing.
template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (std::exception const& error) { return error.what(); }
  return "nothing was thrown";
}

/// Whether ASSAY_SMALL asks for small sizes: a sanitizer watches, and times mean nothing.
inline bool small() { return std::getenv("ASSAY_SMALL") != nullptr; }

/// Whether racecheck watches (ASSAY_SMALL=racecheck). That of CUDA 13.0 does not know that one
/// lane's arrival at an mbarrier, after `__syncwarp`, stands for its warp, and calls what is
/// ordered so a race; the same kernels with an arrival of every lane are clean.
inline bool racecheck() {
  return small() && std::getenv("ASSAY_SMALL") == std::string{"racecheck"};
}

/// A fresh seed for random inputs; ASSAY_TEST_SEED repeats a run. Tests print it: `INFO("seed " <<
/// seed)`.
inline std::uint64_t fresh_seed() {
  if (char const* fixed = std::getenv("ASSAY_TEST_SEED")) {
    return std::strtoull(fixed, nullptr, 0);
  }
  std::random_device entropy;
  return (std::uint64_t{entropy()} << 32U) | entropy();
}

}  // namespace assay::test
