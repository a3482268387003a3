// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: what a setup refuses.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/array_view.hpp>
#include <assay/arrays/element.hpp>
#include <assay/arrays/matrix.hpp>
#include <assay/arrays/tolerance.hpp>
#include <assay/core/random.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay {

namespace arrays::detail {

ASSAY_INLINE void refuse_seeded(std::size_t index, std::size_t size) {
  auto const call = "seeded(" + std::to_string(index) + "): ";
  if (index >= size) {
    throw std::out_of_range(call + "the array has " + std::to_string(size) + " elements");
  }
  throw std::logic_error(call + "only arrays of random, from and inout have seeded values");
}
ASSAY_INLINE void refuse_seeded(matrix const& of, std::size_t row, std::size_t column) {
  throw std::out_of_range("seeded(" + std::to_string(row) + ", " + std::to_string(column) +
                          "): the array has " + std::to_string(of.rows) + " rows of " +
                          std::to_string(of.columns) + " elements");
}

}  // namespace arrays::detail

namespace detail {

inline void require_amount(char const* call, double amount) {
  if (std::isfinite(amount) && amount >= 0) { return; }
  throw std::invalid_argument(std::string{"setup."} + call + '(' +
                              arrays::detail::in_text(amount, 6) +
                              "): a finite number of at least 0 is needed");
}

template <number T>
void require_ends(T low, T high) {
  auto const width = static_cast<double>(high) - static_cast<double>(low);
  bool const fits = std::is_integral_v<T> ? low <= high : low < high;
  if (fits && std::isfinite(width)) { return; }
  constexpr int digits = std::numeric_limits<T>::max_digits10;
  throw std::invalid_argument("uniform{" + arrays::detail::in_text(+low, digits) + ", " +
                              arrays::detail::in_text(+high, digits) +
                              "}: the low end must be below the high end");
}

/// Throws for a tolerance that is none; permits NaN where arrays have NaN on purpose.
inline tolerance required(tolerance allowed, bool has_nan) {
  require_amount("expect: relative tolerance ", allowed.relative);
  require_amount("expect: absolute tolerance ", allowed.absolute);
  allowed.nan = allowed.nan || has_nan;
  return allowed;
}

inline void require_range(arrays::any_range const& of) {
  arrays::with_type(of.is_multiples ? arrays::element::i32 : of.type, [&]<class T>(T) {
    using value = arrays::host_value<T>;
    auto const low = arrays::from_bits<value>(of.low), high = arrays::from_bits<value>(of.high);
    require_ends(low, high);
    if constexpr (arrays::small_floating<T>) {
      constexpr auto most = arrays::element_limits<T>::max();
      if (-most <= double{low} && double{high} <= most) { return; }
      throw std::invalid_argument("uniform{" + arrays::detail::in_text(low, 9) + ", " +
                                  arrays::detail::in_text(high, 9) + "}: the elements hold up to " +
                                  arrays::detail::in_text(most, 9));
    }
  });
}

/// Throws where so many elements of the caller are neither those of the rows nor, with padding,
/// all.
inline void require_rows(char const* call, std::size_t elements, matrix const& of) {
  auto const dense = of.columns == 0 ? 0 : of.size() / of.leading_dimension * of.columns;
  if (elements == dense || elements == of.size()) { return; }
  throw std::invalid_argument(
      std::string{"setup."} + call + ": " + std::to_string(elements) + " elements for " +
      std::to_string(of.rows) + " rows of " + std::to_string(of.columns) + ": " +
      std::to_string(dense) + " are needed, or " + std::to_string(of.size()) +
      " with a leading dimension of " + std::to_string(of.leading_dimension));
}

/// Throws where elements for a call overlap those of another array.
inline void require_apart(char const* call, std::span<std::byte const> of, std::string const& name,
                          std::span<std::byte const> other) {
  auto const before = std::less_equal<std::byte const*>{};
  bool const apart = of.empty() || other.empty() || before(of.data() + of.size(), other.data()) ||
                     before(other.data() + other.size(), of.data());
  if (apart) { return; }
  throw std::invalid_argument(std::string{"setup."} + call + ": its " + std::to_string(of.size()) +
                              " bytes overlap those of " + name +
                              " of this setup: declare memory that a call writes once, by inout, "
                              "or give one of the two a copy");
}

}  // namespace detail
}  // namespace assay
