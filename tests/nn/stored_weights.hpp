// SPDX-License-Identifier: Apache-2.0
/// @file
/// Weights as steps on a device keep them, for tests by `verify`: floats, or floats in two halves
/// beside activations in bfloat16.
#pragma once

#include "nn/expect_within.hpp"

#include <assay/core/error.hpp>
#include <assay/core/random.hpp>
#include <assay/nn/operation.hpp>

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::test {

template <class T>
std::vector<T> fetched(array_view<T> of) {
  std::vector<T> found(of.size());
  check(cudaMemcpy(found.data(), of.data(), found.size() * sizeof(T), cudaMemcpyDefault));
  return found;
}

/// Weights that a call changes, beside activations of a type.
template <class Narrow>
struct stored_weights {
  array_view<float> all;

  stored_weights(setup& make, std::size_t n) : all(make.inout<float>(n)) {}
  std::vector<double> before() const { return wide(all); }
  std::span<float> span() const { return span_of(all); }
  void expect(setup& make, std::vector<double> const& wanted,
              std::vector<double> const& allowed) const {
    expect_within(make, all, wanted, allowed);
  }
};

template <>
struct stored_weights<bfloat16> {
  std::vector<double> first;
  array_view<bfloat16> high;
  array_view<std::uint16_t> low;

  stored_weights(setup& make, std::size_t n) {
    std::vector<bfloat16> upper;
    std::vector<std::uint16_t> lower;
    for (std::size_t i = 0; i < n; ++i) {
      nn::float_halves const both{random_value(uniform<float>{-1, 1}, 11, i)};
      first.push_back(static_cast<float>(both));
      upper.push_back(both.high);
      lower.push_back(both.low);
    }
    high = make.inout(std::move(upper));
    low = make.inout(std::move(lower));
  }
  std::vector<double> before() const { return first; }
  nn::split_floats span() const { return {span_of(high), span_of(low)}; }
  void expect(setup& make, std::vector<double> const& wanted,
              std::vector<double> const& allowed) const {
    auto const judge = [=](std::span<bfloat16 const> upper,
                           std::span<std::uint16_t const> lower) -> std::optional<std::string> {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const found = static_cast<float>(nn::float_halves{upper[i], lower[i]});
        auto const most = allowed[i] + static_cast<double>(std::numeric_limits<float>::min());
        if (std::abs(static_cast<double>(found) - wanted[i]) <= most) { continue; }
        return "weight " + std::to_string(i) + " is " + std::to_string(found) + ", expected " +
               std::to_string(wanted[i]) + " within " + std::to_string(most);
      }
      return {};
    };
    make.expect_that(high, [=, other = low](std::span<bfloat16 const> got) {
      return judge(got, fetched(other));
    });
    make.expect_that(low, [=, other = high](std::span<std::uint16_t const> got) {
      return judge(fetched(other), got);
    });
  }
};

/// Weights that a call reads, with the values of an array.
template <class Narrow>
auto stored_like(setup& make, array_view<float> const& of) {
  if constexpr (std::is_same_v<Narrow, float>) {
    return span_of(of);
  } else {
    std::vector<bfloat16> upper;
    std::vector<std::uint16_t> lower;
    for (std::size_t i = 0; i < of.size(); ++i) {
      nn::float_halves const both{of.seeded(i)};
      upper.push_back(both.high);
      lower.push_back(both.low);
    }
    return nn::split_floats{span_of(make.from(std::move(upper))),
                            span_of(make.from(std::move(lower)))};
  }
}

}  // namespace assay::test
