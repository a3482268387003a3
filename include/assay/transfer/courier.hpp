// SPDX-License-Identifier: Apache-2.0
/// @file
/// `courier`: carries out schedules: what the engines of all transfers that copy have in common.
#pragma once

#include <assay/core/range.hpp>
#include <assay/transfer/arrays.hpp>
#include <assay/transfer/schedule.hpp>
#include <assay/transfer/stager.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Which computations are to be timed, by events of the link: that of a chunk from `begin` to
/// `end`, and all that follow it up to that of a later chunk, from `end` to `last`.
template <class Event>
struct timed_chunks {
  int number = -1;
  int last_number = -1;  ///< none: -1
  Event* begin = nullptr;
  Event* end = nullptr;
  Event* last = nullptr;
};

/// Runs jobs on a link, cut as it is told: pageable arrays through bounce buffers where `staged`
/// says so, all others by copies that the device reaches itself.
///
/// Device memory comes from `Memory` for each job, in the order of the caller's stream, which all
/// queues follow and are followed by. The host waits only for arrays that are staged. After a
/// failure all queues and the caller's stream are drained, unless they are being captured.
template <class Link, class Memory>
class courier {
 public:
  using stream_type = typename Link::stream_type;
  using event_type = typename Link::event_type;

  courier(Link link, Memory memory, staging how = {})
      : link_(std::move(link)),
        memory_(std::move(memory)),
        staging_(how.resolved()),
        fork_(link_.make_event()) {}

  Link& link() noexcept { return link_; }

  /// Makes streams and events ahead, so that the first run need not.
  void expect(deal how, int slots) {
    if (how == deal::in_one_queue) { return; }
    for (auto missing = queues_of(how, slots) - static_cast<int>(queues_.size()); missing > 0;
         --missing) {
      queues_.push_back(link_.make_stream());
      ends_.push_back(link_.make_event());
    }
    while (static_cast<int>(events_.size()) < 3 * slots) { events_.push_back(link_.make_event()); }
  }

  /// Enqueues the job so that work later on `caller` sees its outputs; `arrays` are the job's, and
  /// `staged` whether pageable ones are staged.
  template <class Compute>
  void run(stream_type caller, job<Compute> const& what, std::vector<host_array> const& arrays,
           bool staged, cutting const& cut) {
    run(caller, what, arrays, staged, route_of(cut, !what.inputs.empty(), !what.outputs.empty()));
  }
  /// The same by a route that is known, which saves a short job microseconds before its first copy.
  template <class Compute>
  void run(stream_type caller, job<Compute> const& what, std::vector<host_array> const& arrays,
           bool staged, route const& by, timed_chunks<event_type> const& timed = {}) {
    if (what.elements == 0) { return; }
    [[maybe_unused]] auto const current = link_.current();
    expect(by.cut.how, by.cut.slots);
    auto const pageable = [&](host_array const& each) {
      return staged && each.kind == host_kind::pageable;
    };
    bool const stages = std::any_of(arrays.begin(), arrays.end(), pageable);
    if (stages && stager_ == nullptr) { stager_ = std::make_unique<stager<Link>>(link_, staging_); }
    chunk_room<Memory, stream_type> const room{caller, memory_, arrays, by.largest_chunk,
                                               by.cut.slots};
    passage<Compute> carried{*this, caller, what, arrays, staged, stages, by, timed, room};
    try {
      carried.run();
    } catch (...) {
      carried.stop();
      throw;
    }
  }

 private:
  using stager_type = stager<Link>;
  using ticket = typename stager_type::ticket;

  /// One job on its way.
  template <class Compute>
  class passage {
   public:
    passage(courier& with, stream_type caller, job<Compute> const& what,
            std::vector<host_array> const& arrays, bool staged, bool stages, route const& by,
            timed_chunks<event_type> const& timed, chunk_room<Memory, stream_type> const& room)
        : with_(with),
          link_(with.link_),
          caller_(caller),
          what_(what),
          arrays_(arrays),
          staged_(staged),
          by_(by),
          cut_(by.cut),
          timed_(timed),
          room_(room),
          operations_(by.operations),
          first_(by.first),
          tickets_(stages ? operations_.size() : 0),
          inputs_(what.inputs.size()),
          outputs_(what.outputs.size()) {}

    void run() {
      fork();
      for (std::size_t i = 0; i < operations_.size(); ++i) {
        named(operations_[i], [&] { begin(i); });
      }
      for (std::size_t i = 0; i < tickets_.size(); ++i) {
        named(operations_[i], [&] { with_.stager_->wait_finished(tickets_[i]); });
      }
      join();
    }

    /// After a failure: nothing of the job is under way on return. A capture cannot be waited for;
    /// what it holds is joined, so that its owner can end it.
    void stop() noexcept {
      if (!tickets_.empty()) { with_.stager_->abandon(); }
      try {
        if (link_.capturing(caller_)) { return join_all(); }
      } catch (...) {  // a lost device does not know; there is nothing to wait for then
      }
      if (cut_.how != deal::in_one_queue) {
        for (auto& each : with_.queues_) { link_.drain(stream_type{each}); }
      }
      link_.drain(caller_);
    }

   private:
    /// Copies out go in the caller's own stream, so that it need not wait for another one's event
    /// in the end; but what threads enqueue goes in a stream of this class: `cudaStreamPerThread`
    /// would be another one to each.
    bool callers(int number) const {
      return cut_.how == deal::in_one_queue ||
             (cut_.how != deal::by_chunk && number == static_cast<int>(stage::copy_out) &&
              tickets_.empty());
    }
    stream_type queue(int number) const {
      return callers(number) ? caller_
                             : stream_type{with_.queues_[static_cast<std::size_t>(number)]};
    }
    event_type& event_of(operation const& op) const {
      return with_.events_[static_cast<std::size_t>(3 * op.slot + static_cast<int>(op.what))];
    }
    chunk chunk_of(operation const& op) const {
      auto const index = static_cast<std::size_t>(op.chunk);
      return {op.chunk, first_[index], cut_.chunks[index], inputs_, outputs_};
    }

    /// Calls `step`; what it throws names the chunk and the stage.
    template <class Step>
    void named(operation const& op, Step const& step) const {
      try {
        step();
      } catch (chunk_error const&) { throw; } catch (std::exception const& cause) {
        std::throw_with_nested(chunk_error{chunk_of(op), in_words(op.what), cause.what()});
      } catch (...) {
        std::throw_with_nested(
            chunk_error{chunk_of(op), in_words(op.what), "not a std::exception"});
      }
    }

    void fork() {
      if (cut_.how == deal::in_one_queue) { return; }
      link_.record(with_.fork_, caller_);
      for (int const each : by_.begins) {
        if (!callers(each)) { link_.wait(queue(each), with_.fork_); }
      }
    }
    void join() {
      for (int const each : by_.ends) { join_one(each); }
    }
    void join_one(int number) {
      if (callers(number)) { return; }
      auto& end = with_.ends_[static_cast<std::size_t>(number)];
      link_.record(end, queue(number));
      link_.wait(caller_, end);
    }
    void join_all() noexcept {
      for (int i = 0; i < queues_of(cut_.how, cut_.slots); ++i) {
        try {
          if (!callers(i) && link_.capturing(queue(i))) { join_one(i); }
        } catch (...) {  // the capture is invalid, and its owner is told when he ends it
        }
      }
    }

    void begin(std::size_t index) {
      auto const& op = operations_[index];
      for (int const earlier : op.waits()) {
        auto const at = static_cast<std::size_t>(earlier);
        auto const& other = operations_[at];
        // Its event can be waited for only once threads have enqueued all that it stands for.
        if (!tickets_.empty()) {
          named(other, [&] { with_.stager_->wait_enqueued(tickets_[at]); });
        }
        if (other.queue != op.queue) { link_.wait(queue(op.queue), event_of(other)); }
      }
      if (op.what == stage::compute) {
        compute(op);
      } else {
        copy(op, index);
      }
    }

    void compute(operation const& op) {
      range const scope{"chunk compute", category::gpu, static_cast<std::uint64_t>(op.chunk)};
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        if (i < inputs_.size()) {
          inputs_[i] = room_.at(i, op.slot);
        } else {
          outputs_[i - inputs_.size()] = room_.at(i, op.slot);
        }
      }
      bool const timed = op.chunk == timed_.number;
      if (timed) { link_.record(*timed_.begin, queue(op.queue)); }
      what_.compute(queue(op.queue), chunk_of(op));
      if (timed) { link_.record(*timed_.end, queue(op.queue)); }
      if (op.chunk == timed_.last_number) { link_.record(*timed_.last, queue(op.queue)); }
      if (op.awaited) { link_.record(event_of(op), queue(op.queue)); }
    }

    void copy(operation const& op, std::size_t index) {
      bool const in = op.what == stage::copy_in;
      range const scope{in ? "chunk in" : "chunk out", category::transfer,
                        static_cast<std::uint64_t>(op.chunk)};
      auto const where = queue(op.queue);
      auto const part = static_cast<std::size_t>(op.chunk);
      bool hands_over = false;
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        auto const& each = arrays_[i];
        if (each.leaves_host != in) { continue; }
        auto* const host = each.data + static_cast<std::size_t>(first_[part]) * each.element_bytes;
        auto const bytes = static_cast<std::size_t>(cut_.chunks[part]) * each.element_bytes;
        auto* const device = room_.at(i, op.slot);
        if (!staged_ || each.kind != host_kind::pageable) {
          link_.copy(where, in ? device : host, in ? host : device, bytes);
          continue;
        }
        auto& through = tickets_[index];
        if (!std::exchange(hands_over, true)) {
          // Recorded by `close` or by the last thread: after the copies that need no thread, too.
          through.event = op.awaited ? &event_of(op) : nullptr;
          with_.stager_->open(through);
        }
        if (in) {
          with_.stager_->fill(through, where, device, host, bytes);
        } else {
          with_.stager_->empty(through, where, host, device, bytes);
        }
      }
      if (hands_over) {
        with_.stager_->close(tickets_[index], where);
      } else if (op.awaited) {
        link_.record(event_of(op), where);
      }
    }

    courier& with_;
    Link& link_;
    stream_type caller_;
    job<Compute> const& what_;
    std::vector<host_array> const& arrays_;
    bool staged_;
    route const& by_;
    cutting const& cut_;
    timed_chunks<event_type> timed_;
    chunk_room<Memory, stream_type> const& room_;
    std::vector<operation> const& operations_;
    std::vector<std::int64_t> const& first_;
    std::vector<ticket> tickets_;  ///< of each operation, if anything is staged
    std::vector<void const*> inputs_;
    std::vector<void*> outputs_;
  };

  Link link_;
  Memory memory_;
  staging staging_;
  event_type fork_;
  std::vector<typename Link::owned_stream> queues_;
  std::vector<event_type> ends_;   ///< of each queue
  std::deque<event_type> events_;  ///< of each slot and stage; a deque, since threads refer to them
  std::unique_ptr<stager_type> stager_;  // first to go: its threads use the queues
};

}  // namespace assay::transfer
