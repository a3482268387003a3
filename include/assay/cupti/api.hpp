// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cupti_api`: the table of CUPTI's functions, loaded at run time, and the meaning of its errors.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/metrics.hpp>

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

static_assert(CUPTI_API_VERSION >= 130000, "assay/cupti needs the CUPTI of CUDA 13 or newer");

/// Every function that the recorder and the counters call, by the type in CUPTI's headers. A test
/// replaces single members.
class cupti_functions {
  struct symbol {
    void* address;
    template <class Function>
    operator Function*() const noexcept {  // NOLINT: the member's type says which function it is
      return reinterpret_cast<Function*>(address);
    }
  };
  symbol get(char const* name) {
    auto* const address = find_(name);
    if (address == nullptr && missing.empty()) { missing = name; }
    return {address};
  }

  std::function<void*(char const*)> find_;

 public:
  /// `find` gives the address of a function, null where the library has none by that name.
  explicit cupti_functions(std::function<void*(char const*)> find) : find_(std::move(find)) {}

  std::string missing;  ///< the first function that was not found

  decltype(&cuptiGetVersion) version = get("cuptiGetVersion");
  decltype(&cuptiGetResultString) result_string = get("cuptiGetResultString");
  decltype(&cuptiGetCallbackName) callback_name = get("cuptiGetCallbackName");
  decltype(&cuptiDeviceGetChipName) chip_name = get("cuptiDeviceGetChipName");
  decltype(&cuptiSubscribe_v2) subscribe = get("cuptiSubscribe_v2");
  decltype(&cuptiUnsubscribe) unsubscribe = get("cuptiUnsubscribe");
  decltype(&cuptiSetThreadIdType) set_thread_id_type = get("cuptiSetThreadIdType");

  decltype(&cuptiActivitySetAttribute) activity_set_attribute = get("cuptiActivitySetAttribute");
  decltype(&cuptiActivityRegisterCallbacks) activity_register_callbacks =
      get("cuptiActivityRegisterCallbacks");
  decltype(&cuptiActivityEnable) activity_enable = get("cuptiActivityEnable");
  decltype(&cuptiActivityEnableAndDump) activity_enable_and_dump =
      get("cuptiActivityEnableAndDump");
  decltype(&cuptiActivityDisable) activity_disable = get("cuptiActivityDisable");
  decltype(&cuptiActivityEnableRuntimeApi) activity_enable_runtime_api =
      get("cuptiActivityEnableRuntimeApi");
  decltype(&cuptiActivityEnableDriverApi) activity_enable_driver_api =
      get("cuptiActivityEnableDriverApi");
  decltype(&cuptiActivityFlushAll) activity_flush_all = get("cuptiActivityFlushAll");
  decltype(&cuptiActivityGetNumDroppedRecords) activity_dropped_records =
      get("cuptiActivityGetNumDroppedRecords");
  decltype(&cuptiActivityGetNextRecord) activity_next_record = get("cuptiActivityGetNextRecord");

  decltype(&cuptiProfilerInitialize) profiler_initialize = get("cuptiProfilerInitialize");
  decltype(&cuptiProfilerDeInitialize) profiler_deinitialize = get("cuptiProfilerDeInitialize");
  decltype(&cuptiProfilerGetCounterAvailability) counter_availability =
      get("cuptiProfilerGetCounterAvailability");
  decltype(&cuptiProfilerHostInitialize) host_initialize = get("cuptiProfilerHostInitialize");
  decltype(&cuptiProfilerHostDeinitialize) host_deinitialize = get("cuptiProfilerHostDeinitialize");
  decltype(&cuptiProfilerHostConfigAddMetrics) host_add_metrics =
      get("cuptiProfilerHostConfigAddMetrics");
  decltype(&cuptiProfilerHostGetConfigImageSize) host_config_size =
      get("cuptiProfilerHostGetConfigImageSize");
  decltype(&cuptiProfilerHostGetConfigImage) host_config = get("cuptiProfilerHostGetConfigImage");
  decltype(&cuptiProfilerHostGetNumOfPasses) host_passes = get("cuptiProfilerHostGetNumOfPasses");
  decltype(&cuptiProfilerHostEvaluateToGpuValues) host_evaluate =
      get("cuptiProfilerHostEvaluateToGpuValues");

  decltype(&cuptiRangeProfilerEnable) range_enable = get("cuptiRangeProfilerEnable");
  decltype(&cuptiRangeProfilerDisable) range_disable = get("cuptiRangeProfilerDisable");
  decltype(&cuptiRangeProfilerGetCounterDataSize) range_data_size =
      get("cuptiRangeProfilerGetCounterDataSize");
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) range_data_initialize =
      get("cuptiRangeProfilerCounterDataImageInitialize");
  decltype(&cuptiRangeProfilerSetConfig) range_set_config = get("cuptiRangeProfilerSetConfig");
  decltype(&cuptiRangeProfilerStart) range_start = get("cuptiRangeProfilerStart");
  decltype(&cuptiRangeProfilerStop) range_stop = get("cuptiRangeProfilerStop");
  decltype(&cuptiRangeProfilerPushRange) range_push = get("cuptiRangeProfilerPushRange");
  decltype(&cuptiRangeProfilerPopRange) range_pop = get("cuptiRangeProfilerPopRange");
  decltype(&cuptiRangeProfilerDecodeData) range_decode = get("cuptiRangeProfilerDecodeData");
  decltype(&cuptiRangeProfilerGetCounterDataInfo) range_data_info =
      get("cuptiRangeProfilerGetCounterDataInfo");
};

/// A CUPTI call that failed: its code, and `function: text` as `what()`.
class cupti_error : public std::runtime_error {
 public:
  cupti_error(CUptiResult code, std::string const& text) : std::runtime_error(text), code_(code) {}
  CUptiResult code() const noexcept { return code_; }

 private:
  CUptiResult code_;
};

/// CUPTI as the recorder and the counters call it, found by name at run time: a program does not
/// link CUPTI and starts where CUPTI is missing.
///
/// A cheap copyable handle, thread safe. The library stays loaded until the process ends, since
/// CUPTI does not support being unloaded.
class cupti_api {
 public:
  explicit cupti_api(cupti_functions functions)
      : functions_(std::make_shared<cupti_functions const>(std::move(functions))) {
    if (!functions_->missing.empty()) {
      why_missing_ = "CUPTI has no function " + functions_->missing;
      functions_.reset();
    }
  }

  /// The CUPTI of the headers' major version; the first call loads it. The loader's own path comes
  /// first, then the toolkits that CUDA_HOME and CUDA_PATH name, then those in /usr/local. Does not
  /// throw: see `why_missing`.
  static cupti_api const& load() {
    static auto const& loaded = *new cupti_api(load_library());  // never destroyed
    return loaded;
  }

  bool available() const noexcept { return functions_ != nullptr; }
  /// Why nothing can be called; empty when available.
  std::string const& why_missing() const noexcept { return why_missing_; }

  /// The functions; throws `cupti_error` with the reason where CUPTI is missing.
  cupti_functions const& operator*() const {
    if (!functions_) { throw cupti_error(CUPTI_ERROR_NOT_INITIALIZED, why_missing_); }
    return *functions_;
  }
  cupti_functions const* operator->() const { return &**this; }

  /// Throws `cupti_error` that names the call, unless the call worked.
  void check(CUptiResult code, char const* call) const {
    if (code != CUPTI_SUCCESS) { throw cupti_error(code, concat({call, ": ", text(code)})); }
  }

  /// `CUPTI_ERROR_HARDWARE_BUSY (26)`.
  std::string text(CUptiResult code) const {
    char const* name = nullptr;
    auto const known = functions_ && functions_->result_string(code, &name) == CUPTI_SUCCESS;
    return concat({known && name != nullptr ? std::string{name} : std::string{"CUPTI error"}, " (",
                   std::to_string(static_cast<int>(code)), ")"});
  }

 private:
  cupti_api() = default;

  static cupti_api load_library() {
    constexpr int major = CUPTI_API_VERSION / 10000;
    constexpr int minor = CUPTI_API_VERSION / 100 % 100;
    auto const name = "libcupti.so." + std::to_string(major);
    auto const version = concat({std::to_string(major), ".", std::to_string(minor)});
    std::vector<std::string> folders{""};
    for (auto const& root : {variable("CUDA_HOME"), variable("CUDA_PATH"),
                             "/usr/local/cuda-" + version, std::string{"/usr/local/cuda"}}) {
      for (auto const* const folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"}) {
        if (!root.empty()) { folders.push_back(root + folder); }
      }
    }
    cupti_api nothing;
    for (auto const& folder : folders) {
      if (auto* const library = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
        load_companions(library);
        return cupti_api{
            cupti_functions{[library](char const* symbol) { return ::dlsym(library, symbol); }}};
      }
      if (nothing.why_missing_.empty()) { nothing.why_missing_ = ::dlerror(); }
    }
    nothing.why_missing_ +=
        "; add the folder extras/CUPTI/lib64 of the CUDA toolkit to LD_LIBRARY_PATH, or set "
        "CUDA_HOME";
    return nothing;
  }

  static std::string variable(char const* name) {
    auto const* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  }

  /// CUPTI opens these libraries by bare name, which finds them once they are loaded. Without them
  /// the recorder works, and the counters report the error of CUPTI.
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

  std::shared_ptr<cupti_functions const> functions_;
  std::string why_missing_;
};

/// The obstacle that an error code stands for, with what removes the obstacle. `reason` is kept.
inline counter_status status_of(CUptiResult code, std::string reason) {
  using state = counter_status::state;
  struct obstacle {
    int code;
    state is;
    char const* remedy;
  };
  constexpr auto obstacles = std::to_array<obstacle>({
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
       "this virtual GPU has no profiling: ask its host to allow it"},
      {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, state::unsupported,
       "profiling needs confidential computing to be off"},
      {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, state::unsupported, "mining cards have no profiling"},
      {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, state::unsupported,
       "profiling needs MIG to be off, or an instance that has the whole GPU"},
      {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, state::unsupported, "profiling needs SLI to be off"},
      {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, state::unsupported,
       "allow counters to all users in the Windows driver's developer settings"},
      {CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, state::unsupported,
       "profiling needs MPS to be off: run as no client of an MPS server"},
      {CUPTI_ERROR_NOT_SUPPORTED, state::unsupported,
       "this device, driver or mode does not support it; clients of an MPS server have no "
       "counters"},
      {CUPTI_ERROR_NOT_COMPATIBLE, state::unsupported,
       "CUPTI and the driver do not fit together: update the older one"},
      {CUPTI_ERROR_INVALID_KIND, state::unsupported, "this CUPTI has no such records"},
      {CUPTI_ERROR_INVALID_DEVICE, state::no_device, ""},
      {CUPTI_ERROR_OUT_OF_MEMORY, state::failed, "ask for smaller or fewer buffers and ranges"},
      {CUPTI_ERROR_UNKNOWN, state::failed,
       "often the driver is missing, or older than the toolkit"},
  });
  for (auto const& each : obstacles) {
    if (each.code == static_cast<int>(code)) {
      return {each.is, each.code, std::move(reason), each.remedy};
    }
  }
  return {state::failed, static_cast<int>(code), std::move(reason), {}};
}

/// `CUPTI_ERROR_... (number): what helps`.
inline std::string describe(cupti_api const& api, CUptiResult code) {
  return status_of(code, api.text(code)).line();
}

}  // namespace assay::trace
