// SPDX-License-Identifier: Apache-2.0
/// @file
/// Types of elements as values, so that code for arrays is compiled once for all types.
#pragma once

#include <assay/arrays/small_float.hpp>
#include <assay/arrays/special_rule.hpp>
#include <assay/core/random.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace assay::arrays {

/// The types of elements that are numbers.
enum class element : unsigned char {
  u8,
  u16,
  u32,
  u64,
  i8,
  i16,
  i32,
  i64,
  f32,
  f64,
  f16,
  bf16,
  e4m3,
  e5m2
};

template <numeric T>
inline constexpr element element_of =
    format_of<T> == half_format       ? element::f16
    : format_of<T> == bfloat16_format ? element::bf16
    : format_of<T> == e4m3_format     ? element::e4m3
    : format_of<T> == e5m2_format     ? element::e5m2
    : std::is_floating_point_v<T>
        ? (sizeof(T) == 4 ? element::f32 : element::f64)
        : static_cast<element>(std::countr_zero(sizeof(T)) + (std::is_signed_v<T> ? 4 : 0));

/// Calls `body` with a value of the type that an `element` names.
template <class Body>
decltype(auto) with_type(element of, Body&& body) {
  switch (of) {
    case element::u8:
      return body(std::uint8_t{});
    case element::u16:
      return body(std::uint16_t{});
    case element::u32:
      return body(std::uint32_t{});
    case element::u64:
      return body(std::uint64_t{});
    case element::i8:
      return body(std::int8_t{});
    case element::i16:
      return body(std::int16_t{});
    case element::i32:
      return body(std::int32_t{});
    case element::i64:
      return body(std::int64_t{});
    case element::f32:
      return body(float{});
    case element::f16:
      return body(small_float<half_format>{});
    case element::bf16:
      return body(small_float<bfloat16_format>{});
    case element::e4m3:
      return body(small_float<e4m3_format>{});
    case element::e5m2:
      return body(small_float<e5m2_format>{});
    default:
      return body(double{});
  }
}

/// The unsigned integer with as many bits as T.
template <number T>
using bits_of = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <number T>
constexpr std::uint64_t to_bits(T value) noexcept {
  return std::bit_cast<bits_of<T>>(value);
}
template <number T>
constexpr T from_bits(std::uint64_t bits) noexcept {
  return std::bit_cast<T>(static_cast<bits_of<T>>(bits));
}

/// Random multiples of a unit: the product of the unit and an integer of the range. Few bits in
/// each number make long sums exact.
template <class T>
struct multiples {
  uniform<std::int32_t> range{};
  T unit = 1;
};

/// `multiples_draw<T>{of, bits}.value` is the number that 64 random bits select, on the host and on
/// a device.
template <class T>
struct multiples_draw {
  multiples<T> of{};
  std::uint64_t bits = 0;
  std::uint32_t low = static_cast<std::uint32_t>(of.range.low);
  std::uint64_t count = static_cast<std::uint32_t>(of.range.high) - low + std::uint64_t{1};
  T value =
      of.unit *
      static_cast<T>(static_cast<std::int32_t>(low + static_cast<std::uint32_t>(bits % count)));
};

/// The multiple of a seed and an index, for host code.
template <class T>
T random_value(multiples<T> of, std::uint64_t seed, std::uint64_t index) noexcept {
  return multiples_draw<T>{of, random_bits(seed, index)}.value;
}

/// Random floats of a range, rounded to a small format of as many bits as `Bits` has.
template <class Bits>
struct narrowed {
  uniform<float> range{};
  float_format to{};
};

/// The bits of the number of a seed and an index, for host code.
template <class Bits>
Bits random_value(narrowed<Bits> of, std::uint64_t seed, std::uint64_t index) noexcept {
  auto const drawn = static_cast<double>(random_value(of.range, seed, index));
  return static_cast<Bits>(narrowing{of.to, std::bit_cast<std::uint64_t>(drawn)}.result);
}

/// A `uniform<T>`, or `multiples<T>`, of any T.
struct any_range {
  element type = element::f32;
  bool is_multiples = false;
  std::uint64_t low = 0, high = 0;  ///< bits of the ends, of type T, float or 32-bit integers
  std::uint64_t unit = 0;           ///< bits of the unit of multiples
  float_format format{};            ///< of small floating numbers, whose ends are floats
  special_rule special{};           ///< elements that are not of the range
};

template <number T>
constexpr any_range erase(uniform<T> range) noexcept {
  return {element_of<T>, false, to_bits(range.low), to_bits(range.high), 0};
}
template <small_floating T>
constexpr any_range erase(uniform<float> range) noexcept {
  return {element_of<T>, false, to_bits(range.low), to_bits(range.high), 0, format_of<T>};
}
template <number T>
constexpr any_range erase(multiples<T> of) noexcept {
  return {element_of<T>, true, to_bits(of.range.low), to_bits(of.range.high), to_bits(of.unit)};
}

/// Calls `body` with the `uniform<T>`, `multiples<T>` or `narrowed<T>` of a range. Signed and
/// unsigned integers of one size have the same random bits, so eight types of ranges serve all.
template <class Body>
decltype(auto) with_range(any_range const& of, Body&& body) {
  return with_type(of.type, [&]<class T>(T) {
    if constexpr (small_floating<T>) {
      return body(narrowed<typename T::bits_type>{
          {from_bits<float>(of.low), from_bits<float>(of.high)}, of.format});
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!of.is_multiples) {
        return body(uniform<T>{from_bits<T>(of.low), from_bits<T>(of.high)});
      }
      return body(multiples<T>{{from_bits<std::int32_t>(of.low), from_bits<std::int32_t>(of.high)},
                               from_bits<T>(of.unit)});
    } else {
      return body(
          uniform<bits_of<T>>{static_cast<bits_of<T>>(of.low), static_cast<bits_of<T>>(of.high)});
    }
  });
}

/// The draw that selects a number from a range of each kind.
template <class T>
uniform_draw<T> draw_for(uniform<T> const&);
template <class T>
multiples_draw<T> draw_for(multiples<T> const&);
template <class Range>
using draw_of = decltype(draw_for(std::declval<Range const&>()));

}  // namespace assay::arrays
