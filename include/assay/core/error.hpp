// SPDX-License-Identifier: Apache-2.0
/// @file
/// CUDA status codes as exceptions.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace assay {

/// A CUDA version number as text: 13000 is `13.0`.
inline std::string cuda_version_text(int code) {
  return std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 10);
}

/// A CUDA runtime call that failed: its code; `what()` has file, line, the error's name and text.
class cuda_error : public std::runtime_error {
 public:
  explicit cuda_error(cudaError_t code,
                      std::source_location where = std::source_location::current())
      : std::runtime_error(std::string{where.file_name()} + ":" + std::to_string(where.line()) +
                           ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code)),
        code_(code) {}
  /// An error of the user's own code, which no place in the library tells.
  cuda_error(cudaError_t code, std::string const& what)
      : std::runtime_error(what + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code)),
        code_(code) {}

  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

/// Throws `cuda_error` unless `code` is `cudaSuccess`; clears the runtime's non-sticky last error,
/// so that the next check reports only its own call.
inline void check(cudaError_t code, std::source_location where = std::source_location::current()) {
  if (code == cudaSuccess) { return; }
  (void)cudaGetLastError();
  throw cuda_error(code, where);
}

/// Throws `cuda_error` if a launch of a callable, or another call that it did not check, has
/// failed.
inline void check_launches() {
  auto const code = cudaGetLastError();
  if (code == cudaSuccess) { return; }
  bool const shape = code == cudaErrorInvalidValue || code == cudaErrorInvalidConfiguration;
  throw cuda_error(code, shape ? "a launch or call of its own failed, perhaps by an empty grid, or "
                                 "by more threads or shared memory than a block may have"
                               : "a launch or call of its own failed");
}

/// `check` for destructors: true if the call succeeded. A driver that has already shut down counts
/// as success, since it has released all resources.
inline bool check_noexcept(cudaError_t code) noexcept {
  if (code == cudaSuccess || code == cudaErrorCudartUnloading ||
      code == cudaErrorContextIsDestroyed) {
    return true;
  }
  (void)cudaGetLastError();
  return false;
}

}  // namespace assay
