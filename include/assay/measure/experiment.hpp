// SPDX-License-Identifier: Apache-2.0
/// @file
/// `experiment`: pipelines as the variants of a comparison.
#pragma once

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/environment_watch.hpp>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/measure/profile.hpp>
#include <assay/transfer/concepts.hpp>

#include <any>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

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
  comparison run(std::vector<contrast> const& contrasts, options chosen) const {
    auto const watch = watch_();
    auto result = measure::compare_variants(variants_, contrasts, watched(chosen, watch));
    watch.describe(result);
    if (!result.failure.empty()) { return result; }
    noting(result, "the ceilings were not measured", [&] { result.ceilings = ceilings_(); });
    for (std::size_t i = 0; chosen.profiled_batches > 0 && i < profilers_.size(); ++i) {
      if (chosen.cancelled && chosen.cancelled()) {
        result.notes.push_back("cancelled before " + variants_[i].label + " was profiled");
        break;
      }
      if (chosen.progress) {
        chosen.progress(result.epochs, chosen.max_epochs, "profiling " + variants_[i].label);
      }
      noting(result, variants_[i].label + " was not profiled", [&] {
        auto const found = profilers_[i](chosen.profiled_batches);
        result.variants[i].submission = found.submission;
        result.variants[i].memory = found.memory;
      });
    }
    return result;
  }

 private:
  /// Calls `step`; a failure is a note, since the comparison is finished.
  template <class Step>
  static void noting(comparison& result, std::string const& what, Step const& step) {
    try {
      step();
    } catch (std::exception const& cause) { result.notes.push_back(what + ": " + cause.what()); }
  }

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
