// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products of matrices by cuBLAS, in float32 without tf32; needs cuBLAS.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/nn/product.hpp>

#include <cublas_v2.h>

#include <cstddef>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace assay::nn {

/// A call of cuBLAS that failed.
class cublas_error : public std::runtime_error {
 public:
  explicit cublas_error(cublasStatus_t code, std::source_location where)
      : std::runtime_error(std::string{where.file_name()} + ":" + std::to_string(where.line()) +
                           ": cuBLAS: " + cublasGetStatusString(code)) {}
};

/// Throws `cublas_error` unless a call succeeded.
inline void check_cublas(cublasStatus_t code,
                         std::source_location where = std::source_location::current()) {
  if (code != CUBLAS_STATUS_SUCCESS) { throw cublas_error(code, where); }
}

/// A handle of cuBLAS for one stream, and the pointers to the heads of arrays in batched products.
///
/// The workspace and the room for pointers belong to the caller and outlive the last product. The
/// first product of an array in a batch copies its pointers to the device; later ones find them.
class cublas_products {
 public:
  cublas_products(::cuda::stream_ref stream, std::span<std::byte> workspace,
                  std::span<float*> pointers)
      : stream_(stream), pointers_(pointers) {
    cublasHandle_t made = nullptr;
    check_cublas(cublasCreate(&made));
    handle_.reset(made);
    check_cublas(cublasSetStream(made, stream.get()));
    check_cublas(cublasSetWorkspace(made, workspace.data(), workspace.size()));
    check_cublas(cublasSetMathMode(made, CUBLAS_DEFAULT_MATH));
  }

  /// Enqueues the product. cuBLAS has columns where we have rows, so it computes c^T = b^T a^T.
  void enqueue(product const& op, std::span<float const> a, std::span<float const> b,
               std::span<float> c) {
    auto const [m, n, k] = std::tuple{length(op.rows), length(op.columns), length(op.depth)};
    auto const turned = [](matrices const& of) {
      return of.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    auto const scale = static_cast<float>(op.scale);
    float const keep = op.accumulate ? 1 : 0;
    auto* const handle = handle_.get();
    if (op.batch() == 1) {
      check_cublas(cublasSgemm(handle, turned(op.b), turned(op.a), n, m, k, &scale, b.data(),
                               length(op.b.leading), a.data(), length(op.a.leading), &keep,
                               c.data(), length(op.c.leading)));
      return;
    }
    auto* const of_a = pointers_of(op, op.a, const_cast<float*>(a.data()));
    auto* const of_b = pointers_of(op, op.b, const_cast<float*>(b.data()));
    auto* const of_c = pointers_of(op, op.c, c.data());
    check_cublas(cublasSgemmBatched(handle, turned(op.b), turned(op.a), n, m, k, &scale, of_b,
                                    length(op.b.leading), of_a, length(op.a.leading), &keep, of_c,
                                    length(op.c.leading), length(op.batch())));
  }

 private:
  struct destroy {
    void operator()(cublasHandle_t handle) const noexcept { (void)cublasDestroy(handle); }
  };

  static int length(std::size_t value) { return static_cast<int>(value); }

  /// The pointers to all matrices of a batch, on the device.
  float** pointers_of(product const& op, matrices const& of, float* first) {
    auto const [found, is_new] = known_.try_emplace({first, of.outer, of.inner}, used_);
    auto const place = found->second;
    if (is_new) {
      if (used_ + op.batch() > pointers_.size()) {
        known_.erase(found);
        throw std::invalid_argument("cublas_products: " + std::to_string(pointers_.size()) +
                                    " pointers to heads are too few, " +
                                    std::to_string(used_ + op.batch()) + " are needed");
      }
      std::vector<float*> heads;
      for (std::size_t i = 0; i < op.batch(); ++i) {
        heads.push_back(first + i / op.inner_batch * of.outer + i % op.inner_batch * of.inner);
      }
      check(cudaMemcpyAsync(pointers_.data() + used_, heads.data(), heads.size() * sizeof(float*),
                            cudaMemcpyHostToDevice, stream_.get()));
      used_ += heads.size();
    }
    return pointers_.data() + place;
  }

  ::cuda::stream_ref stream_;
  std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy> handle_;
  std::span<float*> pointers_;
  std::size_t used_ = 0;
  std::map<std::tuple<float const*, std::size_t, std::size_t>, std::size_t> known_;
};

}  // namespace assay::nn
