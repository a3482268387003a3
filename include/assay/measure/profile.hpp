// SPDX-License-Identifier: Apache-2.0
/// @file
/// The host time per item and the memory operations of a pipeline, from batches that are not timed
/// for the verdict: the reads of clocks here would disturb a timed batch.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/timed.hpp>
#include <assay/rig.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace assay::measure {

/// Median, 99th percentile (nearest rank), maximum and mean of times in ns; all 0 without times.
inline latency summarise_latency(std::vector<double> nanoseconds) {
  if (nanoseconds.empty()) { return {}; }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  auto const rank = [&](double share) {
    auto const count = static_cast<double>(nanoseconds.size());
    return nanoseconds[static_cast<std::size_t>(std::max(1.0, std::ceil(share * count))) - 1];
  };
  double sum = 0;
  for (double const each : nanoseconds) { sum += each; }
  return {rank(0.5), rank(0.99), nanoseconds.back(), sum / static_cast<double>(nanoseconds.size())};
}

/// The result of `profile`.
struct profiled {
  submission_profile submission;
  memory_profile memory;
};

namespace detail {

/// The host times of one item of a batch. The thread that submits the item writes them.
struct alignas(64) item_row {
  submit::item_times times;
  double allocation = 0;
};

struct item_probe : submit::no_probe {
  static constexpr bool per_item = true;
  item_row* rows;
  explicit item_probe(item_row* into) : rows(into) {}
  template <class Lane>
  void item(Lane&, int number, submit::item_times times) const noexcept {
    rows[number].times = times;
  }
};

/// Splits the host time of the items of `batches` batches, after two batches that grow the pools.
template <class Pipeline, class Resource>
submission_profile split_host_time(Pipeline const& what, Resource const& memory, int batches) {
  using timed = mr::timed_resource<Resource>;
  rig<Pipeline, timed> watched{what, timed{memory}};
  std::vector<double> total, allocation, lock_wait, launching;
  for (int batch = -2; batch < batches; ++batch) {
    std::vector<item_row> rows(static_cast<std::size_t>(what.submit.batch_items()));
    watched.run_items(0, item_probe{rows.data()}, [&](auto& lane, auto& state, int number) {
      timed::nanoseconds_on_this_thread() = 0;
      workloads::enqueue(what.work, lane, state);
      rows[static_cast<std::size_t>(number)].allocation = timed::nanoseconds_on_this_thread();
    });
    if (batch < 0) { continue; }
    for (auto const& row : rows) {
      total.push_back(row.times.total);
      allocation.push_back(row.allocation);
      lock_wait.push_back(row.times.lock_wait);
      launching.push_back(std::max(0.0, row.times.total - row.times.lock_wait - row.allocation));
    }
  }
  auto const count = total.size();
  return {summarise_latency(std::move(total)), summarise_latency(std::move(allocation)),
          summarise_latency(std::move(lock_wait)), summarise_latency(std::move(launching)), count};
}

/// Counts the memory operations of one batch.
template <class Pipeline, class Resource>
memory_profile count_memory(Pipeline const& what, Resource const& memory) {
  mr::counted_resource<Resource> counter{memory};
  rig<Pipeline, mr::counted_resource<Resource>> watched{what, counter};
  for (int i = 0; i < 2; ++i) { watched.run(0); }
  counter.reset();
  watched.run(0);
  auto const did = counter.stats();
  return {did.allocations,    did.deallocations, did.bytes,         did.peak_bytes,
          did.reserved_bytes, did.reused_blocks, did.upstream_calls};
}

}  // namespace detail

/// Splits the host time of the items of `batches` batches of a pipeline, and counts the memory
/// operations of one more batch. Both use rigs of their own, whose pools grow in two batches
/// before.
///
/// Blocks until done. The split costs each item about six reads of the steady clock, 0.2 us. Time
/// that is neither allocation nor lock waiting counts as launching. A graph allocates when it is
/// captured, so its replays show no allocation.
template <class Pipeline>
profiled profile(Pipeline const& what, int batches) {
  nvtx_range const scope{"profile", category::measurement};
  place_traits<decltype(Pipeline::place)>::require(what.place);
  auto const opened = what.memory.open(what.place);
  return {detail::split_host_time(what, opened, batches), detail::count_memory(what, opened)};
}

}  // namespace assay::measure
