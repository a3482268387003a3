// SPDX-License-Identifier: Apache-2.0
/// @file
/// `rank_arrays`: inputs and outputs of all ranks with exact sums, and their check.
#pragma once

#include "exact_inputs.cuh"
#include "rank_threads.cuh"

#include <assay/comm/concepts.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/owned_memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace assay::examples {

/// Memory of `cudaMalloc` on each rank's device, which peers reach. No kernel may use the memory
/// when it is freed.
class rank_memory {
 public:
  rank_memory(std::vector<on::device> const& places, std::size_t bytes) {
    for (auto const at : places) { blocks_.emplace_back(at, bytes); }
  }
  void* data(int rank) const { return blocks_.at(static_cast<std::size_t>(rank)).get(); }

 private:
  std::vector<device_block> blocks_;
};

/// An input and an output for each rank, in memory with shared ownership.
///
/// The inputs are `exact_inputs`, and `wrong` counts the wrong elements of outputs. All members use
/// the streams of a team, and block.
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
      auto* const at = static_cast<std::byte*>(memory->data(i));
      in_[static_cast<std::size_t>(i)] = reinterpret_cast<T*>(at);
      out_[static_cast<std::size_t>(i)] = reinterpret_cast<T*>(at + stride(count));
    }
    fill();
  }

  /// Bytes of a rank's memory, for both arrays.
  static std::size_t bytes(std::size_t count) { return 2 * stride(count); }

  /// The first of each rank's arrays is its input, the second its output.
  comm::rank_buffers<T> out_of_place() const {
    comm::rank_buffers<T> made;
    for (std::size_t i = 0; i < in_.size(); ++i) { made.in[i] = in_[i]; }
    made.out = out_;
    return made;
  }
  /// Both are the rank's output.
  comm::rank_buffers<T> in_place() const {
    comm::rank_buffers<T> made;
    for (std::size_t i = 0; i < in_.size(); ++i) { made.in[i] = out_[i]; }
    made.out = out_;
    return made;
  }

  /// Fills the inputs; `fill_outputs` fills the outputs in the same way, for operations in place.
  void fill() { fill(in_); }
  void fill_outputs() { fill(out_); }

  /// Overwrites a rank's output with NaN; enqueued, does not block.
  void poison(int rank, ::cuda::stream_ref on) const {
    auto* const at = out_[static_cast<std::size_t>(rank)];
    check(cudaMemsetAsync(at, 0xFF, count_ * sizeof(T), on.get()));
  }
  void poison() {
    team_->run([&](int rank, ::cuda::stream_ref on) { poison(rank, on); });
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
      count_wrong(team_->place(rank), on, static_cast<T const*>(out_[r]), count, inputs_, what,
                  counter);
      check(cudaMemcpyAsync(&found[r], counter, sizeof *counter, cudaMemcpyDeviceToHost, on.get()));
    });
    team_->synchronize();
    std::uint64_t sum = 0;
    for (auto const each : found) { sum += each; }
    return sum;
  }

 private:
  /// Whole pages of 4 KiB, so that input and output have the same alignment.
  static std::size_t stride(std::size_t count) {
    constexpr std::size_t page = 4096;
    return (count * sizeof(T) + page - 1) / page * page;
  }

  void fill(std::array<T*, comm::max_ranks> const& to) {
    team_->run([&](int rank, ::cuda::stream_ref on) {
      fill_exact_inputs(team_->place(rank), on, to[static_cast<std::size_t>(rank)], count_, inputs_,
                        rank);
    });
    team_->synchronize();
  }

  rank_threads* team_;
  std::size_t count_;
  exact_inputs inputs_;
  std::shared_ptr<void> memory_;
  std::array<T*, comm::max_ranks> in_{}, out_{};
};

}  // namespace assay::examples
