// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: arrays of special values.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/arrays/special_values.hpp>
#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace assay::detail {

/// The subnormal number that random bits select, of a sign in the range; zero for integers.
template <class T>
arrays::host_value<T> subnormal(std::uint64_t bits, uniform<arrays::host_value<T>> range) {
  if constexpr (!std::is_integral_v<T>) {
    bool const negative = range.low < 0;
    bool const positive = range.high > 0;
    using is = arrays::element_limits<T>;
    constexpr auto count = (std::uint64_t{1} << (is::digits - 1)) - 1;
    auto const steps = static_cast<arrays::host_value<T>>(1 + bits % count);
    auto const magnitude = steps * static_cast<arrays::host_value<T>>(is::denorm_min());
    return negative && (!positive || bits >> 63U == 1U) ? -magnitude : magnitude;
  }
  return 0;
}

/// The element of a value; with the infinity, or NaN, of a small format, where conversions
/// saturate.
template <class T>
T element_for(arrays::host_value<T> value) {
  if constexpr (arrays::small_floating<T>) {
    constexpr auto format = arrays::format_of<T>;
    T const made{static_cast<double>(value)};
    if (!std::isinf(value)) { return made; }
    return T::of(format.infinity | (made.bits & (1U << (8U * format.bytes - 1))));
  } else {
    return value;
  }
}

/// So many elements of special values. One of the first `among` is surely one of the rare ones.
inline std::shared_ptr<std::byte[]> special_elements(special_values kind, std::size_t n,
                                                     arrays::any_range const& of,
                                                     std::uint64_t seed, std::size_t among) {
  return arrays::with_type(of.type, [&]<class T>(T) {
    using value_type = arrays::host_value<T>;
    uniform<value_type> const range{arrays::from_bits<value_type>(of.low),
                                    arrays::from_bits<value_type>(of.high)};
    constexpr bool floating = std::is_floating_point_v<value_type>;
    auto last = range.high;  // a range of float or double ends below it
    if constexpr (std::is_floating_point_v<T>) { last = std::nextafter(range.high, range.low); }
    auto const nearest = [&](value_type to) { return std::clamp(to, range.low, last); };
    auto const rare = [&](std::uint64_t bits, std::size_t i) {
      return floating && (bits % 61 == 0 || i == random_bits(seed, n) % among);
    };
    auto const draw = [&](std::size_t i) {
      value_type value{};
      auto const bits = random_bits(seed, i);
      using enum special_values;
      if (kind == zeros) {
        value = nearest(0);
      } else if (kind == ones) {
        value = nearest(1);
      } else if (kind == extremes) {
        value = bits % 2 == 0 ? range.low : last;
      } else if (kind == denormals) {
        value = nearest(subnormal<T>(bits, range));
      } else if (rare(bits, i)) {
        using is = std::numeric_limits<value_type>;
        value = kind == nan         ? is::quiet_NaN()
                : bits >> 63U == 0U ? is::infinity()
                                    : static_cast<value_type>(-is::infinity());
      } else {
        value = random_value(range, seed, i);
      }
      return element_for<T>(value);
    };
    constexpr std::int64_t grain = std::int64_t{1} << 14;  // 100 us of work for each thread
    auto const made =
        std::shared_ptr<std::byte[]>(new std::byte[n * sizeof(T)]);  // not written twice
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(n), grain,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (auto i = static_cast<std::size_t>(begin);
                              i < static_cast<std::size_t>(end); ++i) {
                           auto const element = draw(i);
                           std::memcpy(made.get() + i * sizeof(T), &element, sizeof(T));
                         }
                       });
    return made;
  });
}

}  // namespace assay::detail
