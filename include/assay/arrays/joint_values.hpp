// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: right values of several arrays by one function.
#pragma once

#include <assay/arrays/array_view.hpp>
#include <assay/arrays/element.hpp>
#include <assay/arrays/right_values.hpp>
#include <assay/arrays/sampled.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::arrays::detail {

/// The type of right values of an array.
template <class View>
using wanted_of = std::conditional_t<std::is_integral_v<viewed<View>>, viewed<View>, double>;

/// True for functions that compute some elements without computing all.
template <class View, class F>
inline constexpr bool is_by_element =
    std::is_invocable_v<F const&, std::size_t> ||
    std::is_invocable_v<F const&, std::size_t, std::size_t> ||
    std::is_invocable_v<F const&, std::size_t, std::span<wanted_of<View>>, std::span<double>>;

/// A function that writes the right values of several arrays, and what it wrote until each array
/// has taken its own.
template <class F, class... Wanted>
class joint_values {
 public:
  joint_values(F f, std::array<std::size_t, sizeof...(Wanted)> sizes)
      : f_(std::move(f)), sizes_(sizes) {}

  /// Runs the function, unless it ran for another array and these values were not taken yet.
  template <std::size_t K>
  void take(void* to) {
    if (!there_[K]) { run(std::index_sequence_for<Wanted...>{}); }
    auto const values = std::exchange(std::get<K>(values_), {});
    there_[K] = false;
    if (!values.empty()) { std::memcpy(to, values.data(), std::span{values}.size_bytes()); }
  }

 private:
  template <std::size_t... K>
  void run(std::index_sequence<K...>) {
    std::tuple made{std::vector<Wanted>(sizes_[K])...};
    std::as_const(f_)(std::span{std::get<K>(made)}...);
    values_ = std::move(made);
    there_.fill(true);
  }

  F f_;
  std::array<std::size_t, sizeof...(Wanted)> sizes_;
  std::tuple<std::vector<Wanted>...> values_;
  std::array<bool, sizeof...(Wanted)> there_{};
};

/// Calls `make.expect` for each array of a tuple. `how` are the tolerances or rounding rules, one
/// for each array, one for all, or none, and at last the sample, if any.
template <class Setup, class... View, class F, class... How>
void expect_jointly(Setup& make, std::tuple<View...> const& several, F f, How... how) {
  constexpr bool by_index = std::is_invocable_v<F const&, std::size_t>;
  constexpr bool by_element = by_index || std::is_invocable_v<F const&, std::size_t, std::size_t>;
  constexpr std::size_t samples = (std::size_t{std::is_same_v<How, sampled>} + ... + 0);
  constexpr auto tolerances = sizeof...(How) - samples;
  constexpr bool fits = std::is_invocable_v<F const&, std::span<wanted_of<View>>...>;
  constexpr bool counts = tolerances <= 1 || tolerances == sizeof...(View);
  static_assert(fits || by_element,
                "setup.expect of several arrays needs a const callable that takes a "
                "std::span<double> for each of them, or a span of the array's own type where that "
                "is an integer; or f(i) or f(row, column) that returns a tuple");
  static_assert(samples == 0 || by_element,
                "setup.expect computes samples of several arrays one element at a time: it needs "
                "f(i) or f(row, column) that returns a tuple of an element of each array");
  static_assert(counts,
                "setup.expect of several arrays takes a tolerance for each of them, one for all, "
                "or none, and then a sample or none");
  if constexpr ((by_element || (fits && samples == 0)) && counts) {
    auto const all = std::tuple{how...};
    auto const expect = [&]<std::size_t K>(std::integral_constant<std::size_t, K>, auto right) {
      auto const& array = std::get<K>(several);
      auto const with = [&](auto... allowed) {
        if constexpr (samples == 0) {
          make.expect(array, std::move(right), allowed...);
        } else {
          make.expect(array, std::move(right), allowed..., std::get<tolerances>(all));
        }
      };
      if constexpr (tolerances == 0) {
        with();
      } else {
        with(std::get < tolerances == 1 ? 0 : K > (all));
      }
    };
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      if constexpr (by_index) {
        (expect(std::integral_constant<std::size_t, K>{},
                [f](std::size_t i) { return std::get<K>(f(i)); }),
         ...);
      } else if constexpr (by_element) {
        (expect(std::integral_constant<std::size_t, K>{},
                [f](std::size_t row, std::size_t column) { return std::get<K>(f(row, column)); }),
         ...);
      } else {
        auto const joint = std::make_shared<joint_values<F, wanted_of<View>...>>(
            std::move(f), std::array{std::get<K>(several).size()...});
        (expect(std::integral_constant<std::size_t, K>{},
                right_values{element_of<viewed<View>>, element_of<wanted_of<View>>,
                             right_values::form::whole,
                             [joint](std::size_t, std::size_t, void* wanted, double*) {
                               joint->template take<K>(wanted);
                             }}),
         ...);
      }
    }(std::index_sequence_for<View...>{});
  }
}

}  // namespace assay::arrays::detail
