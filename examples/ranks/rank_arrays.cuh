// SPDX-License-Identifier: Apache-2.0
/// @file
/// `rank_arrays`: inputs and outputs of all ranks with exact sums, and their check.
#pragma once

#include "rank_threads.cuh"

#include <assay/comm/concepts.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/workload/all_reduce.cuh>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace assay::examples {

/// Memory of `cudaMalloc` on each rank's device, which peers reach, from some bytes on. No kernel
/// may use the memory when it is freed.
class rank_memory {
 public:
  rank_memory(std::vector<on::device> const& places, std::size_t bytes, std::size_t padding = 0)
      : padding_(padding) {
    for (auto const at : places) { blocks_.emplace_back(at, bytes + padding); }
  }
  void* data(int rank) const {
    return static_cast<std::byte*>(blocks_.at(static_cast<std::size_t>(rank)).get()) + padding_;
  }

 private:
  std::size_t padding_;
  std::vector<device_block> blocks_;
};

/// An input and an output for each rank, in memory with shared ownership. The inputs are those of
/// `workloads::reduction_inputs`. All members use the streams of a team, and block.
template <comm::element T>
class rank_arrays {
 public:
  /// `count` elements each way in memory of `cudaMalloc`.
  rank_arrays(rank_threads& team, std::size_t count, std::uint64_t seed)
      : rank_arrays(team, count, seed, team.ranks(),
                    std::make_shared<rank_memory>(team.places(), bytes(count))) {}

  /// Uses `memory`: `memory->data(rank)` has `bytes(count)` bytes. The sums are those of `ranks`
  /// ranks, which begin with the ranks of the team.
  template <class Memory>
  rank_arrays(rank_threads& team, std::size_t count, std::uint64_t seed, int ranks,
              std::shared_ptr<Memory> memory)
      : team_(&team), count_(count), inputs_{seed, ranks}, memory_(memory) {
    for (int i = 0; i < team.ranks(); ++i) {
      auto const r = static_cast<std::size_t>(i);
      auto* const at = static_cast<std::byte*>(memory->data(i));
      same_.in[r] = same_.out[r] = reinterpret_cast<T*>(at + bytes(count) / 2);
      apart_.in[r] = reinterpret_cast<T*>(at);
    }
    apart_.out = same_.out;
    fill(apart_);
  }

  /// Bytes of a rank's memory, for both arrays: whole pages of 4 KiB, so that both have the same
  /// alignment.
  static std::size_t bytes(std::size_t count) {
    constexpr std::size_t page = 4096;
    return (count * sizeof(T) + page - 1) / page * page * 2;
  }

  /// The first of each rank's arrays is its input, the second its output.
  comm::rank_buffers<T> out_of_place() const { return apart_; }
  /// Both are the rank's output.
  comm::rank_buffers<T> in_place() const { return same_; }
  /// Fills the outputs as the inputs are filled, for operations in place.
  void fill_outputs() { fill(same_); }

  /// Overwrites all outputs with NaN.
  void poison() {
    team_->run([&](int rank, ::cuda::stream_ref on) {
      check(cudaMemsetAsync(same_.out.at(static_cast<std::size_t>(rank)), 0xFF, count_ * sizeof(T),
                            on.get()));
    });
    // A rank may write to its peers' outputs, so all ranks must be poisoned first.
    team_->synchronize();
  }

  /// The number of wrong elements among the first `count` of all outputs.
  std::uint64_t wrong(std::size_t count, comm::reduction what) {
    nvtx_range const scope{"check", category::measurement, count * sizeof(T)};
    rank_memory const counters{team_->places(), sizeof(unsigned long long)};
    std::vector<unsigned long long> found(static_cast<std::size_t>(team_->ranks()), 0);
    team_->run([&](int rank, ::cuda::stream_ref on) {
      auto const r = static_cast<std::size_t>(rank);
      auto* const counter = static_cast<unsigned long long*>(counters.data(rank));
      check(cudaMemsetAsync(counter, 0, sizeof *counter, on.get()));
      workloads::enqueue_count_wrong(team_->place(rank), on, same_.in[r], count, inputs_, what,
                                     counter);
      check(cudaMemcpyAsync(&found[r], counter, sizeof *counter, cudaMemcpyDeviceToHost, on.get()));
    });
    team_->synchronize();
    return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
  }

 private:
  void fill(comm::rank_buffers<T> const& which) {
    team_->run([&](int rank, ::cuda::stream_ref on) {
      workloads::enqueue_input(team_->place(rank), on,
                               const_cast<T*>(which.in[static_cast<std::size_t>(rank)]), count_,
                               inputs_, rank);
    });
    team_->synchronize();
  }

  rank_threads* team_;
  std::size_t count_;
  workloads::reduction_inputs inputs_;
  std::shared_ptr<void> memory_;
  comm::rank_buffers<T> apart_, same_;
};

}  // namespace assay::examples
