// SPDX-License-Identifier: Apache-2.0
/// @file
/// CUDA status codes as exceptions.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace assay {

/// The place of a call, as the default argument `code_place where = code_place::current()`. Clang
/// 14 has no `std::source_location`.
struct code_place {
  char const* file;
  unsigned line;

  static constexpr code_place current(char const* file = __builtin_FILE(),
                                      unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
  /// `x.cu:7`
  std::string in_words() const { return std::string{file} + ":" + std::to_string(line); }
};

/// A CUDA version number as text: 13000 is `13.0`.
inline std::string cuda_version_text(int code) {
  return std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 10);
}

/// A CUDA runtime call that failed: its code; `what()` has file, line, the error's name and text.
class cuda_error : public std::runtime_error {
 public:
  explicit cuda_error(cudaError_t code, code_place where = code_place::current())
      : std::runtime_error(where.in_words() + ": " + cudaGetErrorName(code) + ": " +
                           cudaGetErrorString(code)),
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
inline void check(cudaError_t code, code_place where = code_place::current()) {
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
