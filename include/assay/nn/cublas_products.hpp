// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products of matrices by cuBLAS, of float32 or bfloat16 with float32 sums; needs cuBLAS.
#pragma once

#include <assay/core/bfloat16.hpp>
#include <assay/core/error.hpp>
#include <assay/core/stream.hpp>
#include <assay/nn/product.hpp>

#include <cublas_v2.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace assay::nn {

/// A call of cuBLAS that failed.
class cublas_error : public std::runtime_error {
 public:
  explicit cublas_error(cublasStatus_t code, code_place where)
      : std::runtime_error(where.in_words() + ": cuBLAS: " + cublasGetStatusString(code)) {}
};

/// Throws `cublas_error` unless a call succeeded.
inline void check_cublas(cublasStatus_t code, code_place where = code_place::current()) {
  if (code != CUBLAS_STATUS_SUCCESS) { throw cublas_error(code, where); }
}

/// A handle of cuBLAS. The workspace belongs to the caller and outlives the last product. Streams
/// that run its products at the same time need a handle each.
class cublas_products {
 public:
  /// With tf32, products of float32 round their factors to 11 significant bits.
  explicit cublas_products(std::span<std::byte> workspace, bool tf32 = false)
      : workspace_(workspace),
        arithmetic_(tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {
    cublasHandle_t made = nullptr;
    check_cublas(cublasCreate(&made));
    handle_.reset(made);
    // Else parts of a sum of bfloat16 products may be added in bfloat16.
    check_cublas(cublasSetMathMode(
        made, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                        CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
  }

  /// Enqueues the product. cuBLAS has columns where we have rows, so it computes c^T = b^T a^T.
  template <class A, class B, class C>
  void enqueue(::cuda::stream_ref stream, product const& op, std::span<A> a, std::span<B> b,
               std::span<C> c) {
    static_assert(std::is_same_v<std::remove_const_t<A>, std::remove_const_t<B>>);
    use(stream);
    // One call takes matrices at equal distances: the longer level of the batch. Here is the other.
    bool const inner_in_call = op.inner_batch >= op.outer_batch;
    auto const calls = inner_in_call ? op.outer_batch : op.inner_batch;
    auto const distance = [&](matrices const& of, bool in_call) {
      return in_call == inner_in_call ? of.inner : of.outer;
    };
    for (std::size_t i = 0; i < calls; ++i) {
      call(op, {a.data() + i * distance(op.a, false), type_of<A>(), op.a, distance(op.a, true)},
           {b.data() + i * distance(op.b, false), type_of<B>(), op.b, distance(op.b, true)},
           c.data() + i * distance(op.c, false), type_of<C>(), distance(op.c, true),
           op.batch() / calls);
    }
  }

 private:
  struct destroy {
    void operator()(cublasHandle_t handle) const noexcept { (void)cublasDestroy(handle); }
  };
  struct factor {
    void const* first;
    cudaDataType_t type;
    matrices const& shape;
    std::size_t distance;
    cublasOperation_t turned() const { return shape.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }
  };

  template <class T>
  static constexpr cudaDataType_t type_of() {
    using element = std::remove_const_t<T>;
    static_assert(std::is_same_v<element, float> || std::is_same_v<element, bfloat16>);
    return std::is_same_v<element, float> ? CUDA_R_32F : CUDA_R_16BF;
  }
  static int length(std::size_t value) { return static_cast<int>(value); }
  static long long apart(std::size_t value) { return static_cast<long long>(value); }

  /// A new stream takes the workspace from a handle, so it is given again.
  void use(::cuda::stream_ref stream) {
    if (stream.get() == stream_ && is_used_) { return; }
    check_cublas(cublasSetStream(handle_.get(), stream.get()));
    check_cublas(cublasSetWorkspace(handle_.get(), workspace_.data(), workspace_.size()));
    stream_ = stream.get();
    is_used_ = true;
  }

  void call(product const& op, factor const& a, factor const& b, void* c, cudaDataType_t c_type,
            std::size_t c_distance, std::size_t count) {
    auto const scale = static_cast<float>(op.scale);
    float const keep = op.accumulate ? 1 : 0;
    auto const m = length(op.columns), n = length(op.rows), k = length(op.depth);
    if (count == 1) {
      check_cublas(cublasGemmEx(handle_.get(), b.turned(), a.turned(), m, n, k, &scale, b.first,
                                b.type, length(b.shape.leading), a.first, a.type,
                                length(a.shape.leading), &keep, c, c_type, length(op.c.leading),
                                arithmetic_, CUBLAS_GEMM_DEFAULT));
      return;
    }
    check_cublas(cublasGemmStridedBatchedEx(
        handle_.get(), b.turned(), a.turned(), m, n, k, &scale, b.first, b.type,
        length(b.shape.leading), apart(b.distance), a.first, a.type, length(a.shape.leading),
        apart(a.distance), &keep, c, c_type, length(op.c.leading), apart(c_distance), length(count),
        arithmetic_, CUBLAS_GEMM_DEFAULT));
  }

  std::span<std::byte> workspace_;
  cublasComputeType_t arithmetic_;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy> handle_;
  cudaStream_t stream_ = nullptr;
  bool is_used_ = false;
};

}  // namespace assay::nn
