// SPDX-License-Identifier: Apache-2.0
/// @file
/// Types of the arguments of operations, and the check of sizes.
///
/// An operation is a value that knows its shape. `cost(narrow)` is its traffic: activations have
/// `narrow` times the bytes of float32, all else is float32. A call of the value computes the
/// operation on the host, in float64 as the reference, or in float32.
#pragma once

#include <assay/workload/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay::nn {

/// The number of a word in the vocabulary.
using token = std::int32_t;

/// An input. The outputs of a call decide what `Real` is.
template <class Real>
using in = std::span<std::type_identity_t<Real> const>;

namespace detail {

inline constexpr double float_bytes = 4;

/// Traffic in elements of float32.
inline traffic elements(double read, double written, double flops) {
  return {.bytes_read = float_bytes * read, .bytes_written = float_bytes * written, .flops = flops};
}

inline double product_of(std::size_t a, std::size_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// Throws unless an argument has the size that the shape of the operation gives it.
template <class T>
void require_size(std::string_view operation, std::string_view argument, std::span<T> given,
                  std::size_t wanted) {
  if (given.size() == wanted) { return; }
  throw std::invalid_argument(std::string{operation} + ": " + std::string{argument} + " has " +
                              std::to_string(given.size()) + " elements, its shape has " +
                              std::to_string(wanted));
}

/// Throws unless a token is in the vocabulary.
inline void require_token(token which, std::size_t vocabulary) {
  if (which >= 0 && static_cast<std::size_t>(which) < vocabulary) { return; }
  throw std::invalid_argument("token " + std::to_string(which) +
                              " is not in the vocabulary, which has tokens 0 to " +
                              std::to_string(vocabulary - 1));
}

}  // namespace detail
}  // namespace assay::nn
