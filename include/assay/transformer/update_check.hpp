// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether a step of AdamW did to some weights what float64 does to them.
#pragma once

#include <assay/nn/adamw.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::nn {

/// Some weights with what AdamW reads and writes beside them.
struct update_sample {
  std::vector<float> gradient, weights, first, second;
};

namespace detail {

/// Each element within its bound. The smallest numbers count as zero.
inline std::optional<std::string> first_wrong(char const* what, std::span<float const> found,
                                              std::span<double const> wanted,
                                              std::span<double const> allowed) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const most = allowed[i] + static_cast<double>(std::numeric_limits<float>::min());
    if (std::abs(static_cast<double>(found[i]) - wanted[i]) <= most) { continue; }
    return std::string{what} + " " + std::to_string(i) + " is " + std::to_string(found[i]) +
           " behind a step of AdamW, expected is " + std::to_string(wanted[i]) + " within " +
           std::to_string(most);
  }
  return {};
}

}  // namespace detail

/// What is wrong with a step, or nothing: `before` and `after` are the same weights, `after` with
/// the gradient that the step had. The bounds are those of rounding alone, where the root and the
/// quotient are off by `more` roundings beyond their own.
inline std::optional<std::string> wrong_update(adamw_update op, update_sample const& before,
                                               update_sample const& after, int more = 0) {
  constexpr double rounding = 0x1p-24;
  op.count = after.gradient.size();
  auto const wide = [](std::vector<float> const& from) {
    return std::vector<double>(from.begin(), from.end());
  };
  auto const gradient = wide(after.gradient);
  auto weights = wide(before.weights), first = wide(before.first), second = wide(before.second);
  std::vector<double> of_weight(op.count), of_first(op.count), of_second(op.count);
  auto const& s = op.settings;
  auto const [keep, rate, root_factor] = op.of_step();
  for (std::size_t i = 0; i < op.count; ++i) {
    // The parts of the first moment can cancel; all other factors keep their relative errors.
    of_first[i] = s.beta1 * std::abs(first[i]) + (1 - s.beta1) * std::abs(gradient[i]);
    of_weight[i] = 3 * rounding * std::abs(weights[i] * keep);
  }
  op(gradient, std::span{weights}, std::span{first}, std::span{second});
  for (std::size_t i = 0; i < op.count; ++i) {
    auto const root = std::sqrt(second[i]) * root_factor + s.epsilon;
    of_weight[i] += ((14 + more) * rounding * rate * of_first[i] + 0x1p-149) / root;
    of_first[i] *= 3 * rounding;
    of_second[i] = 5 * rounding * second[i];
  }
  if (auto wrong = detail::first_wrong("first moment", after.first, first, of_first)) {
    return wrong;
  }
  if (auto wrong = detail::first_wrong("second moment", after.second, second, of_second)) {
    return wrong;
  }
  return detail::first_wrong("weight", after.weights, weights, of_weight);
}

}  // namespace assay::nn
