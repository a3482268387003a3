// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a workload is: what it computes, what that must cost, and how its result is checked.
#pragma once

#include <assay/core/named.hpp>
#include <assay/submit/lane.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// What one item must move and do, whatever the implementation; reports divide it by time.
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

/// Why a result is wrong (which element, what it is, what it should be); nothing when it is right.
using mismatch = std::optional<std::string>;

/// What `prepare` of a workload returns. (Not spelled inside the concept: nvcc 13.0 aborts on a
/// requires-expression whose parameter's type names another of its parameters.)
template <class W, class Lane>
using prepared_state = decltype(std::declval<W const&>().prepare(std::declval<Lane&>(), 1));

/// Work that can be measured on lanes of type `Lane`.
///
/// `prepare(lane, lanes)` makes what every item uses - resident inputs, and one output for each of
/// `lanes` lanes - untimed and complete on return, and returns it as a movable state. Inputs are
/// the same for equal workloads (seeded), their addresses need not be. `enqueue(lane, state)`
/// submits one item to the lane and does not block: it reads the inputs, writes output
/// `lane.index`, and takes temporaries from `lane.memory`, given back before it returns.
/// `poison(state)` overwrites all outputs with a pattern that no correct result has;
/// `verify(state)` compares every element of every output with a float64 reference. Both block
/// until done; the caller has drained all lanes. `item_traffic()` counts one item.
template <class W, class Lane>
concept workload_on = policy<W> && requires(W const& work, Lane& where) {
  work.prepare(where, 1);
  { work.item_traffic() } -> std::same_as<traffic>;
} && requires(W const& work, Lane& where, prepared_state<W, Lane>& state) {
  work.enqueue(where, state);
  work.poison(state);
  { work.verify(state) } -> std::same_as<mismatch>;
};

}  // namespace assay
