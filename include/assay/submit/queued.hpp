// SPDX-License-Identifier: Apache-2.0
/// @file
/// `submit::queued`: threads send their items to one submitter through a lock-free queue.
#pragma once

#include <assay/core/mpsc_queue.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/submit/batch.hpp>
#include <assay/submit/thread_team.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::submit {

/// Threads 0 .. lanes - 1 put requests for their items into a queue. One more thread, the
/// submitter, submits the items in the order of the queue. After a failure the runner can be used
/// again, unless the device is lost.
template <any_lane Lane>
class queued_runner {
 public:
  queued_runner(std::vector<Lane> lanes, int items, bool sync_per_item, int capacity)
      : lanes_(std::move(lanes)),
        items_(items),
        sync_per_item_(sync_per_item),
        askers_(lanes_.size()),
        queue_(std::make_unique<mpsc_queue<request>>(static_cast<std::size_t>(capacity))),
        team_(static_cast<int>(lanes_.size()) + 1, [this](int t) {
          // The last thread is the submitter. All lanes are at one place.
          auto const index = std::min(static_cast<std::size_t>(t), lanes_.size() - 1);
          stream_traits<typename Lane::stream_type>::bind_thread(lanes_[index].place);
        }) {}

  /// See `submission_mode`. `submit_per_item` ends when the request is in the queue.
  /// `item_times::total` ends when the item is submitted, and `lock_wait` when the submitter takes
  /// the request.
  template <class Item, class Probe = no_probe>
  batch_times run(Item&& item, std::uint64_t /*key*/ = 0, Probe&& probe = Probe{}) {
    auto const total = lanes_.size() * static_cast<std::size_t>(items_);
    nvtx_range const scope{"submit::queued", category::cpu, total};
    if constexpr (std::remove_cvref_t<Probe>::per_item) { stamps_.resize(total); }
    submitted_.assign(lanes_.size(), 0);
    open_.assign(lanes_.size(), false);
    failure failed;
    std::atomic<int> finished = 0;
    auto const began = team_.run([&](int t) noexcept {
      if (static_cast<std::size_t>(t) == lanes_.size()) {
        submit_all(item, probe, failed);
        finished.store(1, std::memory_order_release);
        finished.notify_all();
      } else {
        ask_all(t, probe, failed, finished);
      }
    });
    while (queue_->try_pop()) {}  // requests of a batch that failed
    failed.rethrow();

    batch_times times;
    times.wall = seconds_between(began, drained_);
    for (auto const& one : askers_) {
      times.submit_per_item += seconds_between(one.begun, one.done);
    }
    times.submit_per_item /= static_cast<double>(total);
    return times;
  }

 private:
  struct request {
    int lane;
    int number;
  };
  struct alignas(64) span {
    host_clock::time_point begun;
    host_clock::time_point done;
  };
  /// The instants of one item: the request, its arrival at the submitter, and the end of the
  /// submission.
  struct stamps {
    host_clock::time_point asked;
    host_clock::time_point taken;
    host_clock::time_point submitted;
  };

  template <class Probe>
  void ask_all(int t, Probe& probe, failure& failed, std::atomic<int> const& finished) noexcept {
    constexpr bool per_item = std::remove_cvref_t<Probe>::per_item;
    auto& instants = askers_[static_cast<std::size_t>(t)];
    int const first = t * items_;
    instants.begun = host_clock::now();
    for (int number = first; number < first + items_ && !failed.stopped(); ++number) {
      nvtx_range const scope{"ask", category::cpu, static_cast<std::uint64_t>(number)};
      if constexpr (per_item) { stamp(number).asked = host_clock::now(); }
      spin_until([&] { return queue_->try_push({t, number}) || failed.stopped(); });
    }
    instants.done = host_clock::now();
    if constexpr (per_item) {
      finished.wait(0, std::memory_order_acquire);
      auto& lane = lanes_[static_cast<std::size_t>(t)];
      int const end = first + submitted_[static_cast<std::size_t>(t)];
      for (int number = first; number < end; ++number) {
        auto const& at = stamp(number);
        item_times const times{nanoseconds_between(at.asked, at.submitted),
                               nanoseconds_between(at.asked, at.taken)};
        failed.guard(number, [&] { probe.item(lane, number, times); });
      }
    }
  }

  template <class Item, class Probe>
  void submit_all(Item& item, Probe& probe, failure& failed) noexcept {
    for (auto left = lanes_.size() * static_cast<std::size_t>(items_); left > 0; --left) {
      std::optional<request> next;
      spin_until([&] { return failed.stopped() || (next = queue_->try_pop()).has_value(); });
      if (!next) { break; }
      submit_one(*next, item, probe, failed);
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      int const last = static_cast<int>(i + 1) * items_ - 1;
      if (open_[i]) {
        failed.guard(last, [&] { probe.lane_end(lanes_[i]); });
      }
      failed.guard(last, [&] { lanes_[i].synchronize(); }, while_draining);
    }
    drained_ = host_clock::now();
  }

  template <class Item, class Probe>
  void submit_one(request next, Item& item, Probe& probe, failure& failed) noexcept {
    constexpr bool per_item = std::remove_cvref_t<Probe>::per_item;
    nvtx_range const scope{"item", category::cpu, static_cast<std::uint64_t>(next.number)};
    auto const index = static_cast<std::size_t>(next.lane);
    auto& lane = lanes_[index];
    failed.guard(next.number, [&] {
      if (submitted_[index] == 0) {
        probe.lane_begin(lane);
        open_[index] = true;
      }
      if constexpr (per_item) { stamp(next.number).taken = host_clock::now(); }
      item(lane, next.number);
      if (sync_per_item_) { lane.synchronize(); }
      if constexpr (per_item) { stamp(next.number).submitted = host_clock::now(); }
      if (++submitted_[index] == items_) {
        open_[index] = false;
        probe.lane_end(lane);
      }
    });
  }

  stamps& stamp(int number) { return stamps_[static_cast<std::size_t>(number)]; }

  std::vector<Lane> lanes_;
  int items_;
  bool sync_per_item_;
  std::vector<span> askers_;
  std::vector<int> submitted_;  ///< items of each lane
  std::vector<bool> open_;      ///< lanes between `lane_begin` and `lane_end`
  std::vector<stamps> stamps_;
  host_clock::time_point drained_;
  std::unique_ptr<mpsc_queue<request>> queue_;
  thread_team team_;  // last, so that the threads stop before the other members are destroyed
};

/// Threads send their items to one submitter thread through a bounded lock-free queue. Each thread
/// has its own lane. Only the submitter enqueues work, and no thread waits for a lock.
///
/// The time of an item includes the waits for room in the queue and in the queue. `lock_wait` tells
/// them apart.
struct queued {
  int threads = 4;
  int items = 100;             ///< of each thread
  bool sync_per_item = false;  ///< the submitter synchronises with the lane after each item
  int capacity = 64;           ///< items that can wait for the submitter

  static constexpr std::string_view name = "submit::queued";
  std::string describe() const {
    return std::string{name} + "{threads=" + std::to_string(threads) +
           ", items=" + std::to_string(items) + ", capacity=" + std::to_string(capacity) +
           (sync_per_item ? ", sync_per_item}" : "}");
  }
  int lanes() const noexcept { return threads; }
  int batch_items() const noexcept { return threads * items; }

  /// See `submission_mode`; throws `std::invalid_argument` unless all counts are at least 1.
  template <any_lane Lane>
  queued_runner<Lane> open(std::vector<Lane> lanes) const {
    require_batch(name, threads, items, lanes.size());
    require_positive(name, "capacity", capacity);
    return {std::move(lanes), items, sync_per_item, capacity};
  }

  bool operator==(queued const&) const = default;
};
static_assert(submission_mode<queued>);

}  // namespace assay::submit
