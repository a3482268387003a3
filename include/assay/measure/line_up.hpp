// SPDX-License-Identifier: Apache-2.0
/// @file
/// Pipelines as the variants of one experiment.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/named.hpp>
#include <assay/measure/instruments.hpp>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/measure/profile.hpp>

#include <algorithm>
#include <any>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// The arenas that variants with this workload, place and lane count share.
template <class Work, class Place, class State>
struct shared_arenas {
  Work work;
  Place place;
  int lanes;
  std::shared_ptr<arena_cache<State>> cache;
};

/// The variants of one experiment as they are gathered: what the procedure runs, and how each is
/// profiled afterwards.
class line_up {
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

  /// Measures, then measures the ceilings and profiles each variant, unless it failed before.
  template <class Clock = std::chrono::steady_clock>
  comparison run(std::vector<contrast> const& contrasts, options chosen) const {
    auto const watch = watch_();
    auto result = measure::run<Clock>(variants_, contrasts, watched(chosen, watch));
    watch.describe(result);
    if (!result.failure.empty()) { return result; }
    result.ceilings = ceilings_();
    for (std::size_t i = 0; chosen.profiled_batches > 0 && i < profilers_.size(); ++i) {
      if (chosen.progress) {
        chosen.progress(result.epochs, chosen.max_epochs, "profiling " + variants_[i].label);
      }
      auto const found = profilers_[i](chosen.profiled_batches);
      result.arms[i].submission = found.submission;
      result.arms[i].memory = found.memory;
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
    using entry = shared_arenas<typename Rig::work_type, typename Rig::place_type, state>;
    for (auto const& each : shared_) {
      auto const* known = std::any_cast<entry>(&each);
      if (known != nullptr && known->work == what.work && known->place == what.place &&
          known->lanes == what.submit.lanes()) {
        return known->cache;
      }
    }
    auto cache = std::make_shared<arena_cache<state>>();
    shared_.emplace_back(entry{what.work, what.place, what.submit.lanes(), cache});
    return cache;
  }

  std::vector<variant> variants_;
  std::vector<std::function<profiled(int)>> profilers_;
  std::function<std::vector<ceiling>()> ceilings_;
  std::function<environment_watch()> watch_;
  std::vector<std::any> shared_;
};

/// What sets pipelines apart, one label each: the choices on the axes on which they differ, by name
/// where names differ, else with their parameters.
inline std::vector<std::string> labels_of(
    std::vector<std::vector<std::pair<std::string, std::string>>> const& variants) {
  std::vector<std::string> labels(variants.size());
  // The last axis, a transfer, is there only in pipelines that have one.
  auto const choice_on = [](auto const& of, std::size_t axis) {
    return axis < of.size() ? of[axis].second : std::string{"resident"};
  };
  std::size_t axes = 0;
  for (auto const& each : variants) { axes = std::max(axes, each.size()); }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<std::string> choices, names;
    for (auto const& each : variants) {
      add_distinct(choices, choice_on(each, axis));
      add_distinct(names, name_of(choice_on(each, axis)));
    }
    if (choices.size() == 1) { continue; }
    for (std::size_t i = 0; i < variants.size(); ++i) {
      auto const choice = choice_on(variants[i], axis);
      labels[i] += (labels[i].empty() ? "" : ", ") +
                   (names.size() == choices.size() ? name_of(choice) : choice);
    }
  }
  for (auto& label : labels) {
    if (label.empty()) { label = "control"; }
  }
  auto numbered = labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto const end = labels.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    auto const times = std::count(labels.begin(), end, labels[i]);
    if (times > 1) { numbered[i] += " (" + std::to_string(times) + ")"; }
  }
  return numbered;
}

}  // namespace assay::measure
