// SPDX-License-Identifier: Apache-2.0
/// @file
/// `experiment`: pipelines as the variants of a comparison.
#pragma once

#include <assay/measure/pipeline_subject.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/measure/profile.hpp>

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// The key of shared buffer sets: variants with this workload, place and lane count share them.
template <class Work, class Place, class State>
struct shared_buffer_sets {
  Work work;
  Place place;
  int lanes;
  std::shared_ptr<buffer_set_cache<State>> cache;
};

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
  /// variant.
  comparison run(std::vector<contrast> const& contrasts, options chosen) const {
    auto const watch = watch_();
    auto result = measure::run(variants_, contrasts, watched(chosen, watch));
    watch.describe(result);
    if (!result.failure.empty()) { return result; }
    result.ceilings = ceilings_();
    for (std::size_t i = 0; chosen.profiled_batches > 0 && i < profilers_.size(); ++i) {
      if (chosen.progress) {
        chosen.progress(result.epochs, chosen.max_epochs, "profiling " + variants_[i].label);
      }
      auto const found = profilers_[i](chosen.profiled_batches);
      result.variants[i].submission = found.submission;
      result.variants[i].memory = found.memory;
    }
    return result;
  }

 private:
  template <class Pipeline>
  auto builder(Pipeline const& what) {
    return [what, cache = cache_for<rig<Pipeline>>(what)](epoch const& now) {
      place_traits<decltype(Pipeline::place)>::require(what.place);
      auto made =
          std::make_unique<rig<Pipeline>>(what, what.memory.open(what.place),
                                          [&](auto const& make) { return cache->get(now, make); });
      return std::unique_ptr<subject>{new pipeline_subject<Pipeline>{std::move(made)}};
    };
  }

  template <class Rig, class Pipeline>
  auto cache_for(Pipeline const& what) {
    using state = typename Rig::state_type;
    using entry = shared_buffer_sets<typename Rig::work_type, typename Rig::place_type, state>;
    for (auto const& each : shared_) {
      auto const* known = std::any_cast<entry>(&each);
      if (known != nullptr && known->work == what.work && known->place == what.place &&
          known->lanes == what.submit.lanes()) {
        return known->cache;
      }
    }
    auto cache = std::make_shared<buffer_set_cache<state>>();
    shared_.emplace_back(entry{what.work, what.place, what.submit.lanes(), cache});
    return cache;
  }

  std::vector<variant> variants_;
  std::vector<std::function<profiled(int)>> profilers_;
  std::function<std::vector<ceiling>()> ceilings_;
  std::function<environment_watch()> watch_;
  std::vector<std::any> shared_;
};

}  // namespace assay::measure
