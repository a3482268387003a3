// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verify(factory)` for work on the host: is it right, at many sizes and values?
#pragma once

#include <assay/callables/callable.hpp>
#include <assay/verify/options.hpp>
#include <assay/verify/verification.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace assay {

namespace verify_detail {

/// The host.
place host_calls() noexcept;

/// The place of work; `<assay/verify.cuh>` defines that of work on streams.
template <bool OnStream>
struct place_of;
template <>
struct place_of<false> {
  static place get() noexcept { return host_calls(); }
};

/// The number of extents that F takes behind the setup; `shape::most + 1` if it takes no setup.
template <class F>
consteval std::size_t rank_of() {
  using n = std::size_t;
  return std::is_invocable_v<F&, setup&>               ? 0
         : std::is_invocable_v<F&, setup&, n>          ? 1
         : std::is_invocable_v<F&, setup&, n, n>       ? 2
         : std::is_invocable_v<F&, setup&, n, n, n>    ? 3
         : std::is_invocable_v<F&, setup&, n, n, n, n> ? 4
                                                       : shape::most + 1;
}

/// Calls a factory with the extents of a shape.
template <std::size_t... I, class F>
decltype(auto) call_with(F& make, setup& with, [[maybe_unused]] shape const& of,
                         std::index_sequence<I...>) {
  return make(with, of[I]...);
}

verification verify_factory(factory const& of, place where, verify_options const& chosen);

}  // namespace verify_detail

/// Runs the work of a factory at many sizes and values, and holds its results against what is
/// right. For unit tests: the result converts to `bool`, and `<<` prints what is wrong.
///
/// A factory takes `assay::setup&` and up to four extents: `(setup&, n)`, `(setup&, rows, columns)`
/// and so on. It declares arrays, says what is right by `expect`, and returns `void()`, or
/// `void(cudaStream_t)` with `<assay/verify.cuh>`. It is called anew for each size and each kind of
/// values.
///
/// The sizes, values and their order are the same on all machines: docs/unit-tests.md lists them.
/// Arrays lie between red zones. Outputs and scratch memory are poisoned, each call is made twice
/// with two kinds of poison and must give the same bits, and inputs must stay as they are.
///
/// Ends at the first failure, after a search for a smaller size that fails. Blocks until done.
/// Throws `std::invalid_argument` for a factory without `expect`, for sizes that no rule allows and
/// for a missing device. What the factory or its work throws is a failure of that size.
template <class F>
verification verify(F make, verify_options const& chosen = {}) {
  constexpr auto rank = verify_detail::rank_of<F>();
  static_assert(rank <= shape::most,
                "verify takes a factory: a function of assay::setup& and of up to four extents "
                "of type std::size_t, which returns void() or void(cudaStream_t)");
  if constexpr (rank <= shape::most) {
    using extents = std::make_index_sequence<rank>;
    using result =
        decltype(verify_detail::call_with(make, std::declval<setup&>(), shape{}, extents{}));
    static_assert(!std::is_void_v<result>,
                  "verify: the factory returns the work to check: void() or void(cudaStream_t)");
    if constexpr (!std::is_void_v<result>) {
      constexpr auto kind = callables::detail::named_type<result>::kind;
      static_assert(kind != callables::callable_kind::factory,
                    "verify: a factory cannot return another factory");
      constexpr bool on_stream = kind == callables::callable_kind::launch;
      static_assert(
          !on_stream || requires { verify_detail::place_of<on_stream>::get(); },
          "verify: work on a stream needs <assay/verify.cuh>, in a file that nvcc "
          "compiles");
      if constexpr (requires { verify_detail::place_of<on_stream>::get(); }) {
        return verify_detail::verify_factory(
            {rank,
             [make = std::move(make)](setup& with, shape const& of) mutable {
               return callables::detail::made_work(
                   verify_detail::call_with(make, with, of, extents{}), with);
             }},
            verify_detail::place_of<on_stream>::get(), chosen);
      }
    }
  }
  return {};
}

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/verify_definitions.hpp>
#endif
