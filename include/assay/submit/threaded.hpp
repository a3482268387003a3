// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::sequential`, `submit::concurrent` and `submit::serialized`: each thread submits to a
/// lane of its own.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/submit/batch.hpp>
#include <assay/submit/thread_team.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::submit {

/// Lets every thread submit at once.
struct no_lock {
  struct held {};
  static constexpr std::string_view mode = "submit::concurrent";
  static constexpr bool waits = false;
  held enter() const noexcept { return {}; }
};

/// Lets one thread submit at a time, as a library with a mutex around its submission does.
class mutex_lock {
 public:
  static constexpr std::string_view mode = "submit::serialized";
  static constexpr bool waits = true;
  std::unique_lock<std::mutex> enter() {
    nvtx_range const waiting{"wait for the mutex"};
    return std::unique_lock{mutex_};
  }

 private:
  std::mutex mutex_;
};

/// What a batch does on a lane, by the number of the lane: the types of lanes, items and probes do
/// not count here, so that the threads of all batches are compiled once.
struct lane_calls {
  void* batch;
  void (*begin)(void* batch, std::size_t lane);
  void (*item)(void* batch, std::size_t lane, int number);
  void (*end)(void* batch, std::size_t lane);
  void (*synchronize)(void* batch, std::size_t lane);
  /// Takes the times of an item; null where nothing watches them.
  void (*times)(void* batch, std::size_t lane, int number, item_times) = nullptr;
};

/// Threads that submit batches: thread t submits items [t * items, (t + 1) * items) to lane t and
/// then drains that lane.
class submitting_threads {
 public:
  /// `waits`: a thread holds a `mutex_lock`, one for all threads, while it submits an item.
  submitting_threads(char const* name, int threads, int items, bool sync_per_item, bool waits,
                     thread_team::work_of_thread bind);

  /// See `submission_mode`. An item costs one call through a pointer.
  batch_times run(lane_calls const& calls);

 private:
  /// The instants of one thread in a batch, on a cache line of their own.
  struct alignas(64) instants {
    host_clock::time_point begun;
    host_clock::time_point submitted;
    host_clock::time_point drained;
  };
  struct batch;
  void submit_all(std::size_t t, batch& now) noexcept;
  void submit_one(std::size_t t, int number, batch& now);

  char const* name_;
  int items_;
  bool sync_per_item_;
  bool waits_;
  std::vector<instants> instants_;
  thread_team team_;  // last, so that the threads stop before the other members are destroyed
};

/// Thread t submits to lane t of `lanes`. After a failure the runner can be used again, unless the
/// device is lost.
template <any_lane Lane, class Lock>
class threaded_runner {
 public:
  threaded_runner(char const* name, std::vector<Lane> lanes, int items, bool sync_per_item)
      : lanes_(std::move(lanes)),
        threads_(name, static_cast<int>(lanes_.size()), items, sync_per_item, Lock::waits,
                 [this](int t) {
                   stream_traits<typename Lane::stream_type>::bind_thread(
                       lanes_[static_cast<std::size_t>(t)].place);
                 }) {}

  /// See `submission_mode`. `submit_per_item` includes the wait for the lock and `sync_per_item`.
  template <class Item, class Probe = no_probe>
  batch_times run(Item&& item, std::uint64_t /*key*/ = 0, Probe&& probe = Probe{}) {
    using batch = batch_on_lanes<std::remove_reference_t<Item>, std::remove_reference_t<Probe>>;
    batch now{lanes_.data(), item, probe};
    lane_calls calls{&now, &batch::begin, &batch::item, &batch::end, &batch::synchronize};
    if constexpr (std::remove_cvref_t<Probe>::per_item) { calls.times = &batch::times; }
    return threads_.run(calls);
  }

  std::vector<Lane>& lanes() noexcept { return lanes_; }

 private:
  template <class Item, class Probe>
  struct batch_on_lanes {
    Lane* lanes;
    Item& submit;
    Probe& probe;

    static batch_on_lanes& of(void* it) { return *static_cast<batch_on_lanes*>(it); }
    static void begin(void* it, std::size_t t) { of(it).probe.lane_begin(of(it).lanes[t]); }
    static void item(void* it, std::size_t t, int number) {
      of(it).submit(of(it).lanes[t], number);
    }
    static void end(void* it, std::size_t t) { of(it).probe.lane_end(of(it).lanes[t]); }
    static void synchronize(void* it, std::size_t t) { of(it).lanes[t].synchronize(); }
    static void times(void* it, std::size_t t, int number, item_times taken) {
      of(it).probe.item(of(it).lanes[t], number, taken);
    }
  };

  std::vector<Lane> lanes_;
  submitting_threads threads_;  // last: threads end before the lanes that they use
};

/// One thread submits all items to one lane, in order.
struct sequential {
  int items = 100;
  bool sync_per_item = false;  ///< synchronise with the lane after each item

  static constexpr std::string_view name = "submit::sequential";
  std::string describe() const {
    return std::string{name} + "{items=" + std::to_string(items) +
           (sync_per_item ? ", sync_per_item}" : "}");
  }
  int lanes() const noexcept { return 1; }
  int batch_items() const noexcept { return items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <any_lane Lane>
  threaded_runner<Lane, no_lock> open(std::vector<Lane> lanes) const {
    require_batch(name, 1, items, lanes.size());
    return {name.data(), std::move(lanes), items, sync_per_item};
  }

  bool operator==(sequential const&) const = default;
};
static_assert(submission_mode<sequential>);

/// Each thread submits its own items to its own lane, under a lock of this type.
template <class Lock>
struct threaded {
  int threads = 4;
  int items = 100;             ///< of each thread
  bool sync_per_item = false;  ///< synchronise with the lane after each item, the lock still held

  static constexpr std::string_view name = Lock::mode;
  std::string describe() const { return describe_batch(name, threads, items, sync_per_item); }
  int lanes() const noexcept { return threads; }
  int batch_items() const noexcept { return threads * items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <any_lane Lane>
  threaded_runner<Lane, Lock> open(std::vector<Lane> lanes) const {
    require_batch(name, threads, items, lanes.size());
    return {name.data(), std::move(lanes), items, sync_per_item};
  }

  bool operator==(threaded const&) const = default;
};

/// The threads submit at the same time. They contend only in the driver and in the memory resource.
using concurrent = threaded<no_lock>;
static_assert(submission_mode<concurrent>);

/// The threads submit each item under one mutex. The time of an item includes its wait for the
/// mutex, which `lock_wait` tells apart.
using serialized = threaded<mutex_lock>;
static_assert(submission_mode<serialized>);

}  // namespace assay::submit

#ifndef ASSAY_DECLARED
#include <assay/submit/threaded_definitions.hpp>
#endif
