// SPDX-License-Identifier: Apache-2.0
/// @file
/// Functions of the CUDA driver, found at run time: nothing links to the driver.
#pragma once

#include <assay/core/error.hpp>

#include <cuda.h>

#include <stdexcept>
#include <string>

namespace assay {

/// The driver's function of a name as CUDA version `since` (12050 is 12.5) declares it; null where
/// the driver has none.
template <class F>
F driver_call_or_null(char const* name, unsigned since) {
  void* entry = nullptr;
  auto status = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(name, &entry, since, cudaEnableDefault, &status));
  return status == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(entry) : nullptr;
}

/// The same; throws `std::runtime_error` where the driver has none.
template <class F>
F driver_call(char const* name, unsigned since) {
  auto const found = driver_call_or_null<F>(name, since);
  if (found != nullptr) { return found; }
  throw std::runtime_error("the CUDA driver has no " + std::string{name} +
                           ": update it to one of CUDA " +
                           cuda_version_text(static_cast<int>(since)) + " or later");
}

/// Throws `cuda_error` unless a call of the driver succeeded: the runtime took over its numbers.
inline void check(CUresult code, code_place where = code_place::current()) {
  check(static_cast<cudaError_t>(code), where);
}

}  // namespace assay
