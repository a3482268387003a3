// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cupti_api`: the functions of CUPTI that the recorder uses, and what its errors mean.
#pragma once

#include <cupti.h>

#include <string>

namespace assay::trace {

/// CUPTI's functions by value, so that tests can stand in for the library.
struct cupti_api {
  decltype(&cuptiGetVersion) version = &cuptiGetVersion;
  decltype(&cuptiSubscribe_v2) subscribe = &cuptiSubscribe_v2;
  decltype(&cuptiUnsubscribe) unsubscribe = &cuptiUnsubscribe;
  decltype(&cuptiSetThreadIdType) thread_id_type = &cuptiSetThreadIdType;
  decltype(&cuptiActivitySetAttribute) set_attribute = &cuptiActivitySetAttribute;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = &cuptiActivityRegisterCallbacks;
  decltype(&cuptiActivityEnable) enable = &cuptiActivityEnable;
  decltype(&cuptiActivityEnableAndDump) enable_and_dump = &cuptiActivityEnableAndDump;
  decltype(&cuptiActivityDisable) disable = &cuptiActivityDisable;
  decltype(&cuptiActivityEnableRuntimeApi) runtime_call = &cuptiActivityEnableRuntimeApi;
  decltype(&cuptiActivityEnableDriverApi) driver_call = &cuptiActivityEnableDriverApi;
  decltype(&cuptiActivityFlushAll) flush = &cuptiActivityFlushAll;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = &cuptiActivityGetNumDroppedRecords;
  decltype(&cuptiActivityGetNextRecord) next_record = &cuptiActivityGetNextRecord;
  decltype(&cuptiGetTimestamp) timestamp = &cuptiGetTimestamp;
  decltype(&cuptiGetCallbackName) callback_name = &cuptiGetCallbackName;
};

/// `CUPTI_ERROR_...: what helps`.
inline std::string describe_cupti_error(CUptiResult code) {
  char const* name = nullptr;
  std::string text = cuptiGetResultString(code, &name) == CUPTI_SUCCESS && name != nullptr
                         ? name
                         : "CUPTI error " + std::to_string(static_cast<int>(code));
  switch (code) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return text + ": another tool traces this process; run without it, or read its trace";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return text +
             ": the driver lets administrators trace only; run as root or with CAP_SYS_ADMIN, or "
             "load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return text + ": profiling is switched off for this virtual GPU; ask its host to allow it";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return text + ": a GPU in confidential-computing mode cannot be traced";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return text + ": this kind of record cannot be had of a MIG device";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_INVALID_KIND:
      return text + ": this device or library does not have this kind of record";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return text + ": ask for smaller or fewer buffers";
    case CUPTI_ERROR_UNKNOWN:
      return text + ": mostly a driver that is missing, or older than the toolkit";
    default:
      return text;
  }
}

}  // namespace assay::trace
