// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where a pipeline's host time per item goes, and what it does with memory: from batches of their
/// own, so that the clocks read here disturb no timed one.
#pragma once

#include <assay/core/range.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/timed.hpp>
#include <assay/rig.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace assay::measure {

/// Median, 99th percentile (nearest rank), largest and mean of some nanoseconds; all 0 of none.
inline latency summarise_latency(std::vector<double> nanoseconds) {
  if (nanoseconds.empty()) { return {}; }
  std::ranges::sort(nanoseconds);
  auto const rank = [&](double share) {
    auto const count = static_cast<double>(nanoseconds.size());
    return nanoseconds[static_cast<std::size_t>(std::max(1.0, std::ceil(share * count))) - 1];
  };
  double sum = 0;
  for (double const each : nanoseconds) { sum += each; }
  return {rank(0.5), rank(0.99), nanoseconds.back(), sum / static_cast<double>(nanoseconds.size())};
}

namespace detail {

/// The host times of the items of one batch, written by the threads that submit them.
class item_log {
 public:
  explicit item_log(int items) : rows_(static_cast<std::size_t>(items)) {}

  struct alignas(64) row {
    submit::item_times times;
    double allocation = 0;
  };

  row& operator[](int item) { return rows_[static_cast<std::size_t>(item)]; }
  std::span<row const> rows() const noexcept { return rows_; }

 private:
  std::vector<row> rows_;
};

struct item_probe : submit::no_probe {
  static constexpr bool per_item = true;
  item_log* log;
  explicit item_probe(item_log& into) : log(&into) {}
  template <class Lane>
  void item(Lane&, int number, submit::item_times times) const noexcept {
    (*log)[number].times = times;
  }
};

}  // namespace detail

/// What `profile` found.
struct profiled {
  submission_profile submission;
  memory_profile memory;
};

/// Runs `batches` batches of a pipeline on a rig of their own, after two that grow its pools, and
/// tells where the host time of their items went and what the last one did with memory.
///
/// Blocks until done. The split costs each item about six reads of the steady clock, 0.2 us; what
/// is neither allocation nor lock waiting counts as launching. Blocks that a graph took when it was
/// captured are not asked for again: its replays show no allocation.
template <class Pipeline>
profiled profile(Pipeline const& what, int batches) {
  range const scope{"profile", category::measurement};
  using place = decltype(Pipeline::place);
  place_traits<place>::require(what.place);
  auto opened = what.memory.open(what.place);
  using counted = mr::counted_resource<decltype(opened)>;
  using timed = mr::timed_resource<counted>;
  counted counter{opened};
  rig<Pipeline, timed> watched{what, timed{counter}};

  int const items = what.submit.batch_items();
  detail::item_log log{items};
  std::vector<double> total, allocation, lock_wait, launching;
  for (int batch = -2; batch < batches; ++batch) {
    if (batch == batches - 1) { counter.reset(); }
    for (int i = 0; i < items; ++i) { log[i] = {}; }
    watched.run_items(0, detail::item_probe{log}, [&](auto& lane, auto& state, int number) {
      timed::nanoseconds_on_this_thread() = 0;
      what.work.enqueue(lane, state);
      log[number].allocation = timed::nanoseconds_on_this_thread();
    });
    if (batch < 0) { continue; }
    for (auto const& row : log.rows()) {
      total.push_back(row.times.total);
      allocation.push_back(row.allocation);
      lock_wait.push_back(row.times.lock_wait);
      launching.push_back(std::max(0.0, row.times.total - row.times.lock_wait - row.allocation));
    }
  }

  auto const did = counter.stats();
  profiled found;
  found.submission.items = total.size();
  found.submission.total = summarise_latency(std::move(total));
  found.submission.allocation = summarise_latency(std::move(allocation));
  found.submission.lock_wait = summarise_latency(std::move(lock_wait));
  found.submission.launching = summarise_latency(std::move(launching));
  found.memory = {did.allocations,    did.deallocations, did.bytes,         did.peak_bytes,
                  did.reserved_bytes, did.reused_blocks, did.upstream_calls};
  return found;
}

}  // namespace assay::measure
