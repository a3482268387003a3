// SPDX-License-Identifier: Apache-2.0
/// @file
/// y = 2 x, by work that a test brings, and what `verify` says of it.
#pragma once

#include <assay/verify.hpp>

#include <cstddef>
#include <sstream>
#include <string>

namespace assay::test {

/// Verifies `work(n, x, y)`, which is right if y = 2 x. The arrays may have these names.
template <class Work>
verification of_scale(Work work, verify_options const& chosen = {}, bool named = false) {
  return verify(
      [work, named](setup& make, std::size_t n) {
        if (named) { make.named("x"); }
        auto const x = make.random<float>(n);
        if (named) { make.named("y"); }
        auto const y = make.output<float>(n);
        make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
        return [=] { work(n, x.data(), y.data()); };
      },
      chosen);
}

inline void scale(std::size_t n, float const* x, float* y) {
  for (std::size_t i = 0; i < n; ++i) { y[i] = 2 * x[i]; }
}

inline std::string in_words(verification const& of) {
  std::ostringstream text;
  text << of;
  return text.str();
}

}  // namespace assay::test
