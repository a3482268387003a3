// SPDX-License-Identifier: Apache-2.0
/// @file
/// `threaded_runner`: threads that each submit their own items to a lane of their own.
#pragma once

#include <assay/core/range.hpp>
#include <assay/submit/batch.hpp>
#include <assay/submit/crew.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::submit {

/// Lets every thread submit at once.
struct open_gate {
  struct pass {};
  static constexpr bool waits = false;
  pass enter() const noexcept { return {}; }
};

/// Lets one thread submit at a time, as a library does that guards its submission by a mutex.
template <class Mutex>
class basic_mutex_gate {
 public:
  static constexpr bool waits = true;
  std::unique_lock<Mutex> enter() {
    range const waiting{"wait for the mutex"};
    return std::unique_lock{mutex_};
  }

 private:
  Mutex mutex_;
};
using mutex_gate = basic_mutex_gate<std::mutex>;

/// Thread t submits items [t * items, (t + 1) * items) to lane t, each through one gate, then
/// drains its lane. After a failure the runner can be used again, unless the device is lost.
template <any_lane Lane, class Gate>
class threaded_runner {
 public:
  threaded_runner(char const* name, std::vector<Lane> lanes, int items, bool sync_per_item)
      : name_(name),
        lanes_(std::move(lanes)),
        items_(items),
        sync_per_item_(sync_per_item),
        spans_(lanes_.size()),
        crew_(static_cast<int>(lanes_.size()), [this](int t) {
          stream_traits<typename Lane::stream_type>::bind_thread(
              lanes_[static_cast<std::size_t>(t)].place);
        }) {}

  /// See `submission_mode`. Of `submit_per_item`, `sync_per_item` and lock waiting are a part.
  template <class Item, class Probe = no_probe>
  batch_times run(Item&& item, std::uint64_t /*key*/ = 0, Probe&& probe = Probe{}) {
    range const scope{name_, category::cpu, lanes_.size() * static_cast<std::uint64_t>(items_)};
    failure failed;
    Gate gate;
    auto const began = crew_.run([&](int t) noexcept { submit_all(t, item, probe, gate, failed); });
    failed.rethrow();

    batch_times times;
    for (auto const& one : spans_) {
      times.wall = std::max(times.wall, seconds_between(began, one.drained));
      times.submit_per_item += seconds_between(one.begun, one.submitted);
    }
    times.submit_per_item /= static_cast<double>(spans_.size()) * items_;
    return times;
  }

  std::vector<Lane>& lanes() noexcept { return lanes_; }

 private:
  /// One thread's instants, on a cache line of their own.
  struct alignas(64) span {
    host_clock::time_point begun;
    host_clock::time_point submitted;
    host_clock::time_point drained;
  };

  template <class Item, class Probe>
  void submit_all(int t, Item& item, Probe& probe, Gate& gate, failure& failed) noexcept {
    auto const index = static_cast<std::size_t>(t);
    auto& lane = lanes_[index];
    auto& instants = spans_[index];
    int const first = t * items_;
    int const last = first + items_ - 1;
    bool const opened = failed.guard(first, [&] { probe.lane_begin(lane); });
    instants.begun = host_clock::now();
    for (int number = first; number <= last && !failed.stopped(); ++number) {
      failed.guard(number, [&] { submit_one(lane, number, item, probe, gate); });
    }
    instants.submitted = host_clock::now();
    if (opened) {
      failed.guard(last, [&] { probe.lane_end(lane); });
    }
    failed.guard(last, [&] { lane.synchronize(); }, while_draining);
    instants.drained = host_clock::now();
  }

  template <class Item, class Probe>
  void submit_one(Lane& lane, int number, Item& item, Probe& probe, Gate& gate) {
    range const scope{"item", category::cpu, static_cast<std::uint64_t>(number)};
    if constexpr (std::remove_cvref_t<Probe>::per_item) {
      auto const asked = host_clock::now();
      auto entered = asked;
      {
        [[maybe_unused]] auto const pass = gate.enter();
        if constexpr (Gate::waits) { entered = host_clock::now(); }
        item(lane, number);
        if (sync_per_item_) { lane.synchronize(); }
      }
      auto const done = host_clock::now();
      probe.item(lane, number,
                 item_times{nanoseconds_between(asked, done), nanoseconds_between(asked, entered)});
    } else {
      [[maybe_unused]] auto const pass = gate.enter();
      item(lane, number);
      if (sync_per_item_) { lane.synchronize(); }
    }
  }

  char const* name_;
  std::vector<Lane> lanes_;
  int items_;
  bool sync_per_item_;
  std::vector<span> spans_;
  crew crew_;  // last: its threads stop before what they use goes
};

}  // namespace assay::submit
