// SPDX-License-Identifier: Apache-2.0
/// @file
/// CUPTI's profiling functions, looked up at run time, and its status codes in words.
#pragma once

#include <assay/trace/counter_values.hpp>

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// A CUPTI call that failed: its code, and `function: text` as `what()`.
class profiler_error : public std::runtime_error {
 public:
  profiler_error(CUptiResult code, std::string const& text)
      : std::runtime_error(text), code_(code) {}
  CUptiResult code() const noexcept { return code_; }

 private:
  CUptiResult code_;
};

/// CUPTI as the counters use it, looked up by name: programs neither link it for them nor fail to
/// start where it is missing.
///
/// A cheap copyable handle; the library stays loaded for good, since CUPTI does not stand being
/// unloaded. Thread safe once made.
class profiler_api {
 public:
  /// How a function of the library is found, null if it has none by that name.
  using lookup = std::function<void*(char const*)>;

  /// Looks for the CUPTI of the headers' major version: where the loader looks, which is first the
  /// program's own library path, then in the folders of the toolkit that CUDA_HOME or CUDA_PATH
  /// names, then in the usual one. Does not throw: see `why_missing`.
  static profiler_api load() {
    auto const name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
    std::vector<std::string> places{""};
    for (char const* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (auto const* const root = std::getenv(variable)) { add_toolkit(places, root); }
    }
    add_toolkit(places, "/usr/local/cuda");
    std::string why;
    for (auto const& place : places) {
      if (auto* const library = ::dlopen((place + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
        load_companions(library);
        return profiler_api{[library](char const* symbol) { return ::dlsym(library, symbol); }};
      }
      if (why.empty()) { why = ::dlerror(); }
    }
    profiler_api nothing;
    nothing.why_missing_ = why;
    return nothing;
  }

  explicit profiler_api(lookup const& find) : functions_(std::make_shared<functions const>(find)) {
    if (!functions_->missing.empty()) {
      why_missing_ = "CUPTI has no function " + functions_->missing;
      functions_.reset();
    }
  }

  bool available() const noexcept { return functions_ != nullptr; }
  /// Why nothing can be called; empty when available.
  std::string const& why_missing() const noexcept { return why_missing_; }

  /// Every function that the counters use, by the type in CUPTI's headers.
  struct functions {
    explicit functions(lookup const& find) {
      get(find, "cuptiGetResultString", result_string);
      get(find, "cuptiDeviceGetChipName", chip_name);
      get(find, "cuptiProfilerInitialize", initialize);
      get(find, "cuptiProfilerGetCounterAvailability", availability);
      get(find, "cuptiProfilerHostInitialize", host_initialize);
      get(find, "cuptiProfilerHostDeinitialize", host_deinitialize);
      get(find, "cuptiProfilerHostGetSupportedChips", host_chips);
      get(find, "cuptiProfilerHostGetBaseMetrics", host_base_metrics);
      get(find, "cuptiProfilerHostGetSubMetrics", host_sub_metrics);
      get(find, "cuptiProfilerHostGetMetricProperties", host_properties);
      get(find, "cuptiProfilerHostConfigAddMetrics", host_add_metrics);
      get(find, "cuptiProfilerHostGetConfigImageSize", host_config_size);
      get(find, "cuptiProfilerHostGetConfigImage", host_config);
      get(find, "cuptiProfilerHostGetNumOfPasses", host_passes);
      get(find, "cuptiProfilerHostEvaluateToGpuValues", host_evaluate);
      get(find, "cuptiRangeProfilerEnable", enable);
      get(find, "cuptiRangeProfilerDisable", disable);
      get(find, "cuptiRangeProfilerGetCounterDataSize", data_size);
      get(find, "cuptiRangeProfilerCounterDataImageInitialize", data_initialize);
      get(find, "cuptiRangeProfilerSetConfig", set_config);
      get(find, "cuptiRangeProfilerStart", start);
      get(find, "cuptiRangeProfilerStop", stop);
      get(find, "cuptiRangeProfilerPushRange", push);
      get(find, "cuptiRangeProfilerPopRange", pop);
      get(find, "cuptiRangeProfilerDecodeData", decode);
      get(find, "cuptiRangeProfilerGetCounterDataInfo", data_info);
      get(find, "cuptiRangeProfilerCounterDataGetRangeInfo", range_info);
    }

    std::string missing;  // the first that is not there
    decltype(&cuptiGetResultString) result_string;
    decltype(&cuptiDeviceGetChipName) chip_name;
    decltype(&cuptiProfilerInitialize) initialize;
    decltype(&cuptiProfilerGetCounterAvailability) availability;
    decltype(&cuptiProfilerHostInitialize) host_initialize;
    decltype(&cuptiProfilerHostDeinitialize) host_deinitialize;
    decltype(&cuptiProfilerHostGetSupportedChips) host_chips;
    decltype(&cuptiProfilerHostGetBaseMetrics) host_base_metrics;
    decltype(&cuptiProfilerHostGetSubMetrics) host_sub_metrics;
    decltype(&cuptiProfilerHostGetMetricProperties) host_properties;
    decltype(&cuptiProfilerHostConfigAddMetrics) host_add_metrics;
    decltype(&cuptiProfilerHostGetConfigImageSize) host_config_size;
    decltype(&cuptiProfilerHostGetConfigImage) host_config;
    decltype(&cuptiProfilerHostGetNumOfPasses) host_passes;
    decltype(&cuptiProfilerHostEvaluateToGpuValues) host_evaluate;
    decltype(&cuptiRangeProfilerEnable) enable;
    decltype(&cuptiRangeProfilerDisable) disable;
    decltype(&cuptiRangeProfilerGetCounterDataSize) data_size;
    decltype(&cuptiRangeProfilerCounterDataImageInitialize) data_initialize;
    decltype(&cuptiRangeProfilerSetConfig) set_config;
    decltype(&cuptiRangeProfilerStart) start;
    decltype(&cuptiRangeProfilerStop) stop;
    decltype(&cuptiRangeProfilerPushRange) push;
    decltype(&cuptiRangeProfilerPopRange) pop;
    decltype(&cuptiRangeProfilerDecodeData) decode;
    decltype(&cuptiRangeProfilerGetCounterDataInfo) data_info;
    decltype(&cuptiRangeProfilerCounterDataGetRangeInfo) range_info;

   private:
    template <class Function>
    void get(lookup const& find, char const* name, Function& into) {
      into = reinterpret_cast<Function>(find(name));
      if (into == nullptr && missing.empty()) { missing = name; }
    }
  };

  /// The functions; throws `profiler_error` with the reason where there are none.
  functions const* operator->() const {
    if (!functions_) { throw profiler_error(CUPTI_ERROR_NOT_INITIALIZED, why_missing_); }
    return functions_.get();
  }

  /// Throws `profiler_error` that names the call, unless it worked.
  void check(CUptiResult code, char const* call) const {
    if (code != CUPTI_SUCCESS) {
      throw profiler_error(code, std::string{call} + ": " + text(code));
    }
  }

  /// `CUPTI_ERROR_HARDWARE_BUSY (26)`.
  std::string text(CUptiResult code) const {
    char const* name = nullptr;
    auto const known = functions_ && functions_->result_string(code, &name) == CUPTI_SUCCESS;
    return (known && name != nullptr ? std::string{name} : std::string{"CUPTI error"}) + " (" +
           std::to_string(static_cast<int>(code)) + ")";
  }

 private:
  profiler_api() = default;

  static void add_toolkit(std::vector<std::string>& places, std::string const& root) {
    for (auto const* const folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"}) {
      places.push_back(root + folder);
    }
  }

  /// CUPTI opens these two by bare name, which works for libraries that are already loaded: so they
  /// are looked for beside it. Where they are not, CUPTI will say what it misses.
  static void load_companions(void* library) {
    Dl_info info{};
    auto* const any = ::dlsym(library, "cuptiGetResultString");
    if (any == nullptr || ::dladdr(any, &info) == 0 || info.dli_fname == nullptr) { return; }
    std::string const path{info.dli_fname};
    auto const folder = path.substr(0, path.rfind('/') + 1);
    for (auto const* const name : {"libnvperf_host.so", "libnvperf_target.so"}) {
      if (::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
        (void)::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      }
    }
  }

  std::shared_ptr<functions const> functions_;
  std::string why_missing_;
};

/// What a failed call means to somebody who wants counters: which obstacle it is, and what removes
/// it.
inline counter_status status_of(CUptiResult code, std::string reason) {
  using state = counter_status::state;
  struct meaning {
    int code;
    state is;
    char const* remedy;
  };
  constexpr auto meanings = std::to_array<meaning>({
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, state::no_permission,
       "run as root or with CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN), or load the driver "
       "with NVreg_RestrictProfilingToAdminUsers=0"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, state::no_permission,
       "the hypervisor has to allow profiling for this virtual GPU"},
      {CUPTI_ERROR_HARDWARE_BUSY, state::busy,
       "another program holds the counters: end other profilers, pause DCGM with `dcgmi profile "
       "--pause`"},
      {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, state::busy,
       "another profiler is in this process: run without it"},
      {CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, state::busy,
       "something in this process uses CUPTI's older counter interface: run without it"},
      {CUPTI_ERROR_NOT_INITIALIZED, state::missing_library,
       "libcupti.so, libnvperf_host.so and libnvperf_target.so of the CUDA toolkit must be in one "
       "folder that is on LD_LIBRARY_PATH"},
      {CUPTI_ERROR_INVALID_CHIP_NAME, state::unsupported,
       "the toolkit's CUPTI does not know this GPU: use a newer toolkit"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, state::unsupported,
       "this kind of virtual GPU has no counters"},
      {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, state::unsupported,
       "counters need confidential computing to be off"},
      {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, state::unsupported, "mining cards have no counters"},
      {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, state::unsupported,
       "counters need MIG to be off, or an instance that has the whole GPU"},
      {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, state::unsupported, "counters need SLI to be off"},
      {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, state::unsupported,
       "allow counters to all users in the Windows driver's developer settings"},
      {CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, state::unsupported,
       "counters need MPS to be off: run as no client of an MPS server"},
      {CUPTI_ERROR_NOT_SUPPORTED, state::unsupported,
       "this device, driver or mode has no counters; clients of an MPS server have none"},
      {CUPTI_ERROR_NOT_COMPATIBLE, state::unsupported,
       "CUPTI and the driver do not fit together: update the older one"},
      {CUPTI_ERROR_INVALID_DEVICE, state::no_device, ""},
  });
  for (auto const& each : meanings) {
    if (each.code == static_cast<int>(code)) {
      return {each.is, each.code, std::move(reason), each.remedy};
    }
  }
  return {state::failed, static_cast<int>(code), std::move(reason), {}};
}

}  // namespace assay::trace
