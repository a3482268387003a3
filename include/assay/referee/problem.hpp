// SPDX-License-Identifier: Apache-2.0
/// @file
/// `problem`: the arrays, the right results and the reference of a task for candidates.
#pragma once

#include <assay/arrays/setup.hpp>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <vector>

namespace assay {

/// Work with the signature of `assay_candidate`.
using candidate_function =
    std::function<int(void* const*, std::size_t const*, int, double const*, int, void*)>;

/// A task with its float64 reference, its sizes, and an implementation to beat.
///
/// `declare` declares the arrays of size n as for `compare`, with `expect` for each output and a
/// derived bound where there is one, and returns the scalars. It is called often, and makes the
/// same arrays each time. `random` inputs, and scalars of `setup::scalar`, change from call to
/// call. Inputs of `from`, and other scalars, do not, so a candidate may have their values in its
/// code.
struct problem {
  std::vector<std::size_t> sizes;        ///< known to candidates; the first one is timed
  std::vector<std::size_t> held_back{};  ///< sizes that candidates do not know
  std::function<std::vector<double>(setup&, std::size_t n)> declare;
  candidate_function reference;
  /// Inputs of the examination, beside random ones.
  std::vector<special_values> values{special_values::zeros, special_values::extremes,
                                     special_values::nan};
  /// True if rows of a `matrix` without a leading dimension have padding in most buffer sets.
  /// `declare` then returns the leading dimensions among the scalars.
  bool vary_leading_dimensions = false;
};

namespace referee_detail {

/// Throws `std::invalid_argument` for a problem that lacks a part.
inline void require_whole(problem const& of) {
  auto const require = [](bool holds, char const* otherwise) {
    if (!holds) { throw std::invalid_argument(otherwise); }
  };
  require(!of.sizes.empty(), "the problem has no size: name one or more in `sizes`");
  require(static_cast<bool>(of.declare), "the problem has no `declare`, which makes the arrays");
  require(static_cast<bool>(of.reference), "the problem has no `reference`, the time to beat");
}

}  // namespace referee_detail
}  // namespace assay
