// SPDX-License-Identifier: Apache-2.0
/// @file
/// `task`: a user's struct that can run on several paths.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>
#include <assay/dispatch/facts.hpp>
#include <assay/dispatch/path.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

/// The type behind CUDA's `cudaStream_t`: this header needs no toolkit.
struct CUstream_st;

namespace assay::dispatch {

/// The type that CUDA calls `cudaStream_t`.
using native_stream = CUstream_st*;

/// An array of a task in the caller's memory.
template <class T>
struct task_array {
  std::span<T> data;
  direction way = direction::in;
};

/// An array that a call reads.
template <class R>
auto in(R const& data) {
  std::span const all{data};
  return task_array<typename decltype(all)::value_type const>{all, direction::in};
}
/// An array that a call writes.
template <class T, std::size_t N>
task_array<T> out(std::span<T, N> data) {
  return {data, direction::out};
}
/// An array that a call reads and writes.
template <class T, std::size_t N>
task_array<T> inout(std::span<T, N> data) {
  return {data, direction::inout};
}

namespace detail {

template <class T, class Arrays>
struct arrays_of_task {
  static constexpr bool are_arrays = false;
  static constexpr bool run_on_host = false;
  static constexpr bool run_on_device = false;
};
template <class T, class... E>
struct arrays_of_task<T, std::tuple<task_array<E>...>> {
  static constexpr bool are_arrays = sizeof...(E) <= facts::max_arrays;
  static constexpr bool run_on_host =
      requires(T const& task, E*... pointers) { task.run(on::host{}, pointers...); };
  static constexpr bool run_on_device = requires(T const& task, native_stream stream,
                                                 E*... pointers) { task.run(stream, pointers...); };
};

}  // namespace detail

/// `dispatch::work work() const`.
template <class T>
concept has_work = requires(T const& task) {
  { task.work() } -> std::convertible_to<work>;
};
/// `auto arrays() const`, a `std::tuple` of at most 8 results of `in`, `out` and `inout`.
template <class T>
concept has_arrays =
    detail::arrays_of_task<T, decltype(std::declval<T const&>().arrays())>::are_arrays;
/// `void run(on::host, pointers...) const`, with a pointer for each array, in their order.
template <class T>
concept has_host_run =
    detail::arrays_of_task<T, decltype(std::declval<T const&>().arrays())>::run_on_host;

/// `void run(cudaStream_t, pointers...) const`, with a pointer for each array, in their order.
template <class T>
concept has_device_run =
    detail::arrays_of_task<T, decltype(std::declval<T const&>().arrays())>::run_on_device;

/// A struct with `static constexpr std::string_view name`, `work()`, `arrays()` and `run(...)`.
/// The arrays must outlive each call; `run` returns when the work is done. A second
/// `run(cudaStream_t, pointers...)` makes the task one for devices too: `run` then enqueues the
/// work on the stream and does not wait. All its pointers are valid on the device.
template <class T>
concept task = named<T> && has_work<T> && has_arrays<T> && has_host_run<T>;

/// A task that depends on a library, such as a BLAS, may say which: `static std::string_view
/// library()`. Costs of another library are then refused.
template <class T>
concept has_library = requires {
  { T::library() } -> std::convertible_to<std::string_view>;
};

/// The message for a device path of a task without a second `run`.
inline std::string no_device_run(std::string_view task, path const& where) {
  return concat({task, " cannot run on ", where.describe(),
                 ": it has no run(cudaStream_t, pointers...) const with a pointer for each array"});
}

/// The paths of a calibration on one device; <assay/dispatch/device.hpp> defines the class.
template <task T>
class device_paths;

/// Runs the task on the host, on the caller's own arrays.
template <task T>
void run_on_host(T const& each, on::host where) {
  std::apply([&](auto const&... arrays) { each.run(where, arrays.data.data()...); }, each.arrays());
}

/// The facts of a call on arrays in pageable memory of the host. Throws as `require_work`.
template <task T>
facts facts_of(T const& each) {
  facts known{.amount = each.work()};
  require_work(T::name, known.amount);
  std::apply(
      [&](auto const&... arrays) {
        ((known.arrays[known.count++] = {.bytes = static_cast<double>(arrays.data.size_bytes()),
                                         .way = arrays.way}),
         ...);
      },
      each.arrays());
  return known;
}

}  // namespace assay::dispatch
