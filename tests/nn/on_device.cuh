// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays on device 0 for tests of operations, and results against float64 under bounds.
#pragma once
#include "catch.hpp"

#include <assay/arrays/setup.hpp>
#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/buffer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::test {

/// Half the distance from 1 to the next float: the relative error of one rounding.
inline constexpr double rounding = 0x1p-24;
/// The relative error of the one rounding of a result to its type, where that is not float.
template <class T>
inline constexpr double last_rounding = std::is_same_v<T, float> ? 0 : bfloat16_unit;

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, float scale = 1) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = random_value(uniform<float>{-scale, scale}, seed, i);
  }
  return made;
}

/// The same, rounded to a type.
template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed, float scale = 1) {
  auto const from = random_floats(count, seed, scale);
  std::vector<T> made;
  for (auto const each : from) { made.push_back(static_cast<T>(each)); }
  return made;
}

template <class T>
std::vector<double> wide(std::vector<T> const& from) {
  std::vector<double> made;
  for (auto const each : from) { made.push_back(static_cast<double>(each)); }
  return made;
}

inline std::vector<double> magnitudes(std::vector<double> from) {
  for (auto& each : from) { each = std::abs(each); }
  return from;
}

/// A stream, and arrays in its order.
class on_device {
 public:
  template <class T>
  using array = buffer<T, mr::async_resource, ::cuda::stream_ref>;

  ::cuda::stream_ref stream() const { return stream_; }

  template <class T>
  array<T> copy(std::vector<T> const& from) {
    auto to = make_buffer<T>(from.size(), stream_, memory_);
    check(cudaMemcpyAsync(to.data(), from.data(), to.bytes(), cudaMemcpyDefault, stream_.get()));
    return to;
  }
  /// An output, full of NaN.
  template <class T = float>
  array<T> poisoned(std::size_t count) {
    auto to = make_buffer<T>(count, stream_, memory_);
    check(cudaMemsetAsync(to.data(), 0xFF, to.bytes(), stream_.get()));
    return to;
  }
  template <class T>
  std::vector<T> found(array<T> const& from) {
    std::vector<T> to(from.size());
    check(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDefault, stream_.get()));
    stream_.synchronize();
    return to;
  }

 private:
  on::device place_{0};
  assay::stream stream_{place_};
  mr::async_resource memory_ = mr::async{}.open(place_);
};

/// The first element that is further from the reference than allowed, or an empty text. One
/// rounding to a type that is not float is always allowed.
template <class T>
std::string beyond(std::vector<T> const& found, std::vector<double> const& wanted,
                   std::vector<double> const& allowed) {
  if (found.size() != wanted.size() || found.size() != allowed.size()) { return "sizes differ"; }
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const value = static_cast<double>(found[i]);
    auto const error = std::abs(value - wanted[i]);
    auto const most = allowed[i] + last_rounding<T> * (std::abs(wanted[i]) + allowed[i]);
    if (!(error <= most)) {
      return "element " + std::to_string(i) + " is " + std::to_string(value) + ", wanted is " +
             std::to_string(wanted[i]) + ", the error " + std::to_string(error / most) +
             " times of what is allowed";
    }
  }
  return {};
}

/// The same with an error of `share` of each magnitude.
template <class T>
std::string beyond(std::vector<T> const& found, std::vector<double> const& wanted,
                   std::vector<double> allowed, double share) {
  for (auto& each : allowed) { each = std::abs(each) * share; }
  return beyond(found, wanted, allowed);
}

template <class T>
std::span<T> span(array_view<T> of) {
  return {of.data(), of.size()};
}

/// The values with which an array starts.
template <class T>
std::vector<double> wide(array_view<T> of) {
  std::vector<double> made(of.size());
  for (std::size_t i = 0; i < made.size(); ++i) { made[i] = of.seeded(i); }
  return made;
}

/// Expects each element within `share` of a magnitude, and one rounding to a type that is not
/// float. The smallest numbers count as zero.
template <class T>
void expect_within(setup& make, array_view<T> of, std::vector<double> wanted,
                   std::vector<double> magnitude, double share = 1) {
  auto const element = [wanted = std::move(wanted), magnitude = std::move(magnitude), share](
                           std::size_t first, std::span<double> right, std::span<double> errors) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      right[i] = wanted[first + i];
      auto const error = std::abs(magnitude[first + i]) * share;
      errors[i] = error + last_rounding<T> * (std::abs(right[i]) + error) +
                  static_cast<double>(std::numeric_limits<float>::min());
    }
  };
  make.expect(of, element);
}

}  // namespace assay::test
