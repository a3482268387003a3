// SPDX-License-Identifier: Apache-2.0
/// @file
/// The choosers: policies that decide on which path a call runs.
#pragma once

#include <assay/core/policy.hpp>
#include <assay/dispatch/costs.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// `bound(costs)` makes the function that chooses the number of a path by the facts of a call. The
/// function does not throw or allocate. The costs must outlive it. `bound` throws
/// `std::invalid_argument` if the costs lack a path that the policy names.
template <class C>
concept chooser = policy<C> && requires(C const& each, costs const& of) {
  requires std::is_nothrow_invocable_r_v<std::size_t, decltype(each.bound(of)) const&,
                                         facts const&>;
};

namespace choose {

/// The path with the least predicted time.
struct by_model {
  static constexpr std::string_view name = "choose::by_model";
  bool operator==(by_model const&) const = default;
  auto bound(costs const& of) const {
    return [&of](facts const& known) noexcept { return of.best(known); };
  }
};
static_assert(chooser<by_model>);

namespace detail {

inline std::size_t right_path(costs const& of, path const& wanted) {
  auto const index = of.index_of(wanted);
  if (of.paths()[index].wrong.empty()) { return index; }
  throw std::invalid_argument(wanted.describe() + " computes wrong results for " + of.task() +
                              ", choose another path: " + of.paths()[index].wrong);
}

}  // namespace detail

/// One path for all calls.
struct always {
  path which = on::host{1};
  static constexpr std::string_view name = "choose::always";
  std::string describe() const { return parameter_list{}.show(which.describe()).after(name); }
  bool operator==(always const&) const = default;
  auto bound(costs const& of) const {
    return [index = detail::right_path(of, which)](facts const&) noexcept { return index; };
  }
};
static_assert(chooser<always>);

/// One path for calls below a size, another from this size on.
struct threshold {
  std::size_t size = 0;
  path below = on::host{1};
  path from = on::device{0};
  static constexpr std::string_view name = "choose::threshold";
  std::string describe() const {
    return parameter_list{}
        .show(std::to_string(size))
        .show(below.describe())
        .show(from.describe())
        .after(name);
  }
  bool operator==(threshold const&) const = default;
  auto bound(costs const& of) const {
    return [size = size, low = detail::right_path(of, below), high = detail::right_path(of, from)](
               facts const& known) noexcept { return known.amount.size < size ? low : high; };
  }
};
static_assert(chooser<threshold>);

/// The path that was fastest at the nearest measured size. This policy ignores copies.
struct history {
  static constexpr std::string_view name = "choose::history";
  bool operator==(history const&) const = default;
  auto bound(costs const& of) const {
    std::vector<std::pair<double, std::size_t>> table;  // log2 of a size, the fastest path
    for (auto const& each : of.paths()) {
      if (!table.empty()) { break; }  // all paths have the same sizes
      for (auto const& at : each.knots) {
        table.emplace_back(std::log2(at.size),
                           of.best(facts_of_size(static_cast<std::size_t>(at.size))));
      }
    }
    return [table = std::move(table)](facts const& known) noexcept {
      double const at = std::log2(std::max(1.0, static_cast<double>(known.amount.size)));
      return std::min_element(table.begin(), table.end(),
                              [at](auto const& a, auto const& b) {
                                return std::abs(a.first - at) < std::abs(b.first - at);
                              })
          ->second;
    };
  }
};
static_assert(chooser<history>);

/// The path with the least a n^b + c, where a, b and c are fitted to the measurements of each path.
/// This is the model of StarPU (Augonnet et al. 2011). Copies are added as by `by_model`.
struct power_law {
  static constexpr std::string_view name = "choose::power_law";
  bool operator==(power_law const&) const = default;

  struct fit {
    double a = 0, b = 0, c = 0;
    double seconds(double size) const noexcept { return a * std::pow(size, b) + c; }
  };
  /// The fit with the least sum of squared relative errors. For each b of a grid, a and c are
  /// linear in them.
  static fit fitted(std::vector<knot> const& knots) {
    fit best;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 1; i <= 400; ++i) {
      double const b = i / 100.0;
      double u = 0, v = 0, uu = 0, uv = 0, vv = 0;
      for (auto const& each : knots) {
        double const x = std::pow(each.size, b) / each.seconds;
        double const y = 1 / each.seconds;
        u += x, v += y, uu += x * x, uv += x * y, vv += y * y;
      }
      double const a = std::max(0.0, (u * vv - v * uv) / (uu * vv - uv * uv));
      double const c = std::max(0.0, (v * uu - u * uv) / (uu * vv - uv * uv));
      double const errors = a * a * uu + 2 * a * c * uv + c * c * vv - 2 * a * u - 2 * c * v;
      if (errors < least) {
        least = errors;
        best = {a, b, c};
      }
    }
    return best;
  }

  auto bound(costs const& of) const {
    std::vector<fit> fits;
    for (auto const& each : of.paths()) {
      fits.push_back(each.wrong.empty() ? fitted(each.knots)
                                        : fit{.c = std::numeric_limits<double>::infinity()});
    }
    return [fits = std::move(fits), &of](facts const& known) noexcept {
      double const size = std::max(1.0, static_cast<double>(known.amount.size));
      std::size_t chosen = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < fits.size(); ++i) {
        double const seconds = fits[i].seconds(size) + of.copies_of(i, known).seconds();
        if (seconds < least) {
          least = seconds;
          chosen = i;
        }
      }
      return chosen;
    };
  }
};
static_assert(chooser<power_law>);

}  // namespace choose
}  // namespace assay::dispatch
