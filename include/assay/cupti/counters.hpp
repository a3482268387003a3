// SPDX-License-Identifier: Apache-2.0
/// @file
/// `counters`: hardware counters of the work that a callable launches, read in the process itself.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/driver_call.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/cupti/counter_session.hpp>
#include <assay/cupti/profiler_hold.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// The metrics to count, the device, and the way of counting.
struct counter_options {
  metric_set metrics = metric_sets::core();
  std::optional<on::device> place = {};  ///< none: the device that is current when measuring
  counter_scope scope = counter_scope::range;
  /// Runs before the ones that count: the first run of a kernel also loads it.
  int warm_up = 1;
  std::size_t max_kernels = 64;  ///< with values of their own; memory is taken for all of them
};

/// Reads hardware counters of NVIDIA GPUs, by CUPTI's range profiler (compute capability 7.5 and
/// up), while a callable runs.
///
/// Counting changes times: the device is drained around each run, CUPTI's own work uses clocks and
/// caches, and later passes find warm caches. So take times from elsewhere. The values tell the SM
/// clock at which the work ran. Do not measure while a trace is recorded or under another
/// profiler.
///
/// If counters cannot be read, nothing is thrown: `status()` and the result name
/// the obstacle and a remedy in one line, and the callable does not run. The counters and CUPTI's
/// profiler interface are held only inside `measure`; objects may be made and destroyed at any
/// time. One thread at a time may measure on a device.
class counters {
 public:
  /// Throws `std::invalid_argument` for options out of range. Asks nothing of the device yet.
  explicit counters(counter_options options = {}, std::optional<cupti_api> api = std::nullopt)
      : options_(std::move(options)), api_(api ? *std::move(api) : cupti_api::load()) {
    if (options_.warm_up < 0 || options_.max_kernels == 0) {
      throw std::invalid_argument("counters: warm_up must not be negative, and max_kernels not 0");
    }
    if (!api_.available()) {
      status_ =
          status_of(CUPTI_ERROR_NOT_INITIALIZED, "CUPTI cannot be loaded, " + api_.why_missing());
    }
  }

  /// The obstacle that the last attempt met.
  counter_status const& status() const noexcept { return status_; }

  /// Runs `run()` and returns the counter values. `run` must do the same work each time: it runs
  /// `warm_up` times, and then once for each pass (`counter_values::passes`). `run` may launch from
  /// any thread. Blocks until the work is done. Exceptions of `run` are passed on.
  counter_values measure(std::function<void()> const& run) {
    nvtx_range const scope{"counters", category::measurement};
    counter_values result;
    std::exception_ptr from_run;
    auto const watched = [&] {
      try {
        run();
        drain();
      } catch (...) {
        from_run = std::current_exception();
        throw;
      }
    };
    if (api_.available()) { status_ = attempt(watched, result); }
    if (from_run) {
      status_ = {};  // the counters are not what failed
      std::rethrow_exception(from_run);
    }
    result.status = status_;
    return result;
  }

 private:
  /// A device that is ready to be counted on.
  struct target {
    on::device place;
    CUcontext context;
    counter_host host;
  };

  static void drain() { check(cudaDeviceSynchronize()); }

  static CUcontext current_context() {
    check(cudaFree(nullptr));  // makes the runtime's context, if nothing did
    CUcontext context = nullptr;
    check(driver_call<CUresult (*)(CUcontext*)>("cuCtxGetCurrent", 4000)(&context));
    return context;
  }

  std::vector<std::uint8_t> availability(CUcontext context) const {
    CUpti_Profiler_GetCounterAvailability_Params asked{};
    asked.structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE;
    asked.ctx = context;
    api_.check(api_->counter_availability(&asked), "cuptiProfilerGetCounterAvailability");
    std::vector<std::uint8_t> image(asked.counterAvailabilityImageSize);
    asked.pCounterAvailabilityImage = image.data();
    api_.check(api_->counter_availability(&asked), "cuptiProfilerGetCounterAvailability");
    return image;
  }

  target open(on::device place) const {
    auto* const context = current_context();
    CUpti_Device_GetChipName_Params asked{};
    asked.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
    asked.deviceIndex = static_cast<std::size_t>(place.id);
    api_.check(api_->chip_name(&asked), "cuptiDeviceGetChipName");
    std::string const chip{asked.pChipName};
    return {place, context, counter_host{api_, chip, availability(context)}};
  }

  /// Counts on the device; every obstacle becomes the status.
  counter_status attempt(std::function<void()> const& run, counter_values& result) const {
    using state = counter_status::state;
    std::optional<device_guard> guard;
    auto place = options_.place;
    try {
      if (device_count() == 0) {
        return {state::no_device, 0, "no usable GPU: counters are read on GPUs only", {}};
      }
      if (!place) { check(cudaGetDevice(&place.emplace().id)); }
      require_device(*place);
      guard.emplace(*place);
    } catch (std::exception const& error) { return {state::no_device, 0, error.what(), {}}; }
    try {
      profiler_hold const held{api_};
      count(open(*place), run, result);
      return {};
    } catch (cupti_error const& error) {
      return status_of(error.code(), error.what());
    } catch (std::exception const& error) { return {state::failed, 0, error.what(), {}}; }
  }

  void count(target const& at, std::function<void()> const& run, counter_values& result) const {
    result.chip = at.host.chip();
    result.device = at.place.id;
    auto metrics = options_.metrics;
    metrics.emplace_back(metric::sm_clock);
    auto const plan = at.host.plan(metrics);
    result.dropped = plan.dropped;
    if (plan.metrics.empty()) { return; }
    auto const got = count_passes(at.host, api_, at.context, plan, options_.scope,
                                  options_.max_kernels, options_.warm_up, drain, run);
    result.passes = got.passes;
    result.ranges_lost = got.ranges_lost;
    for (auto const& row : got.rows) {
      auto const whole = options_.scope == counter_scope::range;
      auto& range = result.ranges.emplace_back();
      range.name = whole ? "all" : std::to_string(result.ranges.size() - 1);
      for (std::size_t i = 0; i < row.size(); ++i) {
        range.values.push_back({plan.metrics[i], row[i]});
      }
    }
  }

  counter_options options_;
  cupti_api api_;
  counter_status status_;
};

}  // namespace assay::trace
