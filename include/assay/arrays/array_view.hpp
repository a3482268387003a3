// SPDX-License-Identifier: Apache-2.0
/// @file
/// `array_view` and `matrix_view`: arrays of a setup, as host code passes them on to kernels;
/// `declared_array`.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/arrays/matrix.hpp>
#include <assay/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace assay {

class setup;

/// One array of a setup, in the order of declaration.
struct declared_array {
  enum class role { input, output, inout, zeros, scratch };
  void* data = nullptr;
  std::size_t bytes = 0, elements = 0;
  role what = role::scratch;
  bool expected = false;   ///< `setup::verify` compares its content with what is right
  matrix rows{};           ///< zeros for an array without rows
  std::size_t sample = 0;  ///< elements of the sample that `expect` asked for; 0: all are checked
  std::optional<unsigned char> poison{};  ///< of an output
  void const* start = nullptr;            ///< what an inout starts with, in memory of the store
  std::string name{};                     ///< in messages: of `setup::named`, or "array 1"

  /// True for arrays that hold results: `output` and `inout`.
  bool is_result() const noexcept { return what == role::output || what == role::inout; }
};

namespace arrays {

/// An array of the store. `source` has the elements that it starts with, where these lie in host
/// memory; else those of `random` follow from `seed`. Or it is the `special_rule` of those that do
/// not.
struct declared_memory {
  void* data = nullptr;
  void const* source = nullptr;
  std::uint64_t seed = 0;
  bool is_special = false;  ///< the source is a rule
};

template <class T>
consteval std::size_t sizeof_element() {
  static_assert(std::is_trivially_copyable_v<T>, "arrays hold trivially copyable elements");
  return sizeof(T);
}

}  // namespace arrays

namespace arrays::detail {

[[noreturn]] void refuse_seeded(std::size_t index, std::size_t size);
[[noreturn]] void refuse_seeded(matrix const& of, std::size_t row, std::size_t column);

}  // namespace arrays::detail

/// An array that a `setup` owns: a trivially copyable view, for host code to pass on to kernels.
template <class T>
class array_view {
 public:
  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  /// A `std::span` or `cuda::std::span`, of T or T const. An array is no range of its own, since
  /// host code cannot iterate over memory of a device.
  template <class Span>
  requires(Span::extent == std::dynamic_extent && std::is_constructible_v<Span, T*, std::size_t>)
  operator Span() const noexcept {
    return Span(data_, size_);
  }

  /// The value with which element i starts, from the host's memory or arithmetic; as `float` for
  /// elements of 8 and 16 floating bits, so that references compute with it. Throws
  /// `std::out_of_range` beyond the array, and `std::logic_error` for arrays of `output`, `scratch`
  /// and `zeros`.
  arrays::host_value<T> seeded(std::size_t i) const {
    if (i < size_) {
      if constexpr (arrays::small_floating<T>) {
        if (source_ != nullptr || kind_ == random_kind::uniform) { return small_value(i); }
      } else if (source_ != nullptr && kind_ != random_kind::special) {
        return static_cast<T const*>(source_)[i];
      }
      if constexpr (number<T>) {
        if (auto const bits = special_bits(i)) { return arrays::from_bits<T>(*bits); }
        if (kind_ == random_kind::uniform || kind_ == random_kind::special) {
          return random_value(range_, seed_, i);
        }
        if constexpr (std::is_floating_point_v<T>) {
          if (kind_ == random_kind::multiples) {
            return arrays::random_value(arrays::multiples<T>{steps_, range_.low}, seed_, i);
          }
        }
      }
    }
    arrays::detail::refuse_seeded(i, size_);
  }

 private:
  friend class setup;

  using range_type = uniform<std::conditional_t<arrays::numeric<T>, arrays::host_value<T>, int>>;

  void be_random(range_type const& range, bool is_special) noexcept {
    kind_ = is_special ? random_kind::special : random_kind::uniform;
    range_ = range;
  }

  /// The bits of an element that is a special one.
  std::optional<std::uint64_t> special_bits(std::uint64_t i) const {
    if (kind_ != random_kind::special) { return {}; }
    auto const& rule = *static_cast<arrays::special_rule const*>(source_);
    arrays::special_draw const drawn{rule, random_bits(seed_, i), i};
    return drawn.is_special ? std::optional{drawn.bits} : std::nullopt;
  }

  float small_value(std::size_t i) const {
    constexpr auto format = arrays::format_of<T>;
    using bits = typename arrays::small_float<format>::bits_type;
    bits is = 0;
    if (auto const special = special_bits(i)) {
      is = static_cast<bits>(*special);
    } else if (source_ != nullptr && kind_ != random_kind::special) {
      std::memcpy(&is, static_cast<bits const*>(source_) + i, sizeof is);
    } else {
      is = arrays::random_value(arrays::narrowed<bits>{range_, format}, seed_, i);
    }
    return static_cast<float>(arrays::widened(format, is));
  }

  enum class random_kind : unsigned char { none, uniform, multiples, special };

  T* data_ = nullptr;
  std::size_t size_ = 0;
  void const* source_ = nullptr;  // elements, or the rule of special ones
  std::uint64_t seed_ = 0;
  random_kind kind_ = random_kind::none;
  uniform<std::int32_t> steps_{};  // of multiples
  range_type range_{};
};

/// An array in rows; see `matrix`. As an `array_view` it has all elements, with padding.
template <class T>
class matrix_view : public array_view<T> {
 public:
  matrix_view() = default;

  std::size_t rows() const noexcept { return rows_.rows; }
  std::size_t columns() const noexcept { return rows_.columns; }
  /// The number of elements from the begin of a row to that of the next one.
  std::size_t leading_dimension() const noexcept { return rows_.leading_dimension; }

  /// The value with which an element starts; see `array_view::seeded`.
  arrays::host_value<T> seeded(std::size_t row, std::size_t column) const {
    if (row < rows() && column < columns()) {
      return array_view<T>::seeded(row * leading_dimension() + column);
    }
    arrays::detail::refuse_seeded(rows_, row, column);
  }

 private:
  friend class setup;
  matrix_view(array_view<T> all, matrix rows) : array_view<T>(all), rows_(rows) {}

  matrix rows_{};
};

/// The elements of an array.
template <class View>
using viewed = std::remove_pointer_t<decltype(std::declval<View const&>().data())>;
/// An `array_view` or `matrix_view` of numbers.
template <class View>
concept numeric_view =
    std::is_base_of_v<array_view<viewed<View>>, View> && arrays::numeric<viewed<View>>;

}  // namespace assay
