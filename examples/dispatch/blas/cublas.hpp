// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cublas_product`: a product of row-major matrices by cuBLAS, a peer. Link to CUDA::cublas.
#pragma once

#include <assay/core/requirements.hpp>

#include <cublas_v2.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace assay::examples {

namespace detail {

inline void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) { return; }
  throw std::runtime_error(std::string{"cuBLAS: "} + cublasGetStatusString(status));
}

struct cublas_ender {
  void operator()(cublasContext* old) const { (void)cublasDestroy(old); }
};

/// The handle of this thread, for the device that is current at its first call.
inline cublasHandle_t cublas_handle() {
  thread_local std::unique_ptr<cublasContext, cublas_ender> const mine{[] {
    cublasHandle_t made = nullptr;
    check(cublasCreate(&made));
    return made;
  }()};
  return mine.get();
}

}  // namespace detail

/// Enqueues C[m, n] = A[m, k] x B[k, n]. The rows of A are `k_pitch` elements apart, and the rows
/// of B and C `n_pitch`. cuBLAS uses tensor cores for float32 only where a program permits it. All
/// calls of a thread are for one device. Throws `std::runtime_error` where cuBLAS fails.
inline void cublas_product(cudaStream_t stream, int m, int n, int k, float const* a, int k_pitch,
                           float const* b, int n_pitch, float* c) {
  float const one = 1, zero = 0;
  auto const handle = detail::cublas_handle();
  detail::check(cublasSetStream(handle, stream));
  // cuBLAS has column-major matrices: it computes the transposed product.
  detail::check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n_pitch, a, k_pitch,
                            &zero, c, n_pitch));
}

}  // namespace assay::examples
