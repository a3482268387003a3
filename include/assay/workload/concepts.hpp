// SPDX-License-Identifier: Apache-2.0
/// @file
/// The contract of a workload: its computation, the least cost of that, and the check of its
/// result.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>
#include <assay/submit/lane.hpp>

#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace assay {

class setup;

/// The bytes and FLOPs of one item, whatever the implementation. Reports divide them by time.
struct traffic {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;
  double to_device_bytes = 0;  ///< over the link, where a transfer carries the item's arrays
  double to_host_bytes = 0;
  constexpr double bytes() const noexcept { return bytes_read + bytes_written; }
  constexpr traffic operator+(traffic const& other) const noexcept {
    return {bytes_read + other.bytes_read, bytes_written + other.bytes_written, flops + other.flops,
            to_device_bytes + other.to_device_bytes, to_host_bytes + other.to_host_bytes};
  }
  constexpr traffic operator*(double times) const noexcept {
    return {bytes_read * times, bytes_written * times, flops * times, to_device_bytes * times,
            to_host_bytes * times};
  }
  bool operator==(traffic const&) const = default;
};

/// The reason why a result is wrong, with the element, its value and the expected value. Nothing
/// when the result is right.
using mismatch = std::optional<std::string>;

/// A choice on an axis that a workload brings, such as a precision: a policy that also has
/// `static constexpr std::string_view axis`, the name of that axis in reports.
template <class P>
concept workload_policy = policy<P> && requires {
  { P::axis } -> std::convertible_to<std::string_view>;
};

/// A workload with an axis of its own, on which `P` is a choice: `work.with(choice)` returns a copy
/// that differs in that choice alone.
template <class W, class P>
concept takes_policy = workload_policy<P> && requires(W const& work, P const& choice) {
  { work.with(choice) } -> policy;
};

namespace workloads {

/// The choices of a workload on its own axes, as a tuple: what its `axes()` returns, else empty.
template <class Work>
auto own_choices(Work const& work) {
  if constexpr (requires { work.axes(); }) {
    return work.axes();
  } else {
    return std::tuple<>{};
  }
}

/// The declared arrays that `Work::arrays(setup&)` returns and `run_on` takes.
template <class Work>
using arrays_of = decltype(std::declval<Work const&>().arrays(std::declval<setup&>()));

/// A workload that keeps a handle for each lane, such as a plan of a library: `make_handle(place,
/// work, arrays)` makes it, untimed, and `run_on(lane, work, arrays, handle)` uses it.
template <class Work, class Place>
concept keeps_handles = requires(Place const& place, Work const& work, arrays_of<Work> const& all) {
  make_handle(place, work, all);
};

/// A workload that declares its arrays and runs on such lanes.
template <class Work, class Lane>
concept declares_arrays = requires(Lane& where, Work const& work, arrays_of<Work> const& all) {
  run_on(where, work, all);
} || keeps_handles<Work, typename Lane::place_type>;

/// A workload that makes its state by itself.
template <class Work, class Lane>
concept makes_state = requires(Work const& work, Lane& where) { work.prepare(where, 1); };

/// Selects the generic `prepare_on`, which `array_workload.hpp` and `.cuh` define for their places.
struct by_arrays {};

/// Makes what all items use, for `lanes` lanes: untimed and complete on return. Throws
/// `std::invalid_argument` where the workload or the number of lanes is not possible.
template <class Work, class Lane>
requires makes_state<Work, Lane> || declares_arrays<Work, Lane>
auto prepare(Work const& work, Lane& where, int lanes) {
  if constexpr (makes_state<Work, Lane>) {
    return work.prepare(where, lanes);
  } else {
    return prepare_on(by_arrays{}, where, work, lanes);
  }
}

/// Submits one item to a lane, and does not block.
template <class Work, class Lane, class State>
void enqueue(Work const& work, Lane& where, State& state) {
  if constexpr (makes_state<Work, Lane>) {
    work.enqueue(where, state);
  } else {
    state.run(where, work);
  }
}

/// Overwrites all outputs with a pattern that is unlikely as a result, NaN for floating-point
/// types, and waits until it is done.
template <class Work, class State>
void poison(Work const& work, State& state) {
  if constexpr (requires { work.poison(state); }) {
    work.poison(state);
  } else {
    state.poison();
  }
}

/// Compares the outputs of one item on each lane with the reference. The caller has drained all
/// lanes.
template <class Work, class State>
mismatch verify(Work const& work, State& state) {
  if constexpr (requires { work.verify(state); }) {
    return work.verify(state);
  } else {
    return state.verify();
  }
}

/// True if items change their inputs, so that `state.restore()` is due before each batch.
template <class State>
bool has_state(State const& state) {
  if constexpr (requires { state.has_state(); }) {
    return state.has_state();
  } else {
    return false;
  }
}

/// The reason why `work` cannot run with a copy strategy on a device, in one line that names the
/// strategy. Nothing if device and compiled code have the instructions and enough shared memory.
///
/// The `require_on(place, work, strategy)` of a workload throws `std::invalid_argument` with that
/// reason. A rig with such a pipeline throws the same.
template <class Work, copy_strategy Strategy>
std::optional<std::string> why_unsupported(on::device place, Work const& work, Strategy how) {
  try {
    require_on(place, work, how);
  } catch (std::invalid_argument const& error) { return error.what(); }
  return {};
}

}  // namespace workloads

/// The state that `workloads::prepare` returns. (Not spelled inside the concept: nvcc 13.0 aborts
/// on a requires-expression with a parameter type that names another parameter.)
template <class W, class Lane>
using prepared_state =
    decltype(workloads::prepare(std::declval<W const&>(), std::declval<Lane&>(), 1));

/// Work that can be measured on lanes of type `Lane`.
///
/// A workload either declares its arrays (`workload/array_workload.hpp`), or it has `prepare(lane,
/// lanes)`, which returns a movable state, and `enqueue(lane, state)`, `poison(state)` and
/// `verify(state)`, which do what the functions above say. Inputs are the same for equal workloads
/// (seeded); their addresses need not be. An item reads the inputs and writes the output of
/// `lane.index`. It takes temporaries from `lane.memory`, and gives them back before `enqueue`
/// returns. `item_traffic()` counts one item.
///
/// A workload may bring axes of its own: `axes()` returns its choices as a tuple of
/// `workload_policy`, and it has `with(choice)` for each of them. Its `describe()` leaves them out.
template <class W, class Lane>
concept workload_on = policy<W> && requires(W const& work, Lane& where) {
  workloads::prepare(work, where, 1);
  { work.item_traffic() } -> std::same_as<traffic>;
} && requires(W const& work, Lane& where, prepared_state<W, Lane>& state) {
  workloads::enqueue(work, where, state);
  workloads::poison(work, state);
  { workloads::verify(work, state) } -> std::same_as<mismatch>;
};

}  // namespace assay
