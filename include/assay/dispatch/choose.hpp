// SPDX-License-Identifier: Apache-2.0
/// @file
/// The choosers: policies that decide on which path a call runs.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/policy.hpp>
#include <assay/dispatch/costs.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

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

[[noreturn]] inline void refuse_wrong(costs const& of, std::size_t number) {
  auto const& each = of.paths()[number];
  throw std::invalid_argument(concat({each.where.describe(), " computes wrong results for ",
                                      of.task(), ", choose another path: ", each.wrong}));
}

inline std::size_t right_path(costs const& of, path const& wanted) {
  auto const index = of.index_of(wanted);
  if (!of.paths()[index].wrong.empty()) { refuse_wrong(of, index); }
  return index;
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
    return [most = size, low = detail::right_path(of, below), high = detail::right_path(of, from)](
               facts const& known) noexcept { return known.amount.size < most ? low : high; };
  }
};
static_assert(chooser<threshold>);

}  // namespace choose
}  // namespace assay::dispatch
