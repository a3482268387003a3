// SPDX-License-Identifier: Apache-2.0
/// @file
/// `experiment`: pipelines as the variants of a comparison, and the profile of each: its host time
/// per item and its memory operations, from batches that are not timed for the verdict.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/place.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/memory/watched.hpp>
#include <assay/rig/any_rig.hpp>
#include <assay/transfer/concepts.hpp>

#include <any>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::measure {

/// The clocks of a place that time batches. As it is, the host's: unknown values are NaN.
class batch_timer : public batch_watch {
 public:
  /// The device time of the last batch.
  virtual double gpu_seconds() const { return std::numeric_limits<double>::quiet_NaN(); }
  /// These two enclose a cell.
  virtual void cell_begin() {}
  virtual void cell_end() {}
  /// The mean SM clock of the last cell.
  virtual double sm_hertz() { return std::numeric_limits<double>::quiet_NaN(); }
};

/// The instruments of a place, specialised for each. `instruments.cuh` has those of a device.
///
/// - `timer(place, lanes)` makes a `batch_timer`.
/// - `ceilings(place)` measures the limits that reports divide by, once a process.
/// - `watch(place)` returns an `environment_watch`.
template <class Place>
struct instruments;

template <std::same_as<on::host> Place>
struct instruments<Place> {
  static std::unique_ptr<batch_timer> timer(on::host, int /*lanes*/) {
    return std::make_unique<batch_timer>();
  }
  static environment_watch watch(on::host) { return host_watch(); }
  static std::vector<ceiling> ceilings(on::host) { return host_ceilings(); }
};

/// A rig and its instruments. A launch is a batch, which drains before the next one.
class pipeline_subject final : public subject {
 public:
  /// Throws `std::invalid_argument` where an item would be timed on what another one left.
  template <class Pipeline>
  explicit pipeline_subject(Pipeline const& what, any_rig::sets_from const& from = {})
      : pipeline_subject(
            open_rig(what, from),
            instruments<decltype(Pipeline::place)>::timer(what.place, what.submit.lanes()),
            name_of_work(what.work), what.submit.batch_items(), what.submit.lanes()) {}

  void warm(int buffer_set, int launches) override;
  cell time(int buffer_set, int launches) override;
  std::optional<std::string> verify(int buffer_set) override;
  checks checked() const override;

 private:
  pipeline_subject(std::unique_ptr<any_rig> real, std::unique_ptr<batch_timer> timer,
                   std::string_view work, int items, int lanes);

  std::unique_ptr<any_rig> rig_;
  std::unique_ptr<batch_timer> timer_;
};

/// The buffer sets of an epoch, shared by variants until the last of their rigs ends. The control's
/// second instance has its own. All sets of a cache have one type.
class buffer_set_cache {
 public:
  /// The buffer sets of this epoch and instance. The first call makes them by `make`.
  any_rig::sets get(epoch const& when, std::function<any_rig::sets()> const& make);

 private:
  struct entry {
    std::weak_ptr<void> held;
    int number = -1;
  };
  std::array<entry, 2> of_;
};

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
  return detail::profile_watched(mr::with_watched_memory(with_any_work(what)), batches);
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
    place_traits<decltype(Pipeline::place)>::require(what.place);
    add_any(with_any_work(what), std::move(label), what.axes(), cache_for(what));
  }

  /// Measures the variants. Then, without a failure, measures the ceilings and profiles each
  /// variant; a note tells what fails there.
  comparison run(std::vector<contrast> const& contrasts, options chosen) const;

 private:
  /// Compiled once for all workloads.
  template <class Pipeline>
  [[gnu::noinline]] void add_any(Pipeline const& what, std::string label,
                                 std::vector<std::pair<std::string, std::string>> axes,
                                 std::shared_ptr<buffer_set_cache> cache) {
    using place = decltype(Pipeline::place);
    auto const traffic = what.batch_traffic();
    variants_.push_back({std::move(label), std::move(axes),
                         [what, cache = std::move(cache)](epoch const& now) {
                           place_traits<place>::require(what.place);
                           return std::unique_ptr<subject>{new pipeline_subject{
                               what, [&](auto const& make) { return cache->get(now, make); }}};
                         },
                         traffic.bytes(), traffic.flops});
    profilers_.push_back([what](int batches) { return profile(what, batches); });
    if (!ceilings_) {
      ceilings_ = [at = what.place] { return instruments<place>::ceilings(at); };
      watch_ = [at = what.place] { return instruments<place>::watch(at); };
    }
  }

  template <class Pipeline>
  std::shared_ptr<buffer_set_cache> cache_for(Pipeline const& what) {
    // Sets of equal workloads can differ in type, where a state depends on the memory of lanes.
    std::pair const key{buffer_set_key_of(what),
                        std::type_identity<typename rig<Pipeline>::state_type>{}};
    for (auto const& [other, cache] : shared_) {
      auto const* known = std::any_cast<std::remove_const_t<decltype(key)>>(&other);
      if (known != nullptr && known->first == key.first) { return cache; }
    }
    return shared_.emplace_back(key, std::shared_ptr<buffer_set_cache>{new buffer_set_cache})
        .second;
  }

  std::vector<variant> variants_;
  std::vector<std::function<profiled(int)>> profilers_;
  std::function<std::vector<ceiling>()> ceilings_;
  std::function<environment_watch()> watch_;
  std::vector<std::pair<std::any, std::shared_ptr<buffer_set_cache>>> shared_;  ///< by their keys
};

}  // namespace assay::measure

#ifndef ASSAY_DECLARED
#include <assay/measure/experiment_definitions.hpp>
#endif
