// SPDX-License-Identifier: Apache-2.0
/// @file
/// `history` and `power_law`: rivals of `choose::by_model` that others use.
#pragma once

#include <assay/dispatch/choose.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

/// The path that was fastest at the nearest measured size. This policy ignores copies.
struct history {
  static constexpr std::string_view name = "history";
  bool operator==(history const&) const = default;
  auto bound(dispatch::costs const& of) const {
    std::vector<std::pair<double, std::size_t>> table;  // log2 of a size, the fastest path
    for (auto const& each : of.paths()) {
      if (!table.empty()) { break; }  // all paths have the same sizes
      for (auto const& at : each.knots) {
        table.emplace_back(std::log2(at.size),
                           of.best(dispatch::facts_of_size(static_cast<std::size_t>(at.size))));
      }
    }
    return [table = std::move(table)](dispatch::facts const& known) noexcept {
      double const at = std::log2(std::max(1.0, static_cast<double>(known.amount.size)));
      return std::min_element(table.begin(), table.end(),
                              [at](auto const& a, auto const& b) {
                                return std::abs(a.first - at) < std::abs(b.first - at);
                              })
          ->second;
    };
  }
};
static_assert(dispatch::chooser<history>);

/// The path with the least a n^b + c, where a, b and c are fitted to the measurements of each path.
/// This is the model of StarPU (Augonnet et al. 2011). Copies are added as by `by_model`.
struct power_law {
  static constexpr std::string_view name = "power_law";
  bool operator==(power_law const&) const = default;

  struct fit {
    double a = 0, b = 0, c = 0;
    double seconds(double size) const noexcept { return a * std::pow(size, b) + c; }
  };
  /// The fit with the least sum of squared relative errors. For each b of a grid, a and c are
  /// linear in them.
  static fit fitted(std::vector<dispatch::knot> const& knots) {
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

  auto bound(dispatch::costs const& of) const {
    std::vector<fit> fits;
    for (auto const& each : of.paths()) {
      fits.push_back(each.wrong.empty() ? fitted(each.knots)
                                        : fit{.c = std::numeric_limits<double>::infinity()});
    }
    return [fits = std::move(fits), &of](dispatch::facts const& known) noexcept {
      double const size = std::max(1.0, static_cast<double>(known.amount.size));
      std::size_t chosen = of.best(known);
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
static_assert(dispatch::chooser<power_law>);

}  // namespace assay::examples
