// SPDX-License-Identifier: Apache-2.0
/// @file
/// The concept of a submission mode, and the probe that observes a batch.
#pragma once

#include <assay/core/policy.hpp>
#include <assay/submit/lane.hpp>

#include <concepts>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay {

namespace submit {

/// Host times of one batch, in seconds.
struct batch_times {
  double wall = 0;             ///< first submit until every lane has drained
  double submit_per_item = 0;  ///< host time per item as its thread saw it, mean over all items
};

/// Host times of one item, in nanoseconds.
struct item_times {
  double total = 0;  ///< from the request to submit until the item is enqueued
  double lock_wait =
      0;  ///< the part spent on waiting for the mutex, or for the submitter of a queue
};

/// A probe that observes nothing, at no cost. A type with the same members observes a batch.
///
/// The thread that submits to a lane calls `lane_begin` before the lane's first item and `lane_end`
/// after its last. If `per_item` is true, the thread that asked for an item calls `item` after it.
struct no_probe {
  static constexpr bool per_item = false;
  template <class Lane>
  void lane_begin(Lane&) const noexcept {}
  template <class Lane>
  void lane_end(Lane&) const noexcept {}
  template <class Lane>
  void item(Lane&, int /*item*/, item_times) const noexcept {}
};

/// An item that failed. The cause is nested in the exception (`std::rethrow_if_nested`).
class item_error : public std::runtime_error {
 public:
  item_error(int item, std::string const& why)
      : std::runtime_error("item " + std::to_string(item) + " failed: " + why), item_(item) {}
  int item() const noexcept { return item_; }

 private:
  int item_;
};

}  // namespace submit

/// A choice on the submission axis: the threads that submit a batch, and their order.
///
/// A batch has `batch_items()` items on `lanes()` lanes. `open(lanes)` starts the mode's threads
/// and returns a runner, which owns copies of the lanes. `runner.run(item, key, probe)` runs one
/// batch and returns `submit::batch_times`: the mode's threads call `item(lane, number)` for every
/// number in [0, batch_items()), and `run` blocks until every lane has drained. An item only
/// enqueues work. Batches with equal `key` have equal items, so that a mode may record them. The
/// first exception stops the batch. `run` rethrows it, nested in a `submit::item_error`, when all
/// threads have stopped and all lanes have drained. One thread at a time uses a runner. The
/// destructor joins the threads.
template <class M>
concept submission_mode = policy<M> && requires(M const& mode) {
  { mode.lanes() } -> std::same_as<int>;
  { mode.batch_items() } -> std::same_as<int>;
};

/// A mode that can run on lanes of this type. For instance, a graph needs capturable memory.
template <class M, class Lane>
concept submits_to = submission_mode<M> && requires(M const& mode, std::vector<Lane> lanes) {
  // An `open` that only explains a refusal returns void.
  { mode.open(lanes) } -> std::movable;
};

}  // namespace assay
