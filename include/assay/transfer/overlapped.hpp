// SPDX-License-Identifier: Apache-2.0
/// @file
/// `transfer::overlapped`: copies in, kernels and copies out at once.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/transfer/chunk_plan.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/link_benchmark.hpp>
#include <assay/transfer/schedule_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Cuts a job into equal chunks and keeps both copy engines and the compute engine busy with
/// different ones. The device has room for `streams` chunks, which the chunks use in turn.
///
/// The host waits for nothing but pageable arrays, which are staged. Zeros are picked by a model of
/// the link, from costs that are measured once per process and device or given here; `plan()` of
/// the engine has the picked numbers and the reason.
struct overlapped {
  int chunks = 0;
  int streams = 0;  ///< chunks under way at once, each with room on the device
  std::optional<link_costs> costs{};

  static constexpr std::string_view name = "transfer::overlapped";
  static constexpr auto wants = host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;

  std::string describe() const {
    parameter_list all;
    all.show("chunks", chunks, 0).show("streams", streams, 0);
    if (costs) { all.show("caller's costs"); }
    return all.after(name);
  }

  bool picks() const noexcept { return chunks == 0 || streams == 0; }

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

/// The engine of `transfer::overlapped`. It remembers the plans of the last jobs, by their sizes.
///
/// The chunks of a plan take at most half of the memory that is free on the device. The kernel of
/// a job without `compute_seconds` counts as half of the time of its copies.
template <class Link, class Memory>
class overlapped_engine {
 public:
  using stream_type = typename Link::stream_type;
  static constexpr auto wants = overlapped::wants;
  static constexpr bool blocks_host = overlapped::blocks_host;
  static constexpr bool capturable = overlapped::capturable;

  /// `costs` may be empty only where nothing is picked.
  overlapped_engine(overlapped how, std::optional<link_costs> costs, Link link, Memory memory,
                    staging bounce = {})
      : state_(std::make_shared<state>(how, costs, std::move(link), std::move(memory), bounce)) {}

  /// See `transfer_policy`. Over pageable data it blocks, and cannot be captured.
  template <class Compute>
  void run(stream_type stream, job<Compute> const& what) {
    nvtx_range const scope{overlapped::name.data(), category::transfer,
                           static_cast<std::uint64_t>(what.elements)};
    auto& executor = state_->executor;
    auto const arrays = arrays_of(executor.link(), what);
    if (what.elements == 0) { return; }
    if (any_pageable(arrays)) { refuse_capture(overlapped::name, executor.link(), stream); }
    executor.run(stream, what, arrays, true, state_->plan_for(size_of(what), stream).schedule);
  }

  /// The plan of the last job that was run, with the picked numbers and the reason in `why`.
  /// Empty before the first run; good until the next one.
  chunk_plan const& plan() const noexcept {
    static chunk_plan const none;
    return state_->jobs.empty() ? none : state_->jobs.back().plan;
  }

  bool operator==(overlapped_engine const&) const = default;

 private:
  struct planned_job {
    job_size size;
    chunk_plan plan;
    compiled_schedule schedule;
  };

  struct state {
    state(overlapped policy, std::optional<link_costs> known, Link link, Memory memory,
          staging bounce)
        : how(std::move(policy)),
          costs(known),
          executor(std::move(link), std::move(memory), bounce) {
      how.validate();
      if (how.streams > 0) { limits.max_slots = how.streams; }
      executor.reserve(limits.max_slots);
      find_room();
    }

    /// Takes half of the free memory of the device. Blocks that the resource reserves and does not
    /// lend are free, too, if the resource counts them.
    void find_room() {
      auto free = executor.link().free_device_bytes();
      if constexpr (requires { executor.memory().stats().reserved_bytes; }) {
        auto const held = executor.memory().stats();
        free += static_cast<double>(held.reserved_bytes.value_or(held.live_bytes)) -
                static_cast<double>(held.live_bytes);
      }
      limits.device_bytes = free / 2;
    }

    /// The last of `jobs` is the present one.
    planned_job const& plan_for(job_size const& size, stream_type stream) {
      auto const found = std::find_if(jobs.begin(), jobs.end(),
                                      [&](auto const& each) { return each.size == size; });
      if (found != jobs.end()) {
        std::rotate(found, found + 1, jobs.end());
        return jobs.back();
      }
      if (!executor.link().capturing(stream)) { find_room(); }
      auto plan = make_plan(size);
      auto schedule = compile(plan.chunks, plan.slots, size.inputs > 0, size.outputs > 0);
      constexpr std::size_t most = 32;
      if (jobs.size() == most) { jobs.erase(jobs.begin()); }
      jobs.push_back({size, std::move(plan), std::move(schedule)});
      return jobs.back();
    }

    chunk_plan make_plan(job_size size) const {
      if (costs && size.kernel_seconds <= 0) {
        // By the model this loses 3 % at most on an H200, whatever time the kernel takes.
        size.kernel_seconds = 0.5 * stages_of(*costs, size).link();
      }
      if (how.chunks == 0) { return plan_chunks(*costs, size, limits); }
      chunk_plan plan;
      plan.chunks = equal_chunks(size.elements, page_granularity(size.granularity, size.elements),
                                 how.chunks);
      auto const count = static_cast<int>(plan.chunks.size());
      plan.slots = std::min(limits.max_slots, count);
      plan.why = "the caller asked for these chunks";
      if (costs) {
        plan.seconds = predicted_seconds(*costs, size, count, plan.slots);
        plan.bound_seconds = stages_of(*costs, size).bound();
      }
      return plan;
    }

    overlapped how;
    std::optional<link_costs> costs;
    plan_limits limits;
    std::vector<planned_job> jobs;
    schedule_executor<Link, Memory> executor;
  };

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

  std::shared_ptr<state> state_;
};

template <class Memory>
auto overlapped::open(on::device place, Memory memory) const {
  validate();
  auto known = costs;
  if (!known && picks()) { known = link_costs_of(place); }
  return overlapped_engine<cuda_link, Memory>{*this, known, cuda_link{place}, std::move(memory)};
}

}  // namespace assay::transfer
