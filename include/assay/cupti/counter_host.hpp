// SPDX-License-Identifier: Apache-2.0
/// @file
/// `counter_host`: the metrics of a chip, the passes that they need, and their values from counter
/// data. This half of CUPTI's profiler needs neither GPU nor driver. Internal to counters.hpp.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/cupti/api.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// The configuration with which a device counts some metrics together, and its number of passes.
struct counter_plan {
  std::vector<std::string> metrics;  ///< CUPTI's names, each once
  std::vector<dropped_metric> dropped;
  std::vector<std::uint8_t> config;  ///< the config image; empty without metrics
  std::size_t passes = 0;
};

/// The metrics of one chip. Not for several threads at once.
///
/// `availability` is what a device says it can count (`cuptiProfilerGetCounterAvailability`); empty
/// for all that the chip has. Calls throw `cupti_error`.
class counter_host {
 public:
  counter_host(cupti_api api, std::string chip, std::vector<std::uint8_t> availability = {})
      : api_(std::move(api)),
        chip_(std::move(chip)),
        availability_(std::move(availability)),
        all_(*this) {}

  std::string const& chip() const noexcept { return chip_; }

  /// Plans to count together all of `names` that the chip has; `dropped` names the others. Throws
  /// `cupti_error` if CUPTI cannot schedule together the metrics that it accepted one by one.
  counter_plan plan(std::vector<std::string> const& names) const {
    counter_plan made;
    for (auto const& each : names) {
      if (std::find(made.metrics.begin(), made.metrics.end(), each) == made.metrics.end()) {
        made.metrics.push_back(each);
      }
    }
    if (made.metrics.empty()) { return made; }
    // All metrics go into one call, since each further call gets passes of its own. A refused call
    // makes the object useless, so metrics are tried one by one, in new objects, after a refusal.
    object whole{*this};
    if (try_add(whole, made.metrics) != CUPTI_SUCCESS) {
      std::erase_if(made.metrics, [&](std::string const& each) {
        if (try_add(object{*this}, {each}) == CUPTI_SUCCESS) { return false; }
        made.dropped.push_back({each, concat({chip_, " has no metric ", each})});
        return true;
      });
      if (made.metrics.empty()) { return made; }
      whole = object{*this};
      api_.check(try_add(whole, made.metrics), "cuptiProfilerHostConfigAddMetrics");
    }
    made.config = config_image(whole);
    made.passes = passes(made.config);
    return made;
  }

  /// The values of `metrics` over one range of a counter data image.
  std::vector<double> evaluate(std::span<std::uint8_t const> image, std::size_t range,
                               std::vector<std::string> const& metrics) const {
    auto pointers = c_strings(metrics);
    std::vector<double> values(metrics.size());
    CUpti_Profiler_Host_EvaluateToGpuValues_Params asked{};
    asked.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
    asked.pHostObject = all_.get();
    asked.pCounterDataImage = image.data();
    asked.counterDataImageSize = image.size();
    asked.rangeIndex = range;
    asked.ppMetricNames = pointers.data();
    asked.numMetrics = pointers.size();
    asked.pMetricValues = values.data();
    api_.check(api_->host_evaluate(&asked), "cuptiProfilerHostEvaluateToGpuValues");
    return values;
  }

 private:
  /// Owns CUPTI's object for one chip and at most one configuration.
  class object {
   public:
    explicit object(counter_host const& of) : api_(of.api_) {
      CUpti_Profiler_Host_Initialize_Params made{};
      made.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
      made.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
      made.pChipName = of.chip_.c_str();
      made.pCounterAvailabilityImage = of.availability_.empty() ? nullptr : of.availability_.data();
      api_.check(api_->host_initialize(&made), "cuptiProfilerHostInitialize");
      object_ = made.pHostObject;
    }
    object(object&& other) noexcept
        : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
    object& operator=(object&& other) noexcept {
      std::swap(object_, other.object_);
      return *this;
    }
    ~object() {
      if (object_ == nullptr) { return; }
      CUpti_Profiler_Host_Deinitialize_Params old{};
      old.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
      old.pHostObject = object_;
      (void)api_->host_deinitialize(&old);  // nothing is left to do about a failure
    }
    CUpti_Profiler_Host_Object* get() const noexcept { return object_; }

   private:
    cupti_api api_;
    CUpti_Profiler_Host_Object* object_ = nullptr;
  };

  static std::vector<char const*> c_strings(std::vector<std::string> const& names) {
    std::vector<char const*> pointers;
    for (auto const& each : names) { pointers.push_back(each.c_str()); }
    return pointers;
  }

  CUptiResult try_add(object const& to, std::vector<std::string> const& names) const {
    auto pointers = c_strings(names);
    CUpti_Profiler_Host_ConfigAddMetrics_Params added{};
    added.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
    added.pHostObject = to.get();
    added.ppMetricNames = pointers.data();
    added.numMetrics = pointers.size();
    return api_->host_add_metrics(&added);
  }

  std::vector<std::uint8_t> config_image(object const& of) const {
    CUpti_Profiler_Host_GetConfigImageSize_Params size{};
    size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
    size.pHostObject = of.get();
    api_.check(api_->host_config_size(&size), "cuptiProfilerHostGetConfigImageSize");
    std::vector<std::uint8_t> image(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params got{};
    got.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
    got.pHostObject = of.get();
    got.configImageSize = image.size();
    got.pConfigImage = image.data();
    api_.check(api_->host_config(&got), "cuptiProfilerHostGetConfigImage");
    return image;
  }

  std::size_t passes(std::vector<std::uint8_t>& config) const {
    CUpti_Profiler_Host_GetNumOfPasses_Params asked{};
    asked.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
    asked.configImageSize = config.size();
    asked.pConfigImage = config.data();
    api_.check(api_->host_passes(&asked), "cuptiProfilerHostGetNumOfPasses");
    return asked.numOfPasses;
  }

  cupti_api api_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  object all_;  // never configured: asked about values
};

}  // namespace assay::trace
