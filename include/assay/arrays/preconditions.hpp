// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: what its calls require.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/core/random.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace assay {

namespace detail {

inline void require_amount(char const* call, double amount) {
  if (std::isfinite(amount) && amount >= 0) { return; }
  throw std::invalid_argument(std::string{"setup."} + call + '(' +
                              arrays::detail::in_text(amount, 6) +
                              "): a finite number of at least 0 is needed");
}

template <number T>
void require_range(uniform<T> range) {
  auto const width = static_cast<double>(range.high) - static_cast<double>(range.low);
  bool const fits = std::is_integral_v<T> ? range.low <= range.high : range.low < range.high;
  if (fits && std::isfinite(width)) { return; }
  constexpr int digits = std::numeric_limits<T>::max_digits10;
  throw std::invalid_argument("uniform{" + arrays::detail::in_text(+range.low, digits) + ", " +
                              arrays::detail::in_text(+range.high, digits) +
                              "}: the low end must be below the high end");
}

/// Throws where elements for a call overlap those of array number `index`.
inline void require_apart(char const* call, std::span<std::byte const> of, std::size_t index,
                          std::span<std::byte const> other) {
  auto const before = std::less_equal<std::byte const*>{};
  bool const apart = of.empty() || other.empty() || before(of.data() + of.size(), other.data()) ||
                     before(other.data() + other.size(), of.data());
  if (apart) { return; }
  throw std::invalid_argument(std::string{"setup."} + call + ": its " + std::to_string(of.size()) +
                              " bytes overlap those of array " + std::to_string(index) +
                              " of this setup: declare memory that a call writes once, by inout, "
                              "or give one of the two a copy");
}

template <class R>
concept spannable = requires(R& data) { std::span{data}; };

/// Contiguous elements that outlive the full expression: no temporary container has them.
template <class R>
concept kept_range = spannable<R> && (std::is_lvalue_reference_v<R> ||
                                      std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>);

template <class R>
using element_of = typename decltype(std::span{std::declval<R&>()})::value_type;

}  // namespace detail

}  // namespace assay
