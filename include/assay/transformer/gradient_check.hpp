// SPDX-License-Identifier: Apache-2.0
/// @file
/// The gradients of a step are held to those of a reference, by norms.
#pragma once

#include <assay/nn/operation.hpp>
#include <assay/transformer/weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace assay::nn {

/// The elements of a tensor that are compared: the first ones, so many at most.
inline std::size_t compared_elements(weight_tensor const& tensor) {
  return std::min(tensor.size(), std::size_t{1} << 16);
}

inline double norm_of(std::span<float const> all) {
  double squares = 0;
  for (auto const each : all) { squares += std::pow(static_cast<double>(each), 2); }
  return std::sqrt(squares);
}

/// Tells that some numbers are wrong, or nothing. The norm of the difference may be `allowed` times
/// the norm of `wanted`, plus `beside`. Throws `std::invalid_argument` for other sizes.
inline std::optional<std::string> wrong_by_norm(std::string const& what,
                                                std::span<float const> found,
                                                std::span<float const> wanted, double allowed,
                                                double beside = 0) {
  detail::require_size("a gradient check", "what is found", found, wanted.size());
  double apart = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    apart += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted[i]), 2);
  }
  auto const whole = norm_of(wanted);
  if (std::sqrt(apart) <= allowed * whole + beside) { return {}; }
  return what + " differ by " + std::to_string(std::sqrt(apart) / whole) +
         " of their norm, allowed is " + std::to_string(allowed);
}

/// Tells that gradients are wrong, or nothing. Both arrays have the compared elements of each
/// tensor. The norm of all may be off by `allowed` of it, and the norm of a tensor by twice that
/// share. A fault in a tensor of small gradients does not show in the norm of all. A gradient that
/// is zero has the rounding of the terms that cancel.
inline std::optional<std::string> wrong_gradients(decoder const& model,
                                                  std::span<float const> found,
                                                  std::span<float const> wanted, double allowed) {
  if (auto wrong = wrong_by_norm("gradients", found, wanted, allowed)) { return wrong; }
  auto const cancelled = 1e-6 * norm_of(wanted);
  std::size_t at = 0;
  for (auto const& tensor : weight_tensors(model)) {
    auto const count = compared_elements(tensor);
    if (auto wrong = wrong_by_norm("gradients of " + tensor.name, found.subspan(at, count),
                                   wanted.subspan(at, count), 2 * allowed, cancelled)) {
      return wrong;
    }
    at += count;
  }
  return {};
}

}  // namespace assay::nn
