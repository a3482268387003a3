// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where the callables of a comparison run, and the list of them.
#pragma once

#include <assay/callables/callable.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

class callable_support;

/// Where callables of one kind run, and how they are timed there.
struct callable_place {
  clock default_clock = clock::wall;
  int most_launches = 0;
  /// The share of a call's time that the placement of its buffers may be worth.
  double placement = 0;
  double short_placement = 0;  ///< the same of short calls, if it is more
  std::shared_ptr<callable_support const> (*make)(options const&) = nullptr;
};

/// The host, with the calling thread.
callable_place host_calls() noexcept;

struct variant;

/// One callable as a variant of its own, for `assay::serve`. No device is used until it is built.
/// It is timed by the clock that decides the epoch, else by that of the options.
variant variant_of(callable_place const& where, callables::erased_callable called, options chosen);

namespace detail {

/// The place of callables on streams; `<assay/compare.cuh>` defines that for `true`.
template <bool OnStream>
struct place_of;
template <>
struct place_of<false> {
  static callable_place get() noexcept { return host_calls(); }
};
template <bool OnStream>
inline constexpr bool is_supported = requires { place_of<OnStream>::get(); };

/// True if the work of a callable of any kind runs on a stream.
template <class F>
consteval bool on_stream() {
  return callables::runs_on_stream<callables::detail::named_type<F>>();
}

}  // namespace detail

/// The callables of one comparison, by name, all on the host or all on streams.
struct callable_list {
  callable_place place;
  std::vector<callables::erased_callable> entries;
  options chosen;
};

namespace detail {

template <bool OnStream>
callable_place supported_place() noexcept {
  static_assert(is_supported<OnStream>,
                "work on a stream needs <assay/compare.cuh>, in a file that nvcc compiles");
  if constexpr (is_supported<OnStream>) {
    return place_of<OnStream>::get();
  } else {
    return {};
  }
}

template <bool OnStream>
void gather(callable_list&) {}
template <bool OnStream>
void gather(callable_list& list, options chosen) {
  list.chosen = std::move(chosen);
}
template <bool OnStream, class F, class... Rest>
void gather(callable_list& list, std::string label, F callable, Rest... rest) {
  static_assert(on_stream<F>() == OnStream,
                "one comparison cannot hold work on the host against work on a stream: compare "
                "on the wall clock by making the host call enqueue and synchronise, or make "
                "both of one kind");
  list.entries.push_back(
      callables::erase(std::move(label), callables::detail::named(std::move(callable))));
  gather<OnStream>(list, std::move(rest)...);
}

}  // namespace detail

/// A callable of any kind as a variant; see `variant_of`. Needs `<assay/measure/subject.hpp>`.
template <class F>
auto callable_variant(std::string label, F callable, options chosen = {}) {
  return variant_of(
      detail::supported_place<detail::on_stream<F>()>(),
      callables::erase(std::move(label), callables::detail::named(std::move(callable))),
      std::move(chosen));
}

}  // namespace assay::measure
