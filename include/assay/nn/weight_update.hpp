// SPDX-License-Identifier: Apache-2.0
/// @file
/// The gradient of the weights of a linear layer and their step of AdamW as one operation.
#pragma once

#include <assay/nn/adamw.hpp>
#include <assay/nn/operation.hpp>
#include <assay/nn/product.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace assay::nn {

/// `linear::weight_gradient` and `adamw_update` with its result, which is not kept. With
/// activations in bfloat16, 24 bytes move for a weight; the two operations apart move 32.
struct weight_update {
  static constexpr std::string_view name = "weight_update";
  linear layer{};
  adamw settings{};
  int step = 1;

  std::size_t count() const { return layer.out * layer.in; }
  product gradient() const { return layer.weight_gradient(); }
  adamw_update update() const { return {settings, count(), step}; }

  traffic cost(double narrow = 1) const {
    auto both = gradient().cost(narrow) + update().cost(narrow);
    auto const of_gradient = detail::float_bytes * static_cast<double>(count());
    both.bytes_written -= of_gradient;
    both.bytes_read -= of_gradient;
    return both;
  }

  /// The gradient of the layer's results (rows x out) and its inputs (rows x in). `scratch` has the
  /// size of the weights and no meaning behind the call; the others are as for `adamw_update`.
  template <class Real>
  void operator()(in<Real> dy, in<Real> x, std::span<Real> scratch, std::span<Real> weights,
                  std::span<Real> first, std::span<Real> second) const {
    gradient()(dy, x, scratch);
    update()(scratch, weights, first, second);
  }
};

/// The arguments of a `weight_update`.
template <class Real, class Narrow = Real>
struct weight_arrays {
  std::span<Narrow const> dy, x;
  std::span<Real> scratch;
  weight_span<Real, Narrow> weights;
  std::span<Real> first, second;
};

/// Updates of several weights that can be computed at the same time.
struct weight_updates {
  static constexpr std::string_view name = "weight_updates";
  std::vector<weight_update> all;

  traffic cost(double narrow = 1) const {
    traffic sum;
    for (auto const& each : all) { sum = sum + each.cost(narrow); }
    return sum;
  }

  /// The arguments of each.
  template <class Real>
  void operator()(std::vector<weight_arrays<Real>> const& arrays) const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& [dy, x, scratch, weights, first, second] = arrays[i];
      all[i](dy, x, scratch, weights, first, second);
    }
  }
};

}  // namespace assay::nn
