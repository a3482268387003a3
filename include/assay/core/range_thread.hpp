// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a thread keeps at hand to note its ranges.
#pragma once

#include <assay/core/range_event.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace assay {

namespace detail {

/// Who wants to hear of ranges; 0 is the idle case, in which a range does nothing.
enum range_watcher : std::uint32_t { nvtx_unasked = 1, nvtx_tool = 2, range_recorder = 4 };
inline constinit std::atomic<std::uint32_t> range_watchers{nvtx_unasked};

/// The number of the recording that is on, or 0.
inline constinit std::atomic<std::uint32_t> current_recording{0};

/// Whether events are stamped with the processor's counter instead of the clock.
inline constinit std::atomic<bool> stamps_are_ticks{false};

/// Ranges of that recording for which there was no room, and that began before it.
inline constinit std::atomic<std::uint64_t> dropped_ranges{0};
inline constinit std::atomic<std::uint64_t> ranges_begun_before{0};

/// Gives the calling thread a chunk with room for so many bytes, if it can. Set by the first
/// recording, so that programs that make none need not compile what recordings are kept in.
inline constinit std::atomic<bool (*)(std::size_t) noexcept> next_range_chunk{nullptr};

/// The chunks of one thread in the recording that is on. The owner takes the mutex once for each
/// chunk, and keeps its own hold on the one that it writes to.
struct range_thread {
  using chunk_type = range_chunk;

  std::uint32_t thread = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<range_chunk>> chunks;
  std::shared_ptr<range_chunk> current;
  bool ended = false;
};

struct range_cursor {
  range_chunk* chunk = nullptr;
  std::size_t used = range_chunk::capacity;  // so that a thread without a chunk asks for one
  std::size_t depth = 0;                     // open pushes, for whose ends room is kept
  std::int64_t anchored = 0;                 // the stamp by which the last anchor was taken
  range_thread* owner = nullptr;
  std::uint32_t recording = 0;
  std::uint32_t refused = 0;  // the recording that had no more room for this thread
  bool thread_ended = false;
};
// Constant-initialised and without a destructor, so that reading it is one load and no guard.
inline constinit thread_local range_cursor my_ranges{};

}  // namespace detail

}  // namespace assay
