// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: arrays of special values.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/arrays/special_rule.hpp>
#include <assay/arrays/special_values.hpp>
#include <assay/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace assay::detail {

/// The bits of the element of a value; with the infinity, or NaN, of a small format, where
/// conversions saturate.
template <class T>
std::uint64_t element_bits(arrays::host_value<T> value) {
  if constexpr (arrays::small_floating<T>) {
    constexpr auto format = arrays::format_of<T>;
    std::uint64_t const bits = T{static_cast<double>(value)}.bits;
    if (!std::isinf(value)) { return bits; }
    return format.infinity | (bits & (std::uint64_t{1} << (8U * format.bytes - 1)));
  } else {
    return arrays::to_bits(value);
  }
}

/// So many steps of subnormal numbers as lie in the range on one side of zero, as far as `end`.
template <class T>
std::uint64_t subnormal_steps(double end) {
  using is = arrays::element_limits<T>;
  constexpr auto all = (std::uint64_t{1} << (is::digits - 1)) - 1;
  double const steps = std::abs(end) / static_cast<double>(is::denorm_min());
  return steps < static_cast<double>(all) ? static_cast<std::uint64_t>(steps) : all;
}

/// The special elements of an array of a range. One of the first `among` of its n elements is
/// surely one of the rare ones.
inline arrays::special_rule special_rule_of(special_values kind, std::size_t n,
                                            arrays::any_range const& of, std::uint64_t seed,
                                            std::size_t among) {
  using rule = arrays::special_rule;
  return arrays::with_type(of.type, [&]<class T>(T) -> rule {
    using enum special_values;
    using value_type = arrays::host_value<T>;
    auto const low = arrays::from_bits<value_type>(of.low);
    auto const high = arrays::from_bits<value_type>(of.high);
    auto last = high;  // a range of float or double ends below it
    if constexpr (std::is_floating_point_v<T>) { last = std::nextafter(high, low); }
    auto const surely = n == 0 ? 0 : random_bits(seed, n) % among;
    auto const both = [&](value_type one, value_type other, std::uint64_t one_of = 1) {
      auto const up_to = std::numeric_limits<std::uint64_t>::max() / one_of;
      return rule{true, up_to, surely, {element_bits<T>(one)}, {element_bits<T>(other)}};
    };
    auto const nearest = [&](value_type to) { return std::clamp(to, low, last); };
    if (kind == ones) {
      // The default interval ends below 1, and was not chosen to keep 1 out.
      bool const is_default =
          low == uniform<value_type>{}.low && high == uniform<value_type>{}.high;
      value_type const one = is_default && std::is_floating_point_v<value_type> ? 1 : nearest(1);
      return both(one, one);
    }
    if (kind == extremes) { return both(low, last); }
    if constexpr (std::is_floating_point_v<value_type>) {
      using is = std::numeric_limits<value_type>;
      if (kind == nan) { return both(is::quiet_NaN(), is::quiet_NaN(), 61); }
      if (kind == infinities) { return both(is::infinity(), -is::infinity(), 61); }
      if (kind == denormals && low <= 0 && high >= 0) {
        auto made = both(0, -value_type{0});
        made.one.steps = subnormal_steps<T>(static_cast<double>(last));
        made.other.steps = subnormal_steps<T>(static_cast<double>(low));
        if (!(low < 0)) { made.other = made.one; }
        if (!(high > 0)) { made.one = made.other; }
        return made;
      }
    } else if (kind == nan || kind == infinities) {
      return {};
    }
    return both(nearest(0), nearest(0));
  });
}

}  // namespace assay::detail
