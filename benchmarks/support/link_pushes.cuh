// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rate at which ranks push to each other and do nothing else: the limit of an all-reduce.
#pragma once

#include "../../examples/ranks/rank_threads.cuh"

#include <assay/comm/concepts.hpp>
#include <assay/comm/slicing.hpp>
#include <assay/comm/system_access.cuh>
#include <assay/core/device.hpp>
#include <assay/kernel/launch.cuh>

#include <cuda/std/array>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::benchmark {

/// A rank's part of a push: so many vecs of one word to each target, twice.
struct push_call {
  ::cuda::std::array<uint4*, comm::max_ranks> to{};
  int targets = 0;
  std::uint64_t vecs = 0;
  unsigned word = 0;
};
inline constexpr unsigned push_rounds = 2;

/// 8 KiB: with eight under way in each of 132 blocks, 8 MiB are in flight, far above the latency
/// times the bandwidth of a link.
inline constexpr unsigned push_tile_vecs = 512;

/// By bulk copies of one thread of each block, from one tile of shared memory.
template <int Depth>
__global__ void push_by_bulk_copies(__grid_constant__ push_call const call) {
  if constexpr (ptx::architecture >= 90) {
    __shared__ alignas(128) uint4 tile[push_tile_vecs];
    for (auto i = threadIdx.x; i < push_tile_vecs; i += blockDim.x) {
      tile[i] = {call.word, call.word, call.word, call.word};
    }
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x != 0) { return; }
    auto const most = (call.vecs + gridDim.x - 1) / gridDim.x;
    auto const each = most < push_tile_vecs ? most : push_tile_vecs;
    auto const tiles = (call.vecs + each - 1) / each;
    for (std::uint64_t i = blockIdx.x; i < tiles * push_rounds; i += gridDim.x) {
      auto const begin = i % tiles * each;
      auto const vecs = call.vecs - begin < each ? call.vecs - begin : each;
      for (int k = 0; k < call.targets; ++k) {
        ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_global, ::cuda::ptx::space_shared,
                                   call.to[k] + begin, tile,
                                   static_cast<unsigned>(vecs * sizeof(uint4)));
      }
      comm::sys::commit_bulk_copies();
      // Until all but the last `Depth` groups are written.
      asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Depth) : "memory");
    }
    comm::sys::await_bulk_copies();
  }
}

/// By stores of 16 bytes of all threads.
template <class Vec>
__global__ void push_by_stores(__grid_constant__ push_call const call) {
  Vec const vec{call.word, call.word, call.word, call.word};
  auto const first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (unsigned round = 0; round < push_rounds; ++round) {
    for (auto i = first; i < call.vecs; i += std::uint64_t{gridDim.x} * blockDim.x) {
      for (int k = 0; k < call.targets; ++k) { call.to[k][i] = vec; }
    }
  }
}

/// A kernel and its grid; bulk copies last, as older devices have none.
struct push_way {
  char const* name;
  void (*kernel)(push_call);
  unsigned blocks_an_sm;
  unsigned threads;
};
inline constexpr push_way push_ways[] = {
    {"stores, 1 block an SM", push_by_stores<uint4>, 1, 512},
    {"stores, 3 blocks an SM", push_by_stores<uint4>, 3, 512},
    {"bulk copies, 1 block an SM", push_by_bulk_copies<8>, 1, 32},
};

/// The targets of the 2 (n - 1) / n of the bytes that each rank must send in an all-reduce.
/// `to_all`: a slice of inputs and a slice of sums to each of the others. `to_next`: all bytes to
/// the next rank, as in a ring.
enum class push_pattern { to_all, to_next };

/// Pushes of all ranks at once, which overwrite `room[rank]` of each.
class link_pushes {
 public:
  link_pushes(examples::rank_threads& team, std::array<void*, comm::max_ranks> room)
      : team_(team), room_(room) {}

  /// The ways that the devices support; the fastest way at a size shows the link's limit.
  std::span<push_way const> ways() const {
    auto const by_bulk = std::prev(std::end(push_ways));
    bool const bulk = kernel::kernel_attributes(by_bulk->kernel, team_.place(0)).capability >= 90;
    return std::span{push_ways}.first(std::size(push_ways) - (bulk ? 0 : 1));
  }

  /// Graphs of so many pushes of an all-reduce of `bytes`; what one replay leaves is checked.
  examples::rank_graphs record(push_way const& how, push_pattern pattern, std::size_t bytes,
                               int operations) {
    auto const n = team_.ranks();
    auto const slice_vecs = bytes / static_cast<unsigned>(n) / sizeof(uint4);
    auto const word = ++recorded_ * 16;
    auto const to_next = pattern == push_pattern::to_next;
    auto const vecs = to_next ? slice_vecs * static_cast<unsigned>(n - 1) : slice_vecs;
    // Each source has its own slice at a target.
    auto const region = [&](int at, int from) {
      return static_cast<uint4*>(room_[static_cast<std::size_t>(at)]) +
             (to_next ? 0 : slice_vecs * static_cast<unsigned>(from));
    };
    auto made = team_.record(operations, [&](int rank, ::cuda::stream_ref on, int) {
      push_call call{{}, to_next ? 1 : n - 1, vecs, word + static_cast<unsigned>(rank)};
      for (int step = 1; step <= call.targets; ++step) {
        call.to[static_cast<std::size_t>(step - 1)] = region((rank + step) % n, rank);
      }
      enqueue(how, team_.place(rank), on, call);
    });
    team_.run([&](int rank, ::cuda::stream_ref on) { made.launch(rank, on); });
    team_.synchronize();
    for (int rank = 0; rank < n; ++rank) {
      for (int step = 1; step <= (to_next ? 1 : n - 1); ++step) {
        auto const from = (rank + n - step) % n;
        require_arrived(region(rank, from), vecs, word + static_cast<unsigned>(from), from, rank);
      }
    }
    return made;
  }

 private:
  static void enqueue(push_way const& how, on::device place, ::cuda::stream_ref on,
                      push_call const& call) {
    auto const sms = static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount));
    auto const blocks = std::min<std::uint64_t>(std::uint64_t{how.blocks_an_sm} * sms,
                                                comm::ceil_div(call.vecs, how.threads));
    kernel::launch(how.kernel, static_cast<unsigned>(blocks), how.threads, 0, on, call);
  }

  static void require_arrived(uint4 const* at, std::uint64_t vecs, unsigned word, int from,
                              int rank) {
    std::vector<unsigned> seen(vecs * 4);
    check(cudaMemcpy(seen.data(), at, seen.size() * sizeof(unsigned), cudaMemcpyDefault));
    if (std::all_of(seen.begin(), seen.end(), [&](unsigned each) { return each == word; })) {
      return;
    }
    throw std::runtime_error("a push from rank " + std::to_string(from) + " to rank " +
                             std::to_string(rank) + " did not arrive as it was sent");
  }

  examples::rank_threads& team_;
  std::array<void*, comm::max_ranks> room_;
  unsigned recorded_ = 0;
};

}  // namespace assay::benchmark
