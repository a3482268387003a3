// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: right values of several arrays by one function.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/arrays/right_values.hpp>

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

/// The elements of an array, and the type of their right values.
template <class View>
using viewed = std::remove_pointer_t<decltype(std::declval<View const&>().data())>;
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

/// Calls `make.expect` for each array of a tuple. `allowed` are the tolerances or rounding rules:
/// one for each array, one for all, or none.
template <class Setup, class... View, class F, class... Allowed>
void expect_jointly(Setup& make, std::tuple<View...> const& several, F f, Allowed... allowed) {
  constexpr bool fits = std::is_invocable_v<F const&, std::span<wanted_of<View>>...>;
  constexpr bool counts = sizeof...(Allowed) <= 1 || sizeof...(Allowed) == sizeof...(View);
  static_assert(fits,
                "setup.expect of several arrays needs a const callable that takes a "
                "std::span<double> for each of them, or a span of the array's own type where that "
                "is an integer");
  static_assert(counts,
                "setup.expect of several arrays takes a tolerance for each of them, one for all, "
                "or none");
  if constexpr (fits && counts) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      auto const joint = std::make_shared<joint_values<F, wanted_of<View>...>>(
          std::move(f), std::array{std::get<K>(several).size()...});
      auto const each = std::tuple{allowed...};
      auto const expect = [&]<std::size_t N>(auto const& array, right_values right,
                                             std::integral_constant<std::size_t, N>) {
        if constexpr (sizeof...(Allowed) == 0) {
          make.expect(array, std::move(right));
        } else {
          constexpr auto place = sizeof...(Allowed) == 1 ? 0 : N;
          make.expect(array, std::move(right), std::get<place>(each));
        }
      };
      (expect(std::get<K>(several),
              right_values{element_of<viewed<View>>, element_of<wanted_of<View>>,
                           right_values::form::whole,
                           [joint](std::size_t, std::size_t, void* wanted, double*) {
                             joint->template take<K>(wanted);
                           }},
              std::integral_constant<std::size_t, K>{}),
       ...);
    }(std::index_sequence_for<View...>{});
  }
}

}  // namespace assay::arrays::detail
