// SPDX-License-Identifier: Apache-2.0
/// @file
/// `counter_session`: CUPTI's range profiler on one context, pass by pass. Internal to
/// counters.hpp.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/cupti/counter_host.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// The unit that gets values of its own.
enum class counter_scope {
  range,  ///< everything between begin and end of a range, kernels side by side as they come
  kernel  ///< each kernel by itself, one after the other, as ncu does it
};

/// Holds the counters of one context from construction to destruction.
///
/// For one thread. Members throw `cupti_error`; the destructor ends an open range and pass.
class counter_session {
 public:
  counter_session(cupti_api api, CUcontext context, counter_plan const& plan, counter_scope scope,
                  std::size_t max_ranges)
      : api_(std::move(api)), held_(api_, context), config_(plan.config) {
    std::vector<char const*> names;
    for (auto const& each : plan.metrics) { names.push_back(each.c_str()); }
    CUpti_RangeProfiler_GetCounterDataSize_Params size{};
    size.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE;
    size.pRangeProfilerObject = held_.object;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = max_ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(max_ranges);
    api_.check(api_->range_data_size(&size), "cuptiRangeProfilerGetCounterDataSize");
    data_.resize(size.counterDataSize);

    CUpti_RangeProfiler_CounterDataImage_Initialize_Params clear{};
    clear.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
    clear.pRangeProfilerObject = held_.object;
    clear.counterDataSize = data_.size();
    clear.pCounterData = data_.data();
    api_.check(api_->range_data_initialize(&clear), "cuptiRangeProfilerCounterDataImageInitialize");

    CUpti_RangeProfiler_SetConfig_Params set{};
    set.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE;
    set.pRangeProfilerObject = held_.object;
    set.configSize = config_.size();
    set.pConfig = config_.data();
    set.counterDataImageSize = data_.size();
    set.pCounterDataImage = data_.data();
    set.range = scope == counter_scope::kernel ? CUPTI_AutoRange : CUPTI_UserRange;
    set.replayMode = scope == counter_scope::kernel ? CUPTI_KernelReplay : CUPTI_UserReplay;
    set.maxRangesPerPass = max_ranges;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.targetNestingLevel = 1;
    api_.check(api_->range_set_config(&set), "cuptiRangeProfilerSetConfig");
  }
  counter_session(counter_session const&) = delete;
  counter_session& operator=(counter_session const&) = delete;
  ~counter_session() {
    if (in_range_) { (void)end_range(); }
    if (started_) {
      bool all = false;
      (void)end_pass(all);
    }
  }

  void start() {
    CUpti_RangeProfiler_Start_Params asked{};
    asked.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE;
    asked.pRangeProfilerObject = held_.object;
    api_.check(api_->range_start(&asked), "cuptiRangeProfilerStart");
    started_ = true;
  }

  /// Ends a pass; returns true after the last pass that is needed.
  bool stop() {
    bool all = false;
    api_.check(end_pass(all), "cuptiRangeProfilerStop");
    return all;
  }

  void push() {
    CUpti_RangeProfiler_PushRange_Params asked{};
    asked.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE;
    asked.pRangeProfilerObject = held_.object;
    asked.pRangeName = "all";
    api_.check(api_->range_push(&asked), "cuptiRangeProfilerPushRange");
    in_range_ = true;
  }
  void pop() { api_.check(end_range(), "cuptiRangeProfilerPopRange"); }

  /// Waits for the context and copies the counter data to the host; returns the number of lost
  /// ranges.
  std::size_t decode() {
    CUpti_RangeProfiler_DecodeData_Params asked{};
    asked.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE;
    asked.pRangeProfilerObject = held_.object;
    api_.check(api_->range_decode(&asked), "cuptiRangeProfilerDecodeData");
    return asked.numOfRangeDropped;
  }

  /// The number of ranges that were decoded.
  std::size_t ranges() const {
    CUpti_RangeProfiler_GetCounterDataInfo_Params asked{};
    asked.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE;
    asked.pCounterDataImage = data_.data();
    asked.counterDataImageSize = data_.size();
    api_.check(api_->range_data_info(&asked), "cuptiRangeProfilerGetCounterDataInfo");
    return asked.numTotalRanges;
  }

  std::vector<std::uint8_t> const& data() const noexcept { return data_; }

 private:
  // A member, so that the counters are given back also when the constructor fails after it.
  struct holder {
    holder(cupti_api const& with, CUcontext context) : api(with) {
      CUpti_RangeProfiler_Enable_Params asked{};
      asked.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
      asked.ctx = context;
      api.check(api->range_enable(&asked), "cuptiRangeProfilerEnable");
      object = asked.pRangeProfilerObject;
    }
    holder(holder const&) = delete;
    holder& operator=(holder const&) = delete;
    ~holder() {
      CUpti_RangeProfiler_Disable_Params asked{};
      asked.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
      asked.pRangeProfilerObject = object;
      (void)api->range_disable(&asked);  // nothing is left to do about a failure
    }
    cupti_api const& api;
    CUpti_RangeProfiler_Object* object = nullptr;
  };

  CUptiResult end_range() {
    in_range_ = false;
    CUpti_RangeProfiler_PopRange_Params asked{};
    asked.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE;
    asked.pRangeProfilerObject = held_.object;
    return api_->range_pop(&asked);
  }

  CUptiResult end_pass(bool& all) {
    started_ = false;
    CUpti_RangeProfiler_Stop_Params asked{};
    asked.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE;
    asked.pRangeProfilerObject = held_.object;
    auto const code = api_->range_stop(&asked);
    all = asked.isAllPassSubmitted != 0;
    return code;
  }

  cupti_api api_;
  holder held_;
  std::vector<std::uint8_t> config_;  // CUPTI keeps pointers to both while it counts
  std::vector<std::uint8_t> data_;
  bool started_ = false;
  bool in_range_ = false;
};

/// Values by range, and the passes that they needed.
struct counter_results {
  std::vector<std::vector<double>> rows;  ///< each in the order of the plan's metrics
  std::size_t passes = 0;
  std::size_t ranges_lost = 0;  ///< at least so many kernels had no room
};

/// Counts the metrics of `plan` while `run()` runs: once for each pass, after `warm_up` runs that
/// are not counted. `drain()` waits for the device before and after each run. The result has a row
/// for the whole run, or a row for each of at most `max_kernels` kernels. Throws `cupti_error`, and
/// passes on exceptions of `run`; the counters are released in every case.
inline counter_results count_passes(counter_host const& host, cupti_api const& api,
                                    CUcontext context, counter_plan const& plan,
                                    counter_scope scope, std::size_t max_kernels, int warm_up,
                                    std::function<void()> const& drain,
                                    std::function<void()> const& run) {
  auto const whole = scope == counter_scope::range;
  // CUPTI does not count kernels that it never measured, so kernels beyond its limit vanish. One
  // place more than wanted shows that there were more kernels.
  counter_session session{api, context, plan, scope, whole ? 1 : max_kernels + 1};
  auto const run_once = [&](bool counted) {
    drain();
    if (counted) { session.push(); }
    run();
    drain();
    if (counted) { session.pop(); }
  };
  for (int i = 0; i < warm_up; ++i) { run_once(false); }
  counter_results result;
  for (bool all = false; !all;) {
    // A pass more than planned is allowed, but an endless loop is not.
    if (result.passes > plan.passes) {
      throw cupti_error(
          CUPTI_ERROR_UNKNOWN,
          concat({"cuptiRangeProfilerStop: still not done after ", std::to_string(result.passes),
                  " passes of ", std::to_string(plan.passes)}));
    }
    session.start();
    run_once(whole);
    all = session.stop();
    ++result.passes;
  }
  if (!whole) { result.passes = plan.passes; }  // CUPTI replayed each
  result.ranges_lost = session.decode();
  auto const found = session.ranges();
  auto const kept = std::min(found, whole ? 1 : max_kernels);
  result.ranges_lost += found - kept;
  for (std::size_t i = 0; i < kept; ++i) {
    result.rows.push_back(host.evaluate(session.data(), i, plan.metrics));
  }
  return result;
}

}  // namespace assay::trace
