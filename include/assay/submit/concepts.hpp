// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a submission mode is, and what it tells those who watch it.
#pragma once

#include <assay/core/named.hpp>
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
  double total = 0;      ///< from asking to submit until the item is enqueued
  double lock_wait = 0;  ///< of that, waiting for the mutex, or for the submitter of a queue
};

/// Watches a batch; this one does not, at no cost. Another type with the same members is told:
/// `lane_begin` before a lane's first item and `lane_end` after its last, both on the thread that
/// submits to that lane; `item` after each item if `per_item`, on the thread that asked for it.
struct no_probe {
  static constexpr bool per_item = false;
  template <class Lane>
  void lane_begin(Lane&) const noexcept {}
  template <class Lane>
  void lane_end(Lane&) const noexcept {}
  template <class Lane>
  void item(Lane&, int /*item*/, item_times) const noexcept {}
};

/// An item that failed; the cause is nested in it (`std::rethrow_if_nested`).
class item_error : public std::runtime_error {
 public:
  item_error(int item, std::string const& why)
      : std::runtime_error("item " + std::to_string(item) + " failed: " + why), item_(item) {}
  int item() const noexcept { return item_; }

 private:
  int item_;
};

/// Stands in concept checks for an item: a callable that enqueues on the lane it is given.
template <class Lane>
struct any_item {
  void operator()(Lane&, int) const {}
};

}  // namespace submit

/// A choice on the submission axis: how host threads hand a batch of items to their lanes.
///
/// `lanes()` lanes are needed for `batch_items()` items. `open(lanes)` starts the mode's threads
/// and returns a runner, which owns the lanes' copies; `runner.run(item, key, probe)` runs one
/// batch: it calls `item(lane, number)` for every number in [0, batch_items()), from the mode's
/// threads, blocks until every lane has drained, and returns `submit::batch_times`. Each item
/// must only enqueue. `key` tells apart batches whose items differ (other buffers), for modes
/// that record them. The first exception stops the batch; once all threads have stopped and all
/// lanes have drained it is rethrown, nested in a `submit::item_error`. A runner is used by one
/// thread at a time; its destructor joins its threads.
template <class M>
concept submission_mode = policy<M> && requires(M const& mode) {
  { mode.lanes() } -> std::same_as<int>;
  { mode.batch_items() } -> std::same_as<int>;
};

/// Whether a mode can run on lanes of this type (a graph needs capturable memory, for instance).
template <class M, class Lane>
concept submits_to = submission_mode<M> && requires(M const& mode, std::vector<Lane> lanes) {
  // Not void, as of an `open` that is only there to say why it cannot.
  { mode.open(lanes) } -> std::movable;
};

}  // namespace assay
