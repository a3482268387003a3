// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::sequential`, `submit::concurrent` and `submit::serialized`: each thread submits to a
/// lane of its own.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/submit/batch.hpp>
#include <assay/submit/thread_team.hpp>

#include <algorithm>
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

/// The instants of one thread in a batch, on a cache line of their own.
struct alignas(64) thread_instants {
  host_clock::time_point begun;
  host_clock::time_point submitted;
  host_clock::time_point drained;
};

/// Thread t submits items [t * items, (t + 1) * items) to lane t and then drains its lane. A thread
/// holds the lock, one for all threads, while it submits an item. After a failure the runner can be
/// used again, unless the device is lost.
template <any_lane Lane, class Lock>
class threaded_runner {
 public:
  threaded_runner(char const* name, std::vector<Lane> lanes, int items, bool sync_per_item)
      : name_(name),
        lanes_(std::move(lanes)),
        items_(items),
        sync_per_item_(sync_per_item),
        instants_(lanes_.size()),
        team_(static_cast<int>(lanes_.size()), [this](int t) {
          stream_traits<typename Lane::stream_type>::bind_thread(
              lanes_[static_cast<std::size_t>(t)].place);
        }) {}

  /// See `submission_mode`. `submit_per_item` includes the wait for the lock and `sync_per_item`.
  template <class Item, class Probe = no_probe>
  batch_times run(Item&& item, std::uint64_t /*key*/ = 0, Probe&& probe = Probe{}) {
    nvtx_range const scope{name_, category::cpu,
                           lanes_.size() * static_cast<std::uint64_t>(items_)};
    failure failed;
    Lock lock;
    auto const began = team_.run([&](int t) noexcept { submit_all(t, item, probe, lock, failed); });
    failed.rethrow();

    batch_times times;
    for (auto const& one : instants_) {
      times.wall = std::max(times.wall, seconds_between(began, one.drained));
      times.submit_per_item += seconds_between(one.begun, one.submitted);
    }
    times.submit_per_item /= static_cast<double>(instants_.size()) * items_;
    return times;
  }

  std::vector<Lane>& lanes() noexcept { return lanes_; }

 private:
  template <class Item, class Probe>
  void submit_all(int t, Item& item, Probe& probe, Lock& lock, failure& failed) noexcept {
    auto const index = static_cast<std::size_t>(t);
    auto& lane = lanes_[index];
    auto& instants = instants_[index];
    int const first = t * items_;
    int const last = first + items_ - 1;
    bool const opened = failed.guard(first, [&] { probe.lane_begin(lane); });
    instants.begun = host_clock::now();
    for (int number = first; number <= last && !failed.stopped(); ++number) {
      failed.guard(number, [&] { submit_one(lane, number, item, probe, lock); });
    }
    instants.submitted = host_clock::now();
    if (opened) {
      failed.guard(last, [&] { probe.lane_end(lane); });
    }
    failed.guard(last, [&] { lane.synchronize(); }, while_draining);
    instants.drained = host_clock::now();
  }

  template <class Item, class Probe>
  void submit_one(Lane& lane, int number, Item& item, Probe& probe, Lock& lock) {
    nvtx_range const scope{"item", category::cpu, static_cast<std::uint64_t>(number)};
    if constexpr (std::remove_cvref_t<Probe>::per_item) {
      auto const asked = host_clock::now();
      auto entered = asked;
      {
        [[maybe_unused]] auto const held = lock.enter();
        if constexpr (Lock::waits) { entered = host_clock::now(); }
        item(lane, number);
        if (sync_per_item_) { lane.synchronize(); }
      }
      auto const done = host_clock::now();
      probe.item(lane, number,
                 item_times{nanoseconds_between(asked, done), nanoseconds_between(asked, entered)});
    } else {
      [[maybe_unused]] auto const held = lock.enter();
      item(lane, number);
      if (sync_per_item_) { lane.synchronize(); }
    }
  }

  char const* name_;
  std::vector<Lane> lanes_;
  int items_;
  bool sync_per_item_;
  std::vector<thread_instants> instants_;
  thread_team team_;  // last, so that the threads stop before the other members are destroyed
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
