// SPDX-License-Identifier: Apache-2.0
/// @file
/// `range_log`: records the ranges of all threads.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/system_clock.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// The result of `range_log::stop`.
struct range_recording {
  /// The end of a `start_end`, noted on the thread that ended it.
  struct ended_id {
    std::uint64_t id = 0;
    std::int64_t at = 0;
  };
  /// The ranges that began on one thread, in their order.
  struct thread_ranges {
    std::uint32_t thread = 0;
    std::deque<recorded_range> ranges;  ///< names are valid while this object lives
    std::unique_ptr<std::pmr::monotonic_buffer_resource> names;
    std::vector<ended_id> ended_ids;
    std::uint64_t began_before = 0;  ///< ranges that ended here and began before the recording
  };
  std::vector<thread_ranges> threads;
  std::vector<std::string> domains;  ///< by number
  std::vector<std::pair<std::uint32_t, std::string>> thread_names;
  std::uint64_t dropped = 0;  ///< ranges for which there was no room
};

/// The log of the process. Every thread adds ranges to a log of its own, under a mutex that only
/// `stop` contends for. A recorded range costs two reads of the clock and 84 ns: 156 ns in all on
/// the host of an H200, whose clock takes 36 ns a read.
///
/// The log copies names, up to `longest_name` bytes. A recording has at most `most_bytes`: when
/// they are full, the log drops further ranges whole and counts them. All functions may be called
/// from any thread, and in destructors of static and thread-local objects.
class range_log {
 public:
  static constexpr std::size_t longest_name = 4000;

  static bool on() noexcept {
    return (detail::range_watchers.load(std::memory_order_relaxed) & detail::range_recorder) != 0;
  }

  /// Begins a recording. Throws `std::logic_error` if one is on.
  static void start(std::size_t most_bytes = std::size_t{256} << 20U) {
    static constexpr detail::range_log_calls calls{&begin, &pop};
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    if (on()) { throw std::logic_error("ranges are being recorded already: stop that first"); }
    all.bytes_left = static_cast<std::int64_t>(most_bytes);
    all.dropped = 0;
    all.recording = ++all.recordings;
    detail::range_log_in_use.store(&calls, std::memory_order_release);
    detail::range_watchers.fetch_or(detail::range_recorder);
  }

  /// Ends the recording and returns its ranges. A range that another thread adds during the call
  /// may be among them.
  static range_recording stop() {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    detail::range_watchers.fetch_and(~std::uint32_t{detail::range_recorder});
    auto const ended = all.recording.exchange(0);
    range_recording made;
    for (auto& each : all.threads) {
      std::lock_guard const own{each->mutex};
      if (each->recording == ended) { made.threads.push_back(std::exchange(each->noted, {})); }
      each->recording = 0;
    }
    std::erase_if(all.threads, [](auto const& each) { return each.use_count() == 1; });
    made.domains = all.domains;
    made.thread_names = all.thread_names;
    made.dropped = all.dropped;
    return made;
  }

  /// The number of a domain, the same for equal names.
  static std::uint32_t domain(std::string_view name) {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    auto const known = std::find(all.domains.begin(), all.domains.end(), name);
    auto const number = static_cast<std::uint32_t>(known - all.domains.begin());
    if (known == all.domains.end()) { all.domains.emplace_back(name); }
    return number;
  }

  static void name_thread(std::uint32_t thread, std::string_view name) {
    auto& all = shared();
    std::lock_guard const lock{all.mutex};
    all.thread_names.emplace_back(thread, name);
  }

  /// Adds the beginning of a range, or a mark, and stamps it. False where there was no room: the
  /// log then leaves out the `pop`, and `end` must not be called.
  static bool begin(recorded_range range) noexcept {
    auto* const mine = this_thread();
    if (mine == nullptr) { return false; }
    std::lock_guard const lock{mine->mutex};
    if (!join_recording(*mine)) { return false; }
    recorded_range* kept = nullptr;
    try {
      kept = keep(*mine, range);
      if (range.what == recorded_range::kind::push_pop) {
        mine->open.push_back({range.domain, kept});
      }
    } catch (...) {  // the host has no memory
      kept = nullptr;
    }
    if (kept == nullptr) {
      shared().dropped.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    kept->begin = system_clock_ns();  // last, so that the log's own time is outside of the range
    if (range.what == recorded_range::kind::mark) { kept->end = kept->begin; }
    return true;
  }

  /// Ends the last open push of this thread in `domain`.
  static void pop(std::uint32_t domain) noexcept {
    auto const now = system_clock_ns();
    auto* const mine = this_thread();
    if (mine == nullptr) { return; }
    std::lock_guard const lock{mine->mutex};
    if (!join_recording(*mine)) { return; }
    auto& open = mine->open;
    auto last = open.end();
    while (last != open.begin() && (last - 1)->domain != domain) { --last; }
    if (last == open.begin()) {
      ++mine->noted.began_before;
      return;
    }
    --last;
    if (last->range != nullptr) { last->range->end = now; }
    open.erase(last);
  }

  /// Ends the `start_end` with this id, which may have begun on any thread.
  static void end(std::uint64_t id) noexcept {
    auto const now = system_clock_ns();
    auto* const mine = this_thread();
    if (mine == nullptr) { return; }
    std::lock_guard const lock{mine->mutex};
    if (!join_recording(*mine)) { return; }
    try {
      mine->noted.ended_ids.push_back({id, now});
    } catch (...) {  // no memory: the range stays open until the end of the recording
    }
  }

 private:
  /// A push that was not popped yet; a null pointer stands for a range that was dropped.
  struct open_push {
    std::uint32_t domain;
    recorded_range* range;
  };

  /// The ranges of one thread in the recording that is on.
  struct thread_log {
    std::mutex mutex;
    std::uint32_t thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    std::uint32_t recording = 0;
    std::size_t room = 0;         // bytes that this thread took from `bytes_left` and has not used
    std::vector<open_push> open;  // of all domains, the last at the end
    range_recording::thread_ranges noted;
  };

  struct state {
    std::mutex mutex;
    std::vector<std::shared_ptr<thread_log>> threads;
    std::vector<std::string> domains{"", "assay"};
    std::vector<std::pair<std::uint32_t, std::string>> thread_names;
    std::uint32_t recordings = 0;
    std::atomic<std::uint32_t> recording{0};  // the one that is on, or 0
    std::atomic<std::int64_t> bytes_left{0};
    std::atomic<std::uint64_t> dropped{0};
  };

  // Never destroyed: ranges may end in destructors of static objects.
  static state& shared() {
    static auto* const only = new state;
    return *only;
  }

  /// A thread's way to its log. Without a destructor, so that it can be read at the thread's end.
  struct thread_slot {
    thread_log* log;
    bool ended;
  };
  static inline constinit thread_local thread_slot slot_{nullptr, false};

  /// Null after the thread's own objects were destroyed, and where the host has no memory.
  static thread_log* this_thread() noexcept {
    auto& slot = slot_;
    if (slot.log == nullptr && !slot.ended) [[unlikely]] { enter(); }
    return slot.log;
  }

  [[gnu::cold]] static void enter() noexcept {
    struct owner {
      std::shared_ptr<thread_log> log{new thread_log};
      owner() {
        std::lock_guard const lock{shared().mutex};
        shared().threads.push_back(log);
      }
      owner(owner const&) = delete;
      owner& operator=(owner const&) = delete;
      ~owner() { slot_ = {.log = nullptr, .ended = true}; }
    };
    try {
      thread_local owner const mine;
      slot_.log = mine.log.get();
    } catch (...) {  // no memory: the next range tries again
    }
  }

  /// True while a recording is on. The first event of a thread in a recording discards the rest of
  /// the last recording.
  static bool join_recording(thread_log& mine) noexcept {
    auto const now = shared().recording.load(std::memory_order_relaxed);
    if (mine.recording == now) { return now != 0; }
    if (now == 0) { return false; }
    try {
      auto names = std::make_unique<std::pmr::monotonic_buffer_resource>();
      mine.noted = {.thread = mine.thread,
                    .ranges = {},
                    .names = std::move(names),
                    .ended_ids = {},
                    .began_before = 0};
    } catch (...) { return false; }
    mine.open.clear();
    mine.room = 0;
    mine.recording = now;
    return true;
  }

  /// A copy of a range and its name in the thread's log; null where the recording is full.
  static recorded_range* keep(thread_log& mine, recorded_range range) {
    range.name = range.name.substr(0, longest_name);
    if (!pay(mine, sizeof range + range.name.size())) { return nullptr; }
    auto* const name = static_cast<char*>(mine.noted.names->allocate(range.name.size() + 1, 1));
    range.name.copy(name, range.name.size());
    range.name = {name, range.name.size()};
    return &mine.noted.ranges.emplace_back(range);
  }

  /// Takes bytes from the common budget, 64 KiB at a time, so that threads rarely meet there.
  static bool pay(thread_log& mine, std::size_t bytes) noexcept {
    constexpr std::int64_t share = std::int64_t{64} << 10U;
    if (mine.room < bytes) {
      auto const left = shared().bytes_left.fetch_sub(share, std::memory_order_relaxed);
      mine.room += static_cast<std::size_t>(std::clamp<std::int64_t>(left, 0, share));
    }
    if (mine.room < bytes) { return false; }
    mine.room -= bytes;
    return true;
  }
};

}  // namespace assay
