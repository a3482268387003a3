// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays on device 0 for tests of operations, and results against float64 under bounds.
#pragma once
#include "catch.hpp"

#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/buffer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::test {

/// Half the distance from 1 to the next float: the relative error of one rounding.
inline constexpr double rounding = 0x1p-24;

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, float scale = 1) {
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = random_value(uniform<float>{-scale, scale}, seed, i);
  }
  return made;
}

inline std::vector<double> wide(std::vector<float> const& from) {
  return {from.begin(), from.end()};
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
  array<float> poisoned(std::size_t count) {
    auto to = make_buffer<float>(count, stream_, memory_);
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

/// The first element that is further from the reference than allowed, or an empty text.
inline std::string beyond(std::vector<float> const& found, std::vector<double> const& wanted,
                          std::vector<double> const& allowed) {
  if (found.size() != wanted.size() || found.size() != allowed.size()) { return "sizes differ"; }
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const error = std::abs(static_cast<double>(found[i]) - wanted[i]);
    if (!(error <= allowed[i])) {
      return "element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", wanted is " +
             std::to_string(wanted[i]) + ", the error " + std::to_string(error / allowed[i]) +
             " times of what is allowed";
    }
  }
  return {};
}

/// The same with an error of `share` of each magnitude.
inline std::string beyond(std::vector<float> const& found, std::vector<double> const& wanted,
                          std::vector<double> allowed, double share) {
  for (auto& each : allowed) { each = std::abs(each) * share; }
  return beyond(found, wanted, allowed);
}

}  // namespace assay::test
