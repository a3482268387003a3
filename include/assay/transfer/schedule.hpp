// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. The copies and kernels of a job, their queues, and their order.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace assay::transfer {

/// The stages of each chunk, in this order.
enum class stage { copy_in, compute, copy_out };

/// The stage in words, for messages.
constexpr char const* in_words(stage what) noexcept {
  constexpr char const* words[] = {"the copy to the device", "the computation",
                                   "the copy to the host"};
  return words[static_cast<int>(what)];
}

/// One stage of one chunk.
struct operation {
  stage what = stage::copy_in;
  int chunk = 0;
  int slot = 0;   ///< the number of the buffers on the device
  int queue = 0;  ///< the number of the stream
  /// Earlier operations, by their place in the list, that must be over before this begins.
  std::array<int, 2> after{};
  int after_count = 0;
  bool awaited = false;  ///< an operation of another queue waits for this

  std::span<int const> waits() const noexcept {
    return {after.data(), static_cast<std::size_t>(after_count)};
  }
};

/// A queue is a CUDA stream: two for copies, and two for computations in turn. The blocks of a
/// chunk's kernel fill what the kernel before leaves idle as it ends, and its launch hides behind
/// that kernel.
inline constexpr int queue_count = 4;
inline constexpr int copy_out_queue = static_cast<int>(stage::copy_out);

/// The queue of an operation; a job of one chunk has no use for a second queue.
constexpr int queue_of(stage what, int chunk, int chunks) noexcept {
  if (chunks == 1) { return copy_out_queue; }
  return what == stage::compute && chunk % 2 == 1 ? 3 : static_cast<int>(what);
}

namespace detail {

/// The queues with a first operation, in this order, that `is_free`; each queue once.
template <class Free>
std::vector<int> free_queues(std::vector<operation> const& all, Free const& is_free) {
  std::array<bool, queue_count> seen{};
  std::vector<int> found;
  for (auto const& each : all) {
    if (std::exchange(seen[static_cast<std::size_t>(each.queue)], true)) { continue; }
    if (is_free(each)) { found.push_back(each.queue); }
  }
  return found;
}

}  // namespace detail

/// The queues that have to follow the work before the job: all others follow one of them.
inline std::vector<int> first_queues(std::vector<operation> const& all) {
  return detail::free_queues(all, [](operation const& each) { return each.after_count == 0; });
}

/// The queues that the work after the job has to follow: all others are followed by one of them.
inline std::vector<int> last_queues(std::vector<operation> all) {
  std::reverse(all.begin(), all.end());
  return detail::free_queues(all, [](operation const& each) { return !each.awaited; });
}

/// The operations of a job in the order in which they are enqueued; an operation stands after all
/// that it waits for.
///
/// Chunk i uses slot i modulo `slots`: its copy in waits for the computation of the slot's last
/// chunk, its computation for that chunk's copy out. The order is breadth-first, so that no
/// engine's next operation is enqueued late: a copy in, the computation of the chunk before, and
/// the copy out of the chunk before that.
inline std::vector<operation> schedule(int chunks, int slots, bool inputs, bool outputs) {
  std::vector<operation> all;
  constexpr std::array none{-1, -1, -1};
  std::vector<std::array<int, 3>> places(static_cast<std::size_t>(chunks), none);  // of stages
  auto const place = [&](stage what, int chunk) -> int& {
    return places[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(what)];
  };
  auto const add = [&](stage what, int chunk) {
    bool const absent =
        (what == stage::copy_in && !inputs) || (what == stage::copy_out && !outputs);
    if (chunk < 0 || chunk >= chunks || absent) { return; }
    operation made{what, chunk, chunk % slots, queue_of(what, chunk, chunks)};
    auto const wait = [&](stage earlier, int of) {
      int const at = of < 0 ? -1 : place(earlier, of);
      if (at < 0) { return; }
      made.after[static_cast<std::size_t>(made.after_count++)] = at;
      auto& other = all[static_cast<std::size_t>(at)];
      other.awaited = other.awaited || other.queue != made.queue;
    };
    if (what == stage::copy_in) { wait(stage::compute, chunk - slots); }
    if (what == stage::compute) {
      wait(stage::copy_in, chunk);
      wait(stage::copy_out, chunk - slots);
    }
    if (what == stage::copy_out) { wait(stage::compute, chunk); }
    place(what, chunk) = static_cast<int>(all.size());
    all.push_back(made);
  };
  for (int wave = 0; wave < chunks + 2; ++wave) {
    // With one slot a copy in waits for the computation of the same wave, which comes first then.
    for (int i = 0; i < 3; ++i) {
      int const depth = slots == 1 ? 2 - i : i;
      add(static_cast<stage>(depth), wave - depth);
    }
  }
  return all;
}

/// A cut of a job into chunks and its schedule, made once for jobs that are run again.
struct compiled_schedule {
  std::vector<std::int64_t> chunks;  ///< elements of each
  int slots = 1;                     ///< chunks that have room on the device at once
  std::vector<operation> operations;
  std::vector<std::int64_t> first;  ///< the first element of each chunk, and the number of all
  std::vector<int> begins, ends;    ///< `first_queues`, `last_queues`
  std::int64_t largest_chunk = 0;
};

inline compiled_schedule compile(std::vector<std::int64_t> chunks, int slots, bool inputs,
                                 bool outputs) {
  compiled_schedule made;
  made.chunks = std::move(chunks);
  made.slots = slots;
  made.operations = schedule(static_cast<int>(made.chunks.size()), slots, inputs, outputs);
  made.first.push_back(0);
  for (auto const each : made.chunks) {
    made.first.push_back(made.first.back() + each);
    made.largest_chunk = std::max(made.largest_chunk, each);
  }
  made.begins = first_queues(made.operations);
  made.ends = last_queues(made.operations);
  return made;
}

}  // namespace assay::transfer
