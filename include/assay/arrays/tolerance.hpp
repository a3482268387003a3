// SPDX-License-Identifier: Apache-2.0
/// @file
/// The permitted error of a result.
#pragma once

#include <assay/arrays/small_float.hpp>
#include <assay/core/random.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace assay {

/// A result is right if |got - expected| <= absolute + relative * |expected|.
struct tolerance {
  double relative = 0;
  double absolute = 0;
  /// Permits NaN as a right value, which agrees with every NaN. Else a NaN among the right values
  /// is refused, since a mistake in their function makes NaN right everywhere; unless the function
  /// of the element permits an error of 0, or the setup has `special_values::nan` or `infinities`.
  bool nan = false;
  bool operator==(tolerance const&) const = default;
};

/// The element whose error is the largest share of its permitted error.
struct worst_error {
  /// Its error in units in the last place of the right value, or in ones; 0 where that value is 0.
  double ulps = 0;
  double share = 0;  ///< its error in units of the permitted one: above 1 for wrong elements alone
  std::size_t array = 0, element = 0;
  double error = 0;       ///< its distance from the right value
  std::size_t first = 0;  ///< the first wrong element of that array, where one is wrong
};

/// Integers must be exact. A floating result may have 16 errors of half an ulp: one rounding to T
/// and 15 roundings before it. The smallest normal number permits results that were flushed to
/// zero. Elements of 8 and 16 bits may have one unit in the last place: kernels compute with them
/// in `float`, and round once or twice.
template <arrays::numeric T>
inline constexpr tolerance default_tolerance =
    std::is_integral_v<T> ? tolerance{}
                          : tolerance{8 * static_cast<double>(std::numeric_limits<T>::epsilon()),
                                      static_cast<double>(std::numeric_limits<T>::min()), false};
template <arrays::small_floating T>
inline constexpr tolerance default_tolerance<T>{arrays::element_limits<T>::epsilon(),
                                                arrays::element_limits<T>::denorm_min(), false};

/// The errors of a computation with many roundings, which `tolerance_for` turns into a tolerance
/// for results of a type. An error is permitted up to u * (relative * |expected| + absolute), where
/// u is the unit roundoff of the type in which the kernel computes: `float` for smaller types.
struct rounding_rule {
  double relative = 0, absolute = 0;
};

/// The sum of the default tolerance of T and the errors of a rule. Integers stay exact.
template <arrays::numeric T>
constexpr tolerance tolerance_for(rounding_rule rule) {
  using computed = arrays::host_value<T>;
  auto allowed = default_tolerance<T>;
  if constexpr (std::is_floating_point_v<computed>) {
    constexpr double u = static_cast<double>(std::numeric_limits<computed>::epsilon()) / 2;
    allowed.relative += u * rule.relative;
    allowed.absolute += u * rule.absolute;
  }
  return allowed;
}

template <arrays::numeric>
constexpr tolerance tolerance_for(tolerance allowed) {
  return allowed;
}

/// What an expectation permits.
template <class A>
concept permitted_error = std::same_as<A, tolerance> || std::same_as<A, rounding_rule>;

/// For sums of so many terms, each of a magnitude up to `largest`, added in any order.
///
/// Permits 2 u (terms * largest + sqrt(terms) * |expected|). Roundings that are independent with
/// mean zero add up to a backward error of some sqrt(terms) u instead of terms * u (Higham and
/// Mary, "A new approach to probabilistic rounding error analysis", 2019). For terms of one sign
/// that is the second part. Partial sums of terms with mean zero grow as their square root, which
/// makes the error some terms * u * largest, the first part. The worst case of sequential sums,
/// terms^2 * u * largest, is not permitted, and nothing is proven about roundings that depend on
/// each other: sequential sums of many equal terms can exceed it.
inline rounding_rule sum_of(number auto terms, double largest = 1) {
  auto const k = static_cast<double>(terms);
  return {2 * std::sqrt(k), 2 * k * largest};
}
/// For sums of so many products, each of a magnitude up to `largest`: as `sum_of`. The roundings of
/// the products are some sqrt(terms) u * largest, and the bound has room for them. A float sum of
/// 2^18 positive products and more in one sequence can exceed it: its last terms are lost in it.
inline rounding_rule dot_of(number auto terms, double largest = 1) {
  return sum_of(terms, largest);
}
/// For exponentials of numbers of a magnitude up to `largest`.
///
/// `__expf` has an error of up to 2 + 1.173 |x| units in the last place (CUDA Programming Guide,
/// intrinsic functions), and one unit is up to 2 u. An argument that is a rounded difference adds 2
/// u |x|. The default tolerance has 16 u.
inline rounding_rule exp_of(double largest = 1) { return {8 * largest, 0}; }
/// For softmax over so many numbers of a magnitude up to `largest`: two exponentials of up to
/// 2 * largest, and a sum of positive terms. One in one sequence can exceed it from 2^16 terms on.
inline rounding_rule softmax_of(number auto terms, double largest = 1) {
  return {24 * largest + 2 * std::sqrt(static_cast<double>(terms)), 0};
}
/// For layer, batch and other normalisations over so many numbers, with scales and shifts of a
/// magnitude up to `largest`: u (8 + 4 sqrt(terms)) (largest + |expected|).
///
/// The mean and the mean square have errors as `sum_of` has them. The mean of the numbers must be
/// at most twice their standard deviation. A variance from the mean square loses as many bits as
/// the ratio of the two has.
inline rounding_rule normalised_of(number auto terms, double largest = 1) {
  double const each = 8 + 4 * std::sqrt(static_cast<double>(terms));
  return {each, each * largest};
}

namespace arrays {

inline constexpr unsigned char default_poison = 0xFF;  // NaN as a floating number

}  // namespace arrays
}  // namespace assay
