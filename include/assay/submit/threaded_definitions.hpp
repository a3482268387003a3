// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to threaded.hpp: the definitions of its functions.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/submit/batch.hpp>
#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace assay::submit {

/// What the threads of a batch share.
struct submitting_threads::batch {
  lane_calls const& calls;
  failure failed{};
  mutex_lock lock{};
};

ASSAY_INLINE submitting_threads::submitting_threads(char const* name, int threads, int items,
                                                    bool sync_per_item, bool waits,
                                                    thread_team::work_of_thread bind)
    : name_(name),
      items_(items),
      sync_per_item_(sync_per_item),
      waits_(waits),
      instants_(static_cast<std::size_t>(threads)),
      team_(threads, bind) {}

ASSAY_INLINE batch_times submitting_threads::run(lane_calls const& calls) {
  nvtx_range const scope{name_, category::cpu,
                         instants_.size() * static_cast<std::uint64_t>(items_)};
  batch now{calls};
  auto const began =
      team_.run([&](int t) noexcept { submit_all(static_cast<std::size_t>(t), now); });
  now.failed.rethrow();

  batch_times times;
  for (auto const& one : instants_) {
    times.wall = std::max(times.wall, seconds_between(began, one.drained));
    times.submit_per_item += seconds_between(one.begun, one.submitted);
  }
  times.submit_per_item /= static_cast<double>(instants_.size()) * items_;
  return times;
}

ASSAY_INLINE void submitting_threads::submit_all(std::size_t t, batch& now) noexcept {
  auto const& calls = now.calls;
  auto& failed = now.failed;
  auto& at = instants_[t];
  int const first = static_cast<int>(t) * items_;
  int const last = first + items_ - 1;
  bool const opened = failed.guard(first, [&] { calls.begin(calls.batch, t); });
  at.begun = host_clock::now();
  for (int number = first; number <= last && !failed.stopped(); ++number) {
    failed.guard(number, [&] { submit_one(t, number, now); });
  }
  at.submitted = host_clock::now();
  if (opened) {
    failed.guard(last, [&] { calls.end(calls.batch, t); });
  }
  failed.guard(last, [&] { calls.synchronize(calls.batch, t); }, while_draining);
  at.drained = host_clock::now();
}

ASSAY_INLINE void submitting_threads::submit_one(std::size_t t, int number, batch& now) {
  nvtx_range const scope{"item", category::cpu, static_cast<std::uint64_t>(number)};
  auto const& calls = now.calls;
  bool const timed = calls.times != nullptr;
  auto const asked = timed ? host_clock::now() : host_clock::time_point{};
  auto entered = asked;
  {
    std::unique_lock<std::mutex> held;
    if (waits_) {
      held = now.lock.enter();
      if (timed) { entered = host_clock::now(); }
    }
    calls.item(calls.batch, t, number);
    if (sync_per_item_) { calls.synchronize(calls.batch, t); }
  }
  if (!timed) { return; }
  calls.times(calls.batch, t, number,
              {nanoseconds_between(asked, host_clock::now()), nanoseconds_between(asked, entered)});
}

}  // namespace assay::submit
