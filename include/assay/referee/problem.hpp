// SPDX-License-Identifier: Apache-2.0
/// @file
/// `problem`: the arrays, the right results and the reference of a task for candidates.
#pragma once

#include <assay/arrays/setup.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

/// Work with the signature of `assay_candidate`.
using candidate_function =
    std::function<int(void* const*, std::size_t const*, int, double const*, int, void*)>;

/// The function that declares the arrays of a problem, in one of two forms: `f(make, n)` returns
/// scalars that never change, `f(make, n, scalars)` takes those that were drawn.
class declaration {
 public:
  declaration() = default;
  template <class F>
  requires std::is_invocable_r_v<std::vector<double>, F&, setup&, std::size_t>
  declaration(F of)
      : call_([of = std::move(of)](setup& make, std::size_t n, std::span<double const>) mutable {
          return std::vector<double>(of(make, n));
        }) {}
  template <class F>
  requires(std::is_invocable_v<F&, setup&, std::size_t, std::span<double const>>)
  declaration(F of)
      : call_([of = std::move(of)](setup& make, std::size_t n,
                                   std::span<double const> scalars) mutable {
          of(make, n, scalars);
          return std::vector<double>(scalars.begin(), scalars.end());
        }) {}

  /// Declares the arrays, and returns the scalars of the call.
  std::vector<double> operator()(setup& make, std::size_t n, std::span<double const> drawn) const {
    return call_(make, n, drawn);
  }
  explicit operator bool() const noexcept { return static_cast<bool>(call_); }

 private:
  std::function<std::vector<double>(setup&, std::size_t, std::span<double const>)> call_;
};

/// A task with its float64 reference, its sizes, and an implementation to beat.
///
/// `declare` declares the arrays of size n as for `compare`, with `expect` for each output and a
/// derived bound where there is one. It is called often, and makes the same arrays each time.
/// `random` inputs and `scalars` change from call to call. Inputs of `from`, and scalars that
/// `declare` returns itself, do not, so a candidate may have their values in its code.
struct problem {
  std::vector<std::size_t> sizes;        ///< known to candidates; the first one is timed
  std::vector<std::size_t> held_back{};  ///< sizes that candidates do not know
  /// For each scalar the values of which each call gets one, such as `{{0, 1, -2.5}}`.
  std::vector<std::vector<double>> scalars{};
  declaration declare;
  candidate_function reference;
  /// Inputs of the examination, beside random ones.
  std::vector<special_values> values{special_values::zeros, special_values::extremes,
                                     special_values::nan};
};

namespace referee_detail {

/// Throws `std::invalid_argument` for a problem that lacks a part.
inline void require_whole(problem const& of) {
  auto const require = [](bool holds, char const* otherwise) {
    if (!holds) { throw std::invalid_argument(otherwise); }
  };
  require(!of.sizes.empty(), "the problem has no size: name one or more in `sizes`");
  require(static_cast<bool>(of.declare), "the problem has no `declare`, which makes the arrays");
  for (auto const& each : of.scalars) {
    require(!each.empty(), "a scalar of the problem has no values: name one or more in `scalars`");
  }
  require(static_cast<bool>(of.reference), "the problem has no `reference`, the time to beat");
}

}  // namespace referee_detail
}  // namespace assay
