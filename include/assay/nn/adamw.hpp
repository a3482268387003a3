// SPDX-License-Identifier: Apache-2.0
/// @file
/// AdamW (Loshchilov, Hutter 2019), as PyTorch orders its steps.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::nn {

/// The settings of the optimiser. The defaults are PyTorch's, but for the learning rate.
struct adamw {
  double learning_rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool operator==(adamw const&) const = default;

  /// Throws `std::invalid_argument` for settings that no run can use.
  void validate() const {
    auto const require = [](bool good, char const* what, double value, char const* range) {
      if (good) { return; }
      throw std::invalid_argument("adamw: " + std::string{what} + " is " + std::to_string(value) +
                                  ", allowed is " + range);
    };
    require(learning_rate >= 0 && std::isfinite(learning_rate), "learning_rate", learning_rate,
            "a finite number from 0 on");
    require(beta1 >= 0 && beta1 < 1, "beta1", beta1, "[0, 1)");
    require(beta2 >= 0 && beta2 < 1, "beta2", beta2, "[0, 1)");
    require(epsilon > 0 && std::isfinite(epsilon), "epsilon", epsilon, "a finite number above 0");
    require(weight_decay >= 0 && std::isfinite(weight_decay), "weight_decay", weight_decay,
            "a finite number from 0 on");
  }
};

/// One step of AdamW. The first step has number 1. For a gradient g:
/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// w = w (1 - rate decay) - rate / (1 - beta1^step) m / (sqrt(v / (1 - beta2^step)) + epsilon).
struct adamw_update {
  static constexpr std::string_view name = "adamw_update";
  adamw settings{};
  std::size_t count = 1;  ///< of a piece
  int step = 1;
  std::size_t pieces = 1;
  std::size_t distance = 0;  ///< elements from a piece to the next

  /// The elements of each array: what lies between the pieces stays as it is.
  std::size_t extent() const { return (pieces - 1) * distance + count; }
  /// A weight has 4 bytes for all activations: a float, or its two halves.
  traffic cost(double = 1) const {
    auto const n = detail::product_of(pieces, count);
    return detail::elements(4 * n, 3 * n, 14 * n);
  }

  /// The factors of a step, computed in float64 once.
  struct factors {
    double keep;         ///< of the weight
    double rate;         ///< learning rate with the correction of the first moment
    double root_factor;  ///< 1 / sqrt(1 - beta2^step)
  };
  factors of_step() const {
    auto const& s = settings;
    return {.keep = 1 - s.learning_rate * s.weight_decay,
            .rate = s.learning_rate / (1 - std::pow(s.beta1, step)),
            .root_factor = 1 / std::sqrt(1 - std::pow(s.beta2, step))};
  }

  /// weights, first and second moment: read and written; zero moments before the first step.
  template <class Real>
  void operator()(in<Real> gradient, std::span<Real> weights, std::span<Real> first,
                  std::span<Real> second) const {
    for (auto const each : {gradient, in<Real>{weights}, in<Real>{first}, in<Real>{second}}) {
      detail::require_size(name, "an argument", each, extent());
    }
    auto const [keep, rate, root_factor] = of_step();
    auto const b1 = static_cast<Real>(settings.beta1), b2 = static_cast<Real>(settings.beta2);
    for (std::size_t at = 0; at < pieces * count; ++at) {
      auto const i = at / count * distance + at % count;
      auto const g = gradient[i];
      first[i] = b1 * first[i] + static_cast<Real>(1 - settings.beta1) * g;
      second[i] = b2 * second[i] + static_cast<Real>(1 - settings.beta2) * g * g;
      auto const root = std::sqrt(second[i]) * static_cast<Real>(root_factor);
      weights[i] =
          weights[i] * static_cast<Real>(keep) -
          static_cast<Real>(rate) * first[i] / (root + static_cast<Real>(settings.epsilon));
    }
  }
};

}  // namespace assay::nn
