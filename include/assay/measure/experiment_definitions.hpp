// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to experiment.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/experiment.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

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

ASSAY_INLINE profiled profile_batches(std::size_t items, int batches, mr::call_counter& memory,
                                      std::function<void(item_row*)> const& run) {
  std::vector<double> total, allocation, lock_wait, launching;
  std::vector<item_row> rows;
  for (int batch = -2; batch < batches; ++batch) {
    rows.assign(items, {});  // a replayed graph writes no time of allocation
    run(rows.data());
    if (batch < 0) { continue; }
    for (auto const& row : rows) {
      total.push_back(row.times.total);
      allocation.push_back(row.allocation);
      lock_wait.push_back(row.times.lock_wait);
      launching.push_back(std::max(0.0, row.times.total - row.times.lock_wait - row.allocation));
    }
  }
  memory.start_counting();
  run(rows.data());
  auto const did = memory.counts();
  auto const timed = total.size();
  return {{summarise_latency(std::move(total)), summarise_latency(std::move(allocation)),
           summarise_latency(std::move(lock_wait)), summarise_latency(std::move(launching)), timed},
          {did.allocations, did.deallocations, did.bytes, did.peak_bytes, did.reserved_bytes,
           did.reused_blocks, did.upstream_calls}};
}

/// Calls `step`; a failure is a note, since the comparison is finished.
template <class Step>
void noting(comparison& result, std::string const& what, Step const& step) {
  try {
    step();
  } catch (std::exception const& cause) {
    result.notes.push_back(concat({what, ": ", cause.what()}));
  }
}

}  // namespace detail

ASSAY_INLINE pipeline_subject::pipeline_subject(std::unique_ptr<any_rig> real,
                                                std::unique_ptr<batch_timer> timer,
                                                std::string_view work, int items, int lanes)
    : rig_(std::move(real)), timer_(std::move(timer)) {
  if (!rig_->changes_inputs() || items <= lanes) { return; }
  throw std::invalid_argument(concat(
      {work, " changes its input, and a batch has ", std::to_string(items), " items on ",
       std::to_string(lanes),
       " lanes: an item would be timed on the result of another; submit one item to each lane "
       "(.items = 1)"}));
}

ASSAY_INLINE void pipeline_subject::warm(int buffer_set, int launches) {
  nvtx_range const scope{"warm", category::measurement};
  for (int i = 0; i < launches; ++i) { rig_->run(buffer_set, *timer_); }
}

ASSAY_INLINE cell pipeline_subject::time(int buffer_set, int launches) {
  nvtx_range const scope{"cell", category::measurement};
  double wall = 0;
  double gpu = 0;
  double submit = 0;
  timer_->cell_begin();
  for (int i = 0; i < launches; ++i) {
    auto const batch = rig_->run(buffer_set, *timer_);
    wall += batch.wall;
    submit += batch.submit_per_item;
    gpu += timer_->gpu_seconds();
  }
  timer_->cell_end();
  cell mean;
  mean[clock::wall] = wall / launches;
  mean[clock::gpu] = gpu / launches;
  mean[clock::submit] = submit / launches;
  mean.sm_hertz = timer_->sm_hertz();
  return mean;
}

ASSAY_INLINE std::optional<std::string> pipeline_subject::verify(int buffer_set) {
  return rig_->verify(buffer_set);
}

ASSAY_INLINE checks pipeline_subject::checked() const {
  return rig_->checks_all() ? checks::all : checks::part;
}

ASSAY_INLINE any_rig::sets buffer_set_cache::get(epoch const& when,
                                                 std::function<any_rig::sets()> const& make) {
  auto& [held, number] = of_[static_cast<std::size_t>(when.instance)];
  auto sets = held.lock();
  if (sets == nullptr || number != when.number) {
    sets = make();
    held = sets;
    number = when.number;
  }
  return sets;
}

ASSAY_INLINE comparison experiment::run(std::vector<contrast> const& contrasts,
                                        options chosen) const {
  auto const watch = watch_();
  auto result = measure::compare_variants(variants_, contrasts, watched(chosen, watch));
  watch.describe(result);
  if (!result.failure.empty()) { return result; }
  detail::noting(result, "the ceilings were not measured", [&] { result.ceilings = ceilings_(); });
  for (std::size_t i = 0; chosen.profiled_batches > 0 && i < profilers_.size(); ++i) {
    if (chosen.cancelled && chosen.cancelled()) {
      result.notes.push_back(concat({"cancelled before ", variants_[i].label, " was profiled"}));
      break;
    }
    if (chosen.progress) {
      chosen.progress(result.epochs, chosen.max_epochs, "profiling " + variants_[i].label);
    }
    detail::noting(result, variants_[i].label + " was not profiled", [&] {
      auto const found = profilers_[i](chosen.profiled_batches);
      result.variants[i].submission = found.submission;
      result.variants[i].memory = found.memory;
    });
  }
  return result;
}

}  // namespace assay::measure
