// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel that all-reduces rows, adds a residual and normalises.
#pragma once

#include <assay/comm/all_reduce_push.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// Packs of a row that a thread keeps in registers; rows are up to this times 512 threads long.
inline constexpr unsigned norm_packs = 4;
inline constexpr unsigned most_row_packs = norm_packs * most_push_threads;

/// Arguments of the fused operation; `grid` is that of one row.
template <class T>
struct norm_call : all_reduce_call<T> {
  T const* residual[max_ranks];
  T const* gamma[max_ranks];
  T* residual_out[max_ranks];
  float epsilon;
  unsigned hidden;
  unsigned tokens;
  unsigned row_packs;
  bool wide;  ///< all rows of all buffers are aligned
};

/// A thread for each pack of a row, as far as a block has so many; or as many as the caller wishes,
/// if they can keep the row.
inline unsigned norm_threads(unsigned row_packs, unsigned wish) {
  auto const whole_warps = [](unsigned threads) {
    auto const rounded = (threads + 31) / 32 * 32;
    return rounded < most_push_threads ? rounded : most_push_threads;
  };
  auto const least = whole_warps((row_packs + norm_packs - 1) / norm_packs);
  if (wish != 0) { return wish < least ? least : wish; }
  return whole_warps(row_packs);
}

namespace detail {

/// The sum over all threads of a block, the same for all of them and in every run.
__device__ inline float block_sum(float value, float* shared) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFU, value, distance);
  }
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % 32 == 0) { shared[threadIdx.x / 32] = value; }
  __syncthreads();
  float sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) { sum += shared[warp]; }
  return sum;
}

/// One block's rows.
template <class T, int Ranks>
class norm_block {
 public:
  __device__ norm_block(channel<T> const& here, norm_call<T> const& call, unsigned epoch)
      : here_(here), call_(call), epoch_(epoch), buffer_(wire::lamport_buffer(epoch)) {
    auto const rows = call.block_packs / call.row_packs;
    first_ = here.block * rows;
    auto const left = first_ < call.tokens ? call.tokens - first_ : 0;
    rows_ = left < rows ? left : rows;
  }

  __device__ unsigned rows() const { return rows_; }

  __device__ void push(unsigned row) const {
    for (unsigned p = threadIdx.x; p < call_.row_packs; p += blockDim.x) {
      auto const pack = wire::disguised(load(call_.in[here_.me], row, p));
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        wire::store(
            here_.lamport_slot(here_.peer(step), here_.me, buffer_) + row * call_.row_packs + p,
            pack);
      }
    }
  }

  __device__ void finish(unsigned row, float* shared) const {
    uint4 kept[norm_packs];
    float squares = 0;
#pragma unroll
    for (unsigned k = 0; k < norm_packs; ++k) {
      auto const p = threadIdx.x + k * blockDim.x;
      if (p >= call_.row_packs) { continue; }
      kept[k] = residual_sum(row, p);
      auto const wide = widened<T>(kept[k]);
      for (float const each : wide.at) { squares += each * each; }
      store(call_.residual_out[here_.me], row, p, kept[k]);
    }
    auto const mean = block_sum(squares, shared) / static_cast<float>(call_.hidden);
    float const scale = 1.0F / sqrtf(mean + call_.epsilon);
#pragma unroll
    for (unsigned k = 0; k < norm_packs; ++k) {
      auto const p = threadIdx.x + k * blockDim.x;
      if (p >= call_.row_packs) { continue; }
      auto wide = widened<T>(kept[k]);
      auto const gamma = widened<T>(load_at(call_.gamma[here_.me], p));
#pragma unroll
      for (int i = 0; i < lanes<T>::count; ++i) { wide.at[i] = wide.at[i] * scale * gamma.at[i]; }
      store(call_.out[here_.me], row, p, narrowed<T>(wide));
    }
  }

 private:
  /// Pack `p` of residual + sum over the ranks, rounded.
  __device__ uint4 residual_sum(unsigned row, unsigned p) const {
    auto const residual = load(call_.residual[here_.me], row, p);
    auto const own = wire::disguised(load(call_.in[here_.me], row, p));
    auto const from = [&](int rank) {
      return here_.lamport_slot(here_.me, rank, buffer_) + row * call_.row_packs + p;
    };
    uint4 packs[Ranks];
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      packs[rank] = own;
      if (rank < call_.ranks && rank != here_.me) { packs[rank] = wire::load(from(rank)); }
    }
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank < call_.ranks && !wire::arrived(packs[rank])) {
        packs[rank] = await_lamport(here_, from(rank), rank, epoch_);
      }
    }
    auto sum = reduced<T>(packs, call_.ranks, combining{});
    combine<T>(sum, residual, combining{});
    return narrowed<T>(sum);
  }

  __device__ uint4 load(T const* buffer, unsigned row, unsigned p) const {
    return load_at(buffer + std::uint64_t{first_ + row} * call_.hidden, p);
  }
  __device__ uint4 load_at(T const* from, unsigned p) const {
    if (call_.wide) { return reinterpret_cast<uint4 const*>(from)[p]; }
    return load_elements(from, call_.grid, p);
  }
  __device__ void store(T* buffer, unsigned row, unsigned p, uint4 const& pack) const {
    auto* const to = buffer + std::uint64_t{first_ + row} * call_.hidden;
    if (call_.wide) {
      reinterpret_cast<uint4*>(to)[p] = pack;
    } else {
      store_elements(to, call_.grid, p, pack);
    }
  }

  channel<T> const& here_;
  norm_call<T> const& call_;
  unsigned epoch_, buffer_, first_, rows_;
};

}  // namespace detail

/// `lamport_push` of rows, each finished by the block that its packs come to.
template <class T, int Ranks>
__global__ void __launch_bounds__(most_push_threads, 1)
    all_reduce_rms_norm(__grid_constant__ norm_call<T> const call) {
  __shared__ float shared[most_push_threads / 32];
  channel<T> const here{call};
  auto const last = here.counted();
  auto const epoch = wire::next_epoch(last.lamport_epoch);
  detail::norm_block<T, Ranks> const block{here, call, epoch};
  require_agreement(here);
  for (unsigned row = 0; row < block.rows(); ++row) { block.push(row); }
  detail::clear_last(here, last, epoch, threadIdx.x);
  detail::count_lamport(here, epoch, block.rows() * call.row_packs);
  for (unsigned row = 0; row < block.rows(); ++row) { block.finish(row, shared); }
  here.report();
}

}  // namespace assay::comm
