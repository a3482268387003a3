// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which copies and kernels a job becomes, on which queue, and what each has to wait for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace assay::transfer {

/// What is done to each chunk, in this order.
enum class stage { copy_in, compute, copy_out };

/// How a message calls a stage.
constexpr char const* in_words(stage what) noexcept {
  constexpr char const* words[] = {"the copy to the device", "the computation",
                                   "the copy to the host"};
  return words[static_cast<int>(what)];
}

/// How chunks are dealt over queues, which are CUDA streams that run in their own order.
///
/// `in_one_queue`: one after another. `by_engine`: a queue for each direction, so that a copy
/// engine meets its copies in the order of the chunks, back to back, and two for computations in
/// turn: the blocks of a chunk's kernel fill what the one before leaves idle as it ends, and its
/// launch hides behind that. `led_by_caller`: the same, but the first chunk goes through the queue
/// of copies out, stage by stage, which is the caller's own stream where one can have it: the link
/// is busy before any queue has to wait for another. `by_chunk`: a queue for each slot, in which a
/// chunk's stages follow each other, as the textbooks have it.
enum class deal { in_one_queue, by_engine, led_by_caller, by_chunk };

/// One stage of one chunk.
struct operation {
  stage what = stage::copy_in;
  int chunk = 0;
  int slot = 0;   ///< which of the buffers on the device
  int queue = 0;  ///< which stream
  /// Earlier operations, by their place in the list, that must be over before this begins.
  std::array<int, 2> after{};
  int after_count = 0;
  bool awaited = false;  ///< an operation of another queue comes after this

  std::span<int const> waits() const noexcept {
    return {after.data(), static_cast<std::size_t>(after_count)};
  }
};

/// Queues that a deal needs.
constexpr int queues_of(deal how, int slots) noexcept {
  return how == deal::in_one_queue ? 1 : how == deal::by_chunk ? slots : 4;
}

/// The queue of an operation. By engine: copies in, even computations, copies out, odd
/// computations.
constexpr int queue_of(deal how, stage what, int chunk, int slot) noexcept {
  if (how == deal::in_one_queue) { return 0; }
  if (how == deal::by_chunk) { return slot; }
  if (how == deal::led_by_caller && chunk == 0) { return static_cast<int>(stage::copy_out); }
  return what == stage::compute && chunk % 2 == 1 ? 3 : static_cast<int>(what);
}

namespace detail {

/// Puts a schedule together; knows which operation is which stage of which chunk.
template <class Deal>
class scheduler {
 public:
  scheduler(Deal how, int chunks, int slots, bool inputs, bool outputs)
      : how_(how),
        chunks_(chunks),
        slots_(slots),
        inputs_(inputs),
        outputs_(outputs),
        place_(static_cast<std::size_t>(chunks) * 3, -1) {
    all_.reserve(place_.size());
  }

  void add(stage what, int chunk) {
    if (chunk < 0 || chunk >= chunks_ || (what == stage::copy_in && !inputs_) ||
        (what == stage::copy_out && !outputs_)) {
      return;
    }
    operation made{what, chunk, chunk % slots_, queue_of(how_, what, chunk, chunk % slots_)};
    if (what == stage::copy_in) {
      wait(made, stage::compute, chunk - slots_);
      // Else both would share the link, and the first chunk would be late.
      if (how_ == deal::led_by_caller && chunk == 1) { wait(made, stage::copy_in, 0); }
    }
    if (what == stage::compute) {
      wait(made, stage::copy_in, chunk);
      wait(made, stage::copy_out, chunk - slots_);
    }
    if (what == stage::copy_out) { wait(made, stage::compute, chunk); }
    place(what, chunk) = static_cast<int>(all_.size());
    all_.push_back(made);
  }

  std::vector<operation> take() { return std::move(all_); }

 private:
  int& place(stage what, int chunk) {
    return place_[static_cast<std::size_t>(chunk) * 3 + static_cast<std::size_t>(what)];
  }
  void wait(operation& later, stage what, int chunk) {
    if (chunk < 0 || place(what, chunk) < 0) { return; }
    auto& earlier = all_[static_cast<std::size_t>(place(what, chunk))];
    later.after[static_cast<std::size_t>(later.after_count++)] = place(what, chunk);
    earlier.awaited = earlier.awaited || earlier.queue != later.queue;
  }

  Deal how_;
  int chunks_, slots_;
  bool inputs_, outputs_;
  std::vector<int> place_;
  std::vector<operation> all_;
};

/// The queues of the first operations that wait for no other queue, or of the last that no other
/// queue waits for, each once.
template <class Operation, class Free>
std::vector<int> free_queues(std::vector<Operation> const& all, Free const& is_free) {
  std::vector<bool> seen;
  std::vector<int> found;
  for (auto const& each : all) {
    auto const queue = static_cast<std::size_t>(each.queue);
    if (queue >= seen.size()) { seen.resize(queue + 1); }
    if (seen[queue]) { continue; }
    seen[queue] = true;
    if (is_free(each)) { found.push_back(each.queue); }
  }
  return found;
}

}  // namespace detail

/// The queues that have to follow what comes before the job: all others follow one of them.
template <class Operation = operation>
std::vector<int> first_queues(std::vector<Operation> const& all) {
  return detail::free_queues(all, [](Operation const& each) { return each.after_count == 0; });
}

/// The queues that what comes after the job has to follow: all others are followed by one of them.
template <class Operation = operation>
std::vector<int> last_queues(std::vector<Operation> all) {
  std::reverse(all.begin(), all.end());
  return detail::free_queues(all, [](Operation const& each) { return !each.awaited; });
}

/// The operations of a job in the order in which they are enqueued; what one waits for stands
/// before it.
///
/// Chunk i uses slot i modulo `slots`: its copy in waits for the computation of the slot's last
/// chunk, its computation for that chunk's copy out. `by_engine` goes breadth-first: while a chunk
/// is copied in, the one before is computed and the one before that is copied out, so that no
/// engine's next operation is enqueued late. `by_chunk` enqueues a stage of all slots before the
/// next stage of any.
template <class Deal>
std::vector<operation> schedule(Deal how, int chunks, int slots, bool inputs, bool outputs) {
  constexpr std::array forward{stage::copy_in, stage::compute, stage::copy_out};
  detail::scheduler<Deal> made{how, chunks, slots, inputs, outputs};
  if (how == deal::in_one_queue) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (auto const what : forward) { made.add(what, chunk); }
    }
  } else if (how == deal::by_chunk) {
    for (int first = 0; first < chunks; first += slots) {
      for (auto const what : forward) {
        for (int i = 0; i < slots; ++i) { made.add(what, first + i); }
      }
    }
  } else {
    for (int wave = 0; wave < chunks + 2; ++wave) {
      // With one slot a copy in waits for what the same wave computes, so that comes first.
      for (int i = 0; i < 3; ++i) {
        int const depth = slots == 1 ? 2 - i : i;
        made.add(forward[static_cast<std::size_t>(depth)], wave - depth);
      }
    }
  }
  return made.take();
}

/// How one job is cut and dealt.
struct cutting {
  std::vector<std::int64_t> chunks;  ///< elements of each
  int slots = 1;                     ///< chunks that have room on the device at once
  deal how = deal::in_one_queue;

  /// All in one chunk, in the caller's own stream.
  static cutting whole(std::int64_t elements) { return {{elements}, 1, deal::in_one_queue}; }
};

/// A cutting with all that follows from it, made once for jobs that are run again.
struct route {
  cutting cut;
  std::vector<operation> operations;
  std::vector<std::int64_t> first;  ///< element of each chunk, and the end
  std::vector<int> begins, ends;    ///< `first_queues`, `last_queues`
  std::int64_t largest_chunk = 0;
};

template <class Cutting = cutting>
route route_of(Cutting cut, bool inputs, bool outputs) {
  route made;
  made.operations =
      schedule(cut.how, static_cast<int>(cut.chunks.size()), cut.slots, inputs, outputs);
  made.first.push_back(0);
  for (auto const each : cut.chunks) {
    made.first.push_back(made.first.back() + each);
    made.largest_chunk = each > made.largest_chunk ? each : made.largest_chunk;
  }
  made.begins = first_queues(made.operations);
  made.ends = last_queues(made.operations);
  made.cut = std::move(cut);
  return made;
}

}  // namespace assay::transfer
