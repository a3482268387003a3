// SPDX-License-Identifier: Apache-2.0
/// @file
/// The fused kernel: all-reduces rows, adds a residual and normalises.
#pragma once

#include <assay/comm/all_reduce_lamport.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// The arguments of the fused operation; `grid` is that of one row.
template <class T>
struct norm_call : all_reduce_call<T> {
  T const* residual[max_ranks];
  T const* gamma[max_ranks];
  T* residual_out[max_ranks];
  float epsilon;
  unsigned hidden;
  unsigned tokens;
  unsigned row_vecs;
  bool wide;  ///< all rows of all buffers are aligned to 16 bytes
};

/// Threads per block: one for each vec16 of a row, up to the largest block; or `wish`, if the
/// registers of so many threads hold a row.
inline unsigned norm_threads(unsigned row_vecs, unsigned wish) {
  auto const whole_warps = [](unsigned threads) {
    auto const rounded = (threads + 31) / 32 * 32;
    return rounded < most_push_threads ? rounded : most_push_threads;
  };
  auto const least = whole_warps((row_vecs + norm_vecs - 1) / norm_vecs);
  if (wish != 0) { return wish < least ? least : wish; }
  return whole_warps(row_vecs);
}

namespace detail {

/// The sum over all threads of a block; the same bits for all threads and in every run.
__device__ inline float block_sum(float value, float* shared) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFU, value, distance);
  }
  __syncthreads();  // all threads have read the last sum
  if (threadIdx.x % 32 == 0) { shared[threadIdx.x / 32] = value; }
  __syncthreads();
  float sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) { sum += shared[warp]; }
  return sum;
}

/// The rows of one block.
template <class T, int Ranks>
class norm_block {
 public:
  __device__ norm_block(channel<T> const& here, norm_call<T> const& call, unsigned epoch)
      : here_(here), call_(call), epoch_(epoch), buffer_(sys::lamport_buffer(epoch)) {
    auto const rows = call.block_vecs / call.row_vecs;
    first_ = here.block * rows;
    auto const left = first_ < call.tokens ? call.tokens - first_ : 0;
    rows_ = left < rows ? left : rows;
  }

  __device__ unsigned rows() const { return rows_; }

  __device__ void push(unsigned row) const {
    for (unsigned p = threadIdx.x; p < call_.row_vecs; p += blockDim.x) {
      auto const vec = sys::without_sentinel(load(call_.in[here_.me], row, p));
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        sys::store(
            here_.lamport_slot(here_.peer(step), here_.me, buffer_) + row * call_.row_vecs + p,
            vec);
      }
    }
  }

  __device__ void finish(unsigned row, float* shared) const {
    uint4 kept[norm_vecs];
    float squares = 0;
#pragma unroll
    for (unsigned k = 0; k < norm_vecs; ++k) {
      auto const p = threadIdx.x + k * blockDim.x;
      if (p >= call_.row_vecs) { continue; }
      kept[k] = residual_sum(row, p);
      auto const wide = unpack<T>(kept[k]);
      for (float const each : wide.at) { squares += each * each; }
      store(call_.residual_out[here_.me], row, p, kept[k]);
    }
    auto const mean = block_sum(squares, shared) / static_cast<float>(call_.hidden);
    float const scale = 1.0F / sqrtf(mean + call_.epsilon);
#pragma unroll
    for (unsigned k = 0; k < norm_vecs; ++k) {
      auto const p = threadIdx.x + k * blockDim.x;
      if (p >= call_.row_vecs) { continue; }
      auto wide = unpack<T>(kept[k]);
      auto const gamma = unpack<T>(load_at(call_.gamma[here_.me], p));
#pragma unroll
      for (int i = 0; i < unpacked_vec<T>::count; ++i) {
        wide.at[i] = wide.at[i] * scale * gamma.at[i];
      }
      store(call_.out[here_.me], row, p, pack<T>(wide));
    }
  }

 private:
  /// Vec16 `p` of the residual plus the sum over the ranks, rounded to `T`.
  __device__ uint4 residual_sum(unsigned row, unsigned p) const {
    auto const residual = load(call_.residual[here_.me], row, p);
    auto const own = sys::without_sentinel(load(call_.in[here_.me], row, p));
    auto const from = [&](int rank) {
      return here_.lamport_slot(here_.me, rank, buffer_) + row * call_.row_vecs + p;
    };
    uint4 vecs[Ranks];
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      vecs[rank] = own;
      if (rank < call_.ranks && rank != here_.me) { vecs[rank] = sys::load(from(rank)); }
    }
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank < call_.ranks && !sys::arrived(vecs[rank])) {
        vecs[rank] = await_lamport(here_, from(rank), rank, epoch_);
      }
    }
    auto sum = reduced<T>(vecs, call_.ranks, reduce_op{});
    combine<T>(sum, residual, reduce_op{});
    return pack<T>(sum);
  }

  __device__ uint4 load(T const* buffer, unsigned row, unsigned p) const {
    return load_at(buffer + std::uint64_t{first_ + row} * call_.hidden, p);
  }
  __device__ uint4 load_at(T const* from, unsigned p) const {
    if (call_.wide) { return reinterpret_cast<uint4 const*>(from)[p]; }
    return load_elements(from, call_.grid, p);
  }
  __device__ void store(T* buffer, unsigned row, unsigned p, uint4 const& vec) const {
    auto* const to = buffer + std::uint64_t{first_ + row} * call_.hidden;
    if (call_.wide) {
      reinterpret_cast<uint4*>(to)[p] = vec;
    } else {
      store_elements(to, call_.grid, p, vec);
    }
  }

  channel<T> const& here_;
  norm_call<T> const& call_;
  unsigned epoch_, buffer_, first_, rows_;
};

}  // namespace detail

/// `lamport_push` of rows. The block that receives a row adds the residual and normalises it.
template <class T, int Ranks>
__global__ void __launch_bounds__(most_push_threads, 1)
    all_reduce_rms_norm(__grid_constant__ norm_call<T> const call) {
  __shared__ float shared[most_push_threads / 32];
  channel<T> const here{call};
  auto const last = here.load_state();
  auto const epoch = sys::next_epoch(last.lamport_epoch);
  detail::norm_block<T, Ranks> const block{here, call, epoch};
  require_agreement(here);
  for (unsigned row = 0; row < block.rows(); ++row) { block.push(row); }
  detail::clear_last(here, last, epoch, threadIdx.x);
  detail::count_lamport(here, epoch, block.rows() * call.row_vecs);
  for (unsigned row = 0; row < block.rows(); ++row) { block.finish(row, shared); }
  here.report();
}

}  // namespace assay::comm
