// SPDX-License-Identifier: Apache-2.0
/// @file
/// The passes of null_cast one by one, for `verify` on the host and on a device.
#pragma once

#include <assay/arrays/setup.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace assay::test {

/// Arrays of all passes, whose inputs are random: each pass is right whatever the others give. The
/// bools need not be those of the column: a null that is taken stays null.
template <class T, class Mask>
struct pass_arrays {
  static constexpr T scalar{3};
  static constexpr std::size_t bits = 8 * sizeof(Mask);
  using limits = std::numeric_limits<T>;

  array_view<T> values, data;
  array_view<Mask> mask, data_mask, out_mask;
  array_view<std::uint8_t> taken, bools;
  array_view<double> out, fused;

  pass_arrays(setup& make, std::size_t n)
      : values(make.random<T>(n, {limits::lowest(), limits::max()})),
        data(make.output<T>(n)),
        mask(make.random<Mask>((n + bits - 1) / bits)),
        data_mask(make.output<Mask>(mask.size())),
        out_mask(make.output<Mask>(mask.size())),
        taken(make.random<std::uint8_t>(n, {0, 1})),
        bools(make.output<std::uint8_t>(n)),
        out(make.output<double>(n)),
        fused(make.output<double>(n)) {
    auto const valid = [in = mask](std::size_t i) { return in.seeded(i / bits) >> i % bits & 1; };
    auto const takes = [in = taken](std::size_t i) { return in.seeded(i) != 0; };
    expect_bits(make, bools, valid);
    expect_bits(make, data,
                [x = values, takes](std::size_t i) { return takes(i) ? x.seeded(i) : scalar; });
    expect_mask(make, data_mask, n, [=](std::size_t i) { return !takes(i) || valid(i); });
    expect_bits(make, out, [x = values](std::size_t i) { return x.seeded(i); });
    expect_mask(make, out_mask, n, valid);
    expect_bits(make, fused, [x = values, valid](std::size_t i) {
      return valid(i) ? static_cast<double>(x.seeded(i)) : 0;
    });
  }

 private:
  /// The same bits, so that -0 is told from 0; every NaN is the same.
  template <class U, class F>
  static void expect_bits(setup& make, array_view<U> of, F right) {
    using wide = std::conditional_t<std::is_integral_v<U>, U, double>;
    make.expect(of, [right](std::size_t first, std::span<wide> wanted, std::span<double> errors) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] = static_cast<wide>(right(first + i));
        errors[i] = 0;
      }
    });
  }
  /// Bits behind the last row do not matter.
  template <class F>
  static void expect_mask(setup& make, array_view<Mask> of, std::size_t n, F right) {
    make.expect_that(of, [=](std::span<Mask const> got) -> std::optional<std::string> {
      for (std::size_t i = 0; i < n; ++i) {
        if ((got[i / bits] >> i % bits & 1) != right(i)) {
          return "wrong validity of row " + std::to_string(i);
        }
      }
      return {};
    });
  }
};

}  // namespace assay::test
