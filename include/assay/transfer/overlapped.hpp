// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::overlapped`: copies in, kernels and copies out at once.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/transfer/chunk_plan.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Cuts a job into equal chunks and keeps both copy engines and the compute engine busy with
/// different ones. The device has room for `streams` chunks, which the chunks use in turn.
///
/// The host waits for nothing but pageable arrays, which are staged. Zeros are picked, in closed
/// form, for links of PCIe; `plan()` of the engine has the picked numbers and the reason.
struct overlapped {
  int chunks = 0;
  int streams = 0;  ///< chunks under way at once, each with room on the device

  static constexpr std::string_view name = "transfer::overlapped";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  std::string describe() const {
    return parameter_list{}.show("chunks", chunks, 0).show("streams", streams, 0).after(name);
  }

  /// Throws `std::invalid_argument` that names the field and the allowed values.
  void validate() const {
    if (chunks >= 0 && streams >= 0) { return; }
    throw std::invalid_argument(std::string{name} + ": chunks is " + std::to_string(chunks) +
                                " and streams is " + std::to_string(streams) +
                                ", but each must be 0 (picked) or more");
  }

  template <class Memory>
  auto open(on::device place, Memory memory) const;

  bool operator==(overlapped const&) const = default;
};
static_assert(transfer_policy<overlapped>);

/// The plans of an engine of `transfer::overlapped`. It remembers those of the last jobs, by their
/// sizes.
///
/// The chunks of a plan take at most half of the memory that is free on the device when the plan is
/// made; a remembered plan that no longer has room is made anew.
class overlap_planner {
 public:
  static constexpr std::string_view name = overlapped::name;
  static constexpr auto wants = overlapped::wants;
  static constexpr bool blocks_host = overlapped::blocks_host;
  static constexpr bool capturable = overlapped::capturable;

  explicit overlap_planner(overlapped how, link_costs const& costs = {})
      : how_(how), costs_(costs) {
    how_.validate();
    if (how_.streams > 0) { limits_.max_slots = how_.streams; }
  }

  template <class Executor>
  void prepare(Executor& executor) {
    executor.reserve(limits_.max_slots);
    find_room(executor);
  }

  /// Over pageable data it blocks, and cannot be captured.
  template <class Executor, class Compute>
  void execute(Executor& executor, typename Executor::stream_type stream, job<Compute> const& what,
               std::vector<host_array> const& arrays) {
    if (any_pageable(arrays)) { refuse_capture(name, executor.link(), stream); }
    auto const size = size_of(what);
    auto const run_planned = [&] {
      executor.run(stream, what, arrays, true, plan_for(size, executor, stream).schedule);
    };
    bool const remembered = find(size) != jobs_.end();
    try {
      run_planned();
    } catch (std::exception const& cause) {
      // The plan is of a time when more memory was free. Nothing of the job has begun.
      if (!remembered || !mr::is_out_of_memory(cause)) { throw; }
      jobs_.pop_back();
      run_planned();
    }
  }

  /// The plan of the last job that was run, with the picked numbers and the reason in `why`.
  /// Empty before the first run; good until the next one.
  chunk_plan const& plan() const noexcept {
    static auto const& none = *new chunk_plan;  // for destructors of static objects too
    return jobs_.empty() ? none : jobs_.back().plan;
  }

 private:
  struct planned_job {
    job_size size;
    chunk_plan plan;
    compiled_schedule schedule;
  };

  /// Takes half of the free memory of the device. Blocks that the resource reserves and does not
  /// lend are free, too, if the resource counts them.
  template <class Executor>
  void find_room(Executor& executor) {
    auto free = executor.link().free_device_bytes();
    if constexpr (requires { executor.memory().stats().reserved_bytes; }) {
      auto const held = executor.memory().stats();
      free += static_cast<double>(held.reserved_bytes.value_or(held.live_bytes)) -
              static_cast<double>(held.live_bytes);
    }
    limits_.device_bytes = free / 2;
  }

  std::vector<planned_job>::iterator find(job_size const& size) {
    return std::find_if(jobs_.begin(), jobs_.end(),
                        [&](auto const& each) { return each.size == size; });
  }

  /// The last of `jobs_` is the present one.
  template <class Executor>
  planned_job const& plan_for(job_size const& size, Executor& executor,
                              typename Executor::stream_type stream) {
    auto const found = find(size);
    if (found != jobs_.end()) {
      std::rotate(found, found + 1, jobs_.end());
      return jobs_.back();
    }
    if (!executor.link().capturing(stream)) { find_room(executor); }
    auto plan = make_plan(size);
    auto schedule = compile(plan.chunks, plan.slots, size.inputs > 0, size.outputs > 0);
    constexpr std::size_t most = 32;
    if (jobs_.size() == most) { jobs_.erase(jobs_.begin()); }
    jobs_.push_back({size, std::move(plan), std::move(schedule)});
    return jobs_.back();
  }

  chunk_plan make_plan(job_size const& size) const {
    if (how_.chunks == 0) { return plan_chunks(costs_, size, limits_); }
    chunk_plan plan;
    plan.chunks =
        equal_chunks(size.elements, page_granularity(size.granularity, size.elements), how_.chunks);
    plan.slots = std::min(limits_.max_slots, static_cast<int>(plan.chunks.size()));
    plan.why = "the caller asked for these chunks";
    return plan;
  }

  template <class Compute>
  static job_size size_of(job<Compute> const& what) {
    auto const bytes = [&](auto const& arrays) {
      double sum = 0;
      for (auto const& each : arrays) { sum += static_cast<double>(each.element_bytes); }
      return sum * static_cast<double>(what.elements);
    };
    return {bytes(what.inputs),
            bytes(what.outputs),
            what.elements,
            what.granularity,
            static_cast<int>(what.inputs.size()),
            static_cast<int>(what.outputs.size()),
            what.compute_seconds};
  }

  overlapped how_;
  link_costs costs_;
  plan_limits limits_;
  std::vector<planned_job> jobs_;
};

template <class Memory>
auto overlapped::open(on::device place, Memory memory) const {
  return engine<overlap_planner, cuda_link, Memory>{overlap_planner{*this}, cuda_link{place},
                                                    std::move(memory)};
}

}  // namespace assay::transfer
