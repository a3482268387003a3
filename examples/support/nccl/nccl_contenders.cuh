// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL as a contender, in a build that has it.
#pragma once

#include "../contender.cuh"

#include <assay/comm/nccl.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::examples {

inline constexpr bool has_nccl = true;

/// How NCCL's buffers come to it.
enum class nccl_buffers { plain, windows };

inline std::string nccl_name(nccl_buffers how) {
  int const version = comm::nccl_version();
  return "NCCL " + std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) +
         '.' + std::to_string(version % 100) +
         (how == nccl_buffers::windows ? " symmetric windows" : " default");
}

namespace detail {

template <class T>
contender<T> nccl_contender_of(std::shared_ptr<comm::nccl> engine, comm::rank_threads& team,
                               std::size_t count, std::uint64_t seed, nccl_buffers how) {
  int const first = engine->first_local_rank();
  auto const bytes = comm::rank_arrays<T>::bytes(count);
  auto const arrays_in = [&](auto memory) {
    return std::make_shared<comm::rank_arrays<T>>(team, count, seed, engine->ranks(), first,
                                                  memory);
  };
  // Plain buffers are what most programs have: memory of cudaMalloc, and not of NCCL's allocator.
  auto arrays = how == nccl_buffers::windows
                    ? arrays_in(std::make_shared<comm::nccl_memory>(engine->allocate(bytes)))
                    : arrays_in(std::make_shared<comm::rank_memory>(team.places(), bytes, first));
  return {
      nccl_name(how), std::move(arrays),
      [engine, first](int rank, ::cuda::stream_ref on, comm::rank_buffers<T> const& buffers,
                      std::size_t many, comm::reduction what) {
        engine->enqueue<T>(first + rank, on, buffers, many, what);
      },
      [engine, first](int rank, ::cuda::stream_ref on) { engine->synchronize(first + rank, on); }};
}

inline comm::nccl_options options_of(nccl_buffers how) {
  comm::nccl_options made;
  made.symmetric = how == nccl_buffers::windows;
  return made;
}

}  // namespace detail

/// NCCL over the devices of a team, with buffers of its own.
template <class T>
std::optional<contender<T>> nccl_contender(comm::rank_threads& team, std::size_t count,
                                           std::uint64_t seed, nccl_buffers how) {
  auto engine = std::make_shared<comm::nccl>(team.places(), detail::options_of(how));
  return detail::nccl_contender_of<T>(std::move(engine), team, count, seed, how);
}

/// NCCL as one rank of several processes.
class nccl_process {
 public:
  nccl_process(comm::process_rank const& me, nccl_buffers how)
      : how_(how), engine_(std::make_shared<comm::nccl>(me, detail::options_of(how))) {}

  on::device place() const { return engine_->device(engine_->first_local_rank()); }

  template <class T>
  contender<T> contend(comm::rank_threads& team, std::size_t count, std::uint64_t seed) {
    return detail::nccl_contender_of<T>(engine_, team, count, seed, how_);
  }

  /// The sum or the largest of a number of each process. Blocks.
  double over_all(comm::rank_threads& team, double value, comm::reduction what) {
    comm::rank_memory const memory{{place()}, sizeof(float)};
    auto* const at = static_cast<float*>(memory.data(0));
    auto narrow = static_cast<float>(value);
    team.run([&](int, ::cuda::stream_ref on) {
      check(cudaMemcpyAsync(at, &narrow, sizeof narrow, cudaMemcpyHostToDevice, on.get()));
      engine_->enqueue(engine_->first_local_rank(), on, static_cast<float const*>(at), at, 1, what);
      // Before the copy, which returns only when it is done, and waits for other ranks for ever.
      engine_->synchronize(engine_->first_local_rank(), on);
      check(cudaMemcpyAsync(&narrow, at, sizeof narrow, cudaMemcpyDeviceToHost, on.get()));
      check(cudaStreamSynchronize(on.get()));
    });
    return static_cast<double>(narrow);
  }

 private:
  nccl_buffers how_;
  std::shared_ptr<comm::nccl> engine_;
};

}  // namespace assay::examples
