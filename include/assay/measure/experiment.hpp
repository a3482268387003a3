// SPDX-License-Identifier: Apache-2.0
/// @file
/// `experiment`: pipelines as the variants of a comparison, and the profile of each: its host time
/// per item and its memory operations, from batches that are not timed for the verdict.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/measure/subject.hpp>
#include <assay/memory/watched.hpp>
#include <assay/rig.hpp>
#include <assay/transfer/concepts.hpp>

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

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

/// Splits the host time of the items of `batches` batches, each run by `run(rows)`, after two
/// batches that grow the pools. Counts the calls of `memory` in one more batch.
profiled profile_batches(std::size_t items, int batches, mr::call_counter& memory,
                         std::function<void(item_row*)> const& run);

template <class Watched>
profiled profile_watched(Watched const& what, int batches) {
  rig<Watched> real{what};
  auto const& memory = what.memory.resource;
  return profile_batches(static_cast<std::size_t>(what.submit.batch_items()), batches,
                         memory.upstream(), [&](item_row* rows) {
                           real.run_items(
                               0, item_probe{rows}, [&](auto& lane, auto& state, int number) {
                                 memory.nanoseconds_on_this_thread() = 0;
                                 workloads::enqueue(what.work, lane, state);
                                 rows[number].allocation = memory.nanoseconds_on_this_thread();
                               });
                         });
}

}  // namespace detail

/// Splits the host time of the items of `batches` batches of a pipeline, and counts the memory
/// operations of one more batch. Both use a rig of their own, whose pools grow in two batches
/// before.
///
/// Blocks until done. The split costs each item about six reads of the steady clock, 0.2 us. Time
/// that is neither allocation nor lock waiting counts as launching. A graph allocates when it is
/// captured, so its replays show no allocation.
template <class Pipeline>
profiled profile(Pipeline const& what, int batches) {
  nvtx_range const scope{"profile", category::measurement};
  return detail::profile_watched(mr::with_watched_memory(what), batches);
}

/// All that the buffer sets of a pipeline depend on. Variants with equal keys share their buffer
/// sets.
template <class Work, class Place>
struct buffer_set_key {
  Work work;
  Place place;
  int lanes;
  /// The kind of host memory that a transfer wants; nothing where the arrays are in the place.
  std::optional<transfer::host_memory> host_arrays;
  bool operator==(buffer_set_key const&) const = default;
};

template <class Pipeline>
auto buffer_set_key_of(Pipeline const& what) {
  buffer_set_key<decltype(what.work), decltype(what.place)> key{
      what.work, what.place, what.submit.lanes(), {}};
  if constexpr (Pipeline::crosses_link) { key.host_arrays = decltype(what.transfer)::wants; }
  return key;
}

/// Collects the variants of one experiment, measures them and profiles them.
class experiment {
 public:
  template <class Pipeline>
  void add(Pipeline const& what, std::string label) {
    using place = decltype(Pipeline::place);
    place_traits<place>::require(what.place);
    auto const traffic = what.batch_traffic();
    variants_.push_back(
        {std::move(label), what.axes(), builder(what), traffic.bytes(), traffic.flops});
    profilers_.push_back([what](int batches) { return profile(what, batches); });
    if (!ceilings_) {
      ceilings_ = [at = what.place] { return instruments<place>::ceilings(at); };
      watch_ = [at = what.place] { return instruments<place>::watch(at); };
    }
  }

  /// Measures the variants. Then, without a failure, measures the ceilings and profiles each
  /// variant; a note tells what fails there.
  comparison run(std::vector<contrast> const& contrasts, options chosen) const;

 private:
  template <class Pipeline>
  auto builder(Pipeline const& what) {
    return [what, cache = cache_for(what)](epoch const& now) {
      place_traits<decltype(Pipeline::place)>::require(what.place);
      return std::unique_ptr<subject>{
          new pipeline_subject<Pipeline>{what, what.memory.open(what.place),
                                         [&](auto const& make) { return cache->get(now, make); }}};
    };
  }

  template <class Pipeline>
  auto cache_for(Pipeline const& what) {
    auto const key = buffer_set_key_of(what);
    using cache = buffer_set_cache<typename rig<Pipeline>::state_type>;
    using entry = std::pair<decltype(buffer_set_key_of(what)), std::shared_ptr<cache>>;
    for (auto const& each : shared_) {
      auto const* known = std::any_cast<entry>(&each);
      if (known != nullptr && known->first == key) { return known->second; }
    }
    shared_.emplace_back(entry{key, std::make_shared<cache>()});
    return std::any_cast<entry const&>(shared_.back()).second;
  }

  std::vector<variant> variants_;
  std::vector<std::function<profiled(int)>> profilers_;
  std::function<std::vector<ceiling>()> ceilings_;
  std::function<environment_watch()> watch_;
  std::vector<std::any> shared_;  ///< pairs of a key and its cache
};

}  // namespace assay::measure

#ifndef ASSAY_COMPILED
#include <assay/measure/experiment_definitions.hpp>
#endif
