// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transfer. `schedule_executor`: enqueues the copies and kernels of a schedule, for
/// the engines of all transfers that copy.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/transfer/arrays.hpp>
#include <assay/transfer/schedule.hpp>
#include <assay/transfer/stager.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Runs jobs on a link by compiled schedules. With `staged`, pageable arrays go through bounce
/// buffers; all other arrays are copied from and to their own memory.
///
/// Device memory comes from `Memory` for each job, in the order of the caller's stream. All queues
/// follow the earlier work of this stream, and its later work follows them. The host waits only for
/// arrays that are staged. After a failure all queues and the caller's stream are drained, unless
/// they are being captured.
template <class Link, class Memory>
class schedule_executor {
 public:
  using stream_type = typename Link::stream_type;
  using event_type = typename Link::event_type;

  schedule_executor(Link link, Memory memory, staging how = {})
      : link_(std::move(link)),
        memory_(std::move(memory)),
        staging_(how.resolved()),
        fork_(link_.make_event()) {}

  Link& link() noexcept { return link_; }
  Memory const& memory() const noexcept { return memory_; }

  /// Makes streams and events ahead, so that the first run need not.
  void reserve(int slots) {
    while (queues_.size() < queue_count) {
      queues_.push_back(link_.make_stream());
      ends_.push_back(link_.make_event());
    }
    while (static_cast<int>(events_.size()) < 3 * slots) { events_.push_back(link_.make_event()); }
  }

  /// Enqueues the job so that work later on `caller` sees its outputs. `arrays` are the job's, and
  /// `staged` says that its pageable arrays go through bounce buffers.
  template <class Compute>
  void run(stream_type caller, job<Compute> const& what, std::vector<host_array> const& arrays,
           bool staged, compiled_schedule const& plan) {
    if (what.elements == 0) { return; }
    [[maybe_unused]] auto const current = link_.current();
    bool const stages = staged && any_pageable(arrays);
    if (stages || plan.chunks.size() > 1) { reserve(plan.slots); }
    if (stages && stager_ == nullptr) { stager_ = std::make_unique<stager<Link>>(link_, staging_); }
    chunk_buffers<Memory, stream_type> const buffers{caller, memory_, arrays, plan.largest_chunk,
                                                     plan.slots};
    job_run<Compute> one{*this, caller, what, arrays, stages, plan, buffers};
    try {
      one.run();
    } catch (...) {
      one.cancel();
      throw;
    }
  }
  /// The same in one chunk.
  template <class Compute>
  void run_whole(stream_type caller, job<Compute> const& what,
                 std::vector<host_array> const& arrays, bool staged) {
    run(caller, what, arrays, staged,
        compile({what.elements}, 1, !what.inputs.empty(), !what.outputs.empty()));
  }

 private:
  using stager_type = stager<Link>;
  using staged_copies = typename stager_type::staged_copies;

  /// One job that is being enqueued.
  template <class Compute>
  class job_run {
   public:
    job_run(schedule_executor& with, stream_type caller, job<Compute> const& what,
            std::vector<host_array> const& arrays, bool stages, compiled_schedule const& plan,
            chunk_buffers<Memory, stream_type> const& buffers)
        : with_(with),
          link_(with.link_),
          caller_(caller),
          what_(what),
          arrays_(arrays),
          stages_(stages),
          plan_(plan),
          buffers_(buffers),
          staged_(stages ? plan.operations.size() : 0),
          inputs_(what.inputs.size()),
          outputs_(what.outputs.size()) {}

    void run() {
      fork();
      for (std::size_t i = 0; i < plan_.operations.size(); ++i) {
        with_context(plan_.operations[i], [&] { enqueue(i); });
      }
      for (std::size_t i = 0; i < staged_.size(); ++i) {
        with_context(plan_.operations[i], [&] { with_.stager_->wait_finished(staged_[i]); });
      }
      for (int const each : plan_.ends) { join(each); }
    }

    /// After a failure: nothing of the job is under way on return. A capture cannot be waited for;
    /// the queues that it holds are joined, so that its owner can end it.
    void cancel() noexcept {
      if (stages_) { with_.stager_->abandon(); }
      try {
        if (link_.capturing(caller_)) { return join_captured(); }
      } catch (...) {  // the device is lost, and there is nothing to wait for
      }
      for (auto& each : with_.queues_) { link_.drain(stream_type{each}); }
      link_.drain(caller_);
    }

   private:
    /// Copies out go into the caller's own stream, which then need not wait for the event of
    /// another one. But the threads of the stager get a stream of this class:
    /// `cudaStreamPerThread` would be another stream on each of them.
    bool in_caller_stream(int number) const { return number == copy_out_queue && !stages_; }
    stream_type queue(int number) const {
      return in_caller_stream(number)
                 ? caller_
                 : stream_type{with_.queues_[static_cast<std::size_t>(number)]};
    }
    event_type& event_of(operation const& op) const {
      return with_.events_[static_cast<std::size_t>(3 * op.slot + static_cast<int>(op.what))];
    }
    chunk chunk_of(operation const& op) const {
      auto const index = static_cast<std::size_t>(op.chunk);
      return {op.chunk, plan_.first[index], plan_.chunks[index], inputs_, outputs_};
    }

    /// Calls `step`; an exception of it is nested in one that names the chunk and the stage.
    template <class Step>
    void with_context(operation const& op, Step const& step) const {
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
      bool const own = std::all_of(plan_.begins.begin(), plan_.begins.end(),
                                   [&](int each) { return in_caller_stream(each); });
      if (own) { return; }
      link_.record(with_.fork_, caller_);
      for (int const each : plan_.begins) {
        if (!in_caller_stream(each)) { link_.wait(queue(each), with_.fork_); }
      }
    }
    void join(int number) {
      if (in_caller_stream(number)) { return; }
      auto& end = with_.ends_[static_cast<std::size_t>(number)];
      link_.record(end, queue(number));
      link_.wait(caller_, end);
    }
    void join_captured() noexcept {
      for (int i = 0; i < static_cast<int>(with_.queues_.size()); ++i) {
        try {
          if (!in_caller_stream(i) && link_.capturing(queue(i))) { join(i); }
        } catch (...) {  // the capture is invalid, which its owner is told at its end
        }
      }
    }

    void enqueue(std::size_t index) {
      auto const& op = plan_.operations[index];
      for (int const earlier : op.waits()) {
        auto const at = static_cast<std::size_t>(earlier);
        auto const& other = plan_.operations[at];
        // The event of staged copies is recorded only once threads have enqueued all of them.
        if (stages_) {
          with_context(other, [&] { with_.stager_->wait_enqueued(staged_[at]); });
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
      nvtx_range const scope{"chunk compute", category::gpu, static_cast<std::uint64_t>(op.chunk)};
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        if (i < inputs_.size()) {
          inputs_[i] = buffers_.at(i, op.slot);
        } else {
          outputs_[i - inputs_.size()] = buffers_.at(i, op.slot);
        }
      }
      what_.compute(queue(op.queue), chunk_of(op));
      if (op.awaited) { link_.record(event_of(op), queue(op.queue)); }
    }

    void copy(operation const& op, std::size_t index) {
      bool const in = op.what == stage::copy_in;
      nvtx_range const scope{in ? "chunk in" : "chunk out", category::transfer,
                             static_cast<std::uint64_t>(op.chunk)};
      auto const where = queue(op.queue);
      auto const part = static_cast<std::size_t>(op.chunk);
      bool opened = false;
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        auto const& each = arrays_[i];
        if (each.is_input != in) { continue; }
        auto* const host =
            each.data + static_cast<std::size_t>(plan_.first[part]) * each.element_bytes;
        auto const bytes = static_cast<std::size_t>(plan_.chunks[part]) * each.element_bytes;
        auto* const device = buffers_.at(i, op.slot);
        if (!stages_ || each.kind != memory_type::pageable) {
          link_.copy(where, in ? device : host, in ? host : device, bytes);
          continue;
        }
        auto& through = staged_[index];
        if (!std::exchange(opened, true)) {
          // `close` or the last thread records it: after the copies that need no thread, too.
          through.event = op.awaited ? &event_of(op) : nullptr;
          with_.stager_->open(through);
        }
        if (in) {
          with_.stager_->stage_in(through, where, device, host, bytes);
        } else {
          with_.stager_->stage_out(through, where, host, device, bytes);
        }
      }
      if (opened) {
        with_.stager_->close(staged_[index], where);
      } else if (op.awaited) {
        link_.record(event_of(op), where);
      }
    }

    schedule_executor& with_;
    Link& link_;
    stream_type caller_;
    job<Compute> const& what_;
    std::vector<host_array> const& arrays_;
    bool stages_;  ///< any array goes through bounce buffers
    compiled_schedule const& plan_;
    chunk_buffers<Memory, stream_type> const& buffers_;
    std::vector<staged_copies> staged_;  ///< one for each operation, if any array is staged
    std::vector<void const*> inputs_;
    std::vector<void*> outputs_;
  };

  Link link_;
  Memory memory_;
  staging staging_;
  event_type fork_;
  std::vector<typename Link::owned_stream> queues_;
  std::vector<event_type> ends_;   ///< one for each queue
  std::deque<event_type> events_;  ///< three for each slot; a deque, since threads refer to them
  std::unique_ptr<stager_type> stager_;  // destroyed first: its threads use the queues
};

}  // namespace assay::transfer
