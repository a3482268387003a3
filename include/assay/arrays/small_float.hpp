// SPDX-License-Identifier: Apache-2.0
/// @file
/// Floating numbers of 8 and 16 bits: their formats, and conversions without the toolkit's headers.
#pragma once

#include <assay/core/random.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Of cuda_fp16.h.
struct __half;
/// Of cuda_bf16.h.
struct __nv_bfloat16;
/// Of cuda_fp8.h.
struct __nv_fp8_e4m3;
/// Of cuda_fp8.h.
struct __nv_fp8_e5m2;

namespace assay {

struct bfloat16;

namespace arrays {

/// A format of floating numbers; without a mantissa it is none.
struct float_format {
  std::uint8_t mantissa = 0, bias = 0, bytes = 0;
  std::uint16_t infinity = 0;  ///< its bits, or those of NaN where the format has none
  std::uint16_t most = 0;      ///< the bits to which too large numbers are rounded
  bool operator==(float_format const&) const = default;
};
inline constexpr float_format half_format{10, 15, 2, 0x7C00, 0x7C00};
inline constexpr float_format bfloat16_format{7, 127, 2, 0x7F80, 0x7F80};
inline constexpr float_format e4m3_format{3, 7, 1, 0x7F, 0x7E};
inline constexpr float_format e5m2_format{2, 15, 1, 0x7C, 0x7B};

/// `narrowing{format, bits of a double}.result` are the bits of the nearest number of a format, on
/// the host and on a device: as the toolkit converts, ties go to even, and fp8 saturates.
struct narrowing {
  float_format to{};
  std::uint64_t bits = 0;
  std::uint64_t size = bits & ~(std::uint64_t{1} << 63U);
  std::uint64_t exponent = size >> 52U;
  std::uint64_t least = 1024U - to.bias;  // the exponent of the smallest normal number
  std::uint64_t below = exponent < least ? least - exponent : 0;
  std::uint64_t hidden = std::uint64_t{1} << 52U;
  std::uint64_t all = below == 0 ? size - ((least - 1) << 52U) : (size & (hidden - 1)) | hidden;
  std::uint64_t drops = below < 12 ? 52U - to.mantissa + below : 60;
  std::uint64_t odd = (all >> drops) & 1U;
  std::uint64_t rounded = (all + (std::uint64_t{1} << (drops - 1)) - 1 + odd) >> drops;
  std::uint64_t kept = rounded < to.most ? rounded : to.most;
  std::uint64_t sign = std::uint64_t{1} << (8U * to.bytes - 1);
  bool is_nan = size > std::uint64_t{0x7FF} << 52U;
  std::uint64_t result = is_nan ? sign - 1 : bits >> 63U == 0 ? kept : kept | sign;
};

/// The number that bits of a format stand for.
constexpr double widened(float_format from, std::uint64_t bits) noexcept {
  auto const sign = std::uint64_t{1} << (8U * from.bytes - 1);
  auto const size = bits & (sign - 1);
  auto const fraction = size & ((std::uint64_t{1} << from.mantissa) - 1);
  double value = 0;
  if (size >= from.infinity) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {
    // Subnormal numbers are the difference of a normal number and the smallest one.
    bool const normal = size >> from.mantissa != 0;
    auto const as_double = [&](std::uint64_t normal_bits) {
      auto const rebias = std::uint64_t{1023U - from.bias} << 52U;
      return std::bit_cast<double>((normal_bits << (52U - from.mantissa)) + rebias);
    };
    auto const one = std::uint64_t{1} << from.mantissa;
    value = normal ? as_double(size) : as_double(size | one) - as_double(one);
  }
  return (bits & sign) == 0 ? value : -value;
}

/// A number of a format, which the host stores and converts.
template <float_format Format>
struct small_float {
  using bits_type = std::conditional_t<Format.bytes == 1, std::uint8_t, std::uint16_t>;
  bits_type bits = 0;

  small_float() = default;
  explicit small_float(double value) noexcept
      : bits(
            static_cast<bits_type>(narrowing{Format, std::bit_cast<std::uint64_t>(value)}.result)) {
  }
  static small_float of(std::uint64_t bits) noexcept {
    small_float made;
    made.bits = static_cast<bits_type>(bits);
    return made;
  }
  explicit operator double() const noexcept { return widened(Format, bits); }
};

/// The format of the types that the toolkit or assay have for small floating numbers.
template <class T>
inline constexpr float_format format_of{};
template <float_format Format>
inline constexpr float_format format_of<small_float<Format>> = Format;
template <>
inline constexpr float_format format_of<__half> = half_format;
template <>
inline constexpr float_format format_of<__nv_bfloat16> = bfloat16_format;
template <>
inline constexpr float_format format_of<bfloat16> = bfloat16_format;
template <>
inline constexpr float_format format_of<__nv_fp8_e4m3> = e4m3_format;
template <>
inline constexpr float_format format_of<__nv_fp8_e5m2> = e5m2_format;

/// A type of floating numbers of 8 or 16 bits.
template <class T>
concept small_floating = format_of<T>.mantissa != 0;
/// What arrays can hold as numbers.
template <class T>
concept numeric = number<T> || small_floating<T>;

/// The type in which the host computes with elements: `float` for small floating numbers.
template <class T>
using host_value = std::conditional_t<small_floating<T>, float, T>;

/// The limits of an element's type that arrays need.
template <class T>
struct element_limits : std::numeric_limits<T> {};
template <small_floating T>
struct element_limits<T> {
  static constexpr int digits = format_of<T>.mantissa + 1;
  static constexpr int min_exponent = 2 - format_of<T>.bias;
  static constexpr double epsilon() noexcept {
    return 1 / static_cast<double>(std::uint64_t{1} << format_of<T>.mantissa);
  }
  static constexpr double denorm_min() noexcept { return widened(format_of<T>, 1); }
  static constexpr double max() noexcept {
    constexpr auto is = format_of<T>;
    return widened(is, is.most < is.infinity ? is.most : is.infinity - 1U);
  }
};

}  // namespace arrays
}  // namespace assay
