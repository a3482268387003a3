// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL's all-reduce where each rank is a process.
#pragma once

#include "../contender.cuh"
#include "nccl_ranks.hpp"

#include <assay/comm/nccl.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/machine/stream_latch.cuh>
#include <assay/submit/graph.hpp>
#include <assay/workload/all_reduce.cuh>
#include <assay/world/world.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// This process's rank, with plain buffers.
class nccl_process {
 public:
  nccl_process(world const& all, std::size_t most_bytes, std::uint64_t seed)
      : all_(all),
        engine_(joined(all)),
        inputs_{seed, all.ranks()},
        on_(engine_.device()),
        in_(engine_.device(), most_bytes),
        out_(engine_.device(), most_bytes),
        wrong_(engine_.device(), sizeof(unsigned long long)),
        barrier_(engine_.barrier()) {
    check(cudaSetDevice(engine_.device().id));
    workloads::enqueue_input(engine_.device(), on_, static_cast<float*>(in_.get()),
                             most_bytes / sizeof(float), inputs_, all.rank());
    latch_.hold(on_);  // loads its kernel
    latch_.open();
    on_.synchronize();
  }

  /// Seconds of one of so many sums in a graph, the slowest rank's, on rank 0. All ranks call it.
  std::vector<double> seconds(std::size_t bytes, int operations, sampling how) {
    auto const count = bytes / sizeof(float);
    require_right(count);
    submit::stream_capture capture{on_};
    for (int i = 0; i < operations; ++i) { enqueue(count); }
    auto const graph = capture.end();
    event begin{event::kind::timed}, end{event::kind::timed};
    std::vector<double> found;
    for (int i = -1; i < how.repetitions; ++i) {
      latch_.hold(on_);
      barrier_.enqueue(on_.get());
      begin.record(on_);
      for (int k = 0; k < how.launches; ++k) { graph.launch(on_); }
      end.record(on_);
      all_.barrier();
      latch_.open();
      engine_.synchronize(on_);
      latch_.check_held();
      auto const own = end.seconds_since(begin) / how.launches / operations;
      double slowest = 0;
      for (auto const& each : all_.gather(std::to_string(own * 1e12))) {
        slowest = std::max(slowest, std::stod(each) * 1e-12);
      }
      if (i >= 0) { found.push_back(slowest); }  // the first is the warm-up
    }
    require_right(count);
    return found;
  }

 private:
  static comm::nccl joined(world const& all) {
    without_multicast const no_multicast;
    return comm::nccl{all};
  }
  void enqueue(std::size_t count) {
    engine_.enqueue(on_, static_cast<float const*>(in_.get()), static_cast<float*>(out_.get()),
                    count, comm::reduction::sum);
  }

  /// One sum over poisoned elements. Throws on all ranks where a rank has a wrong one.
  void require_right(std::size_t count) {
    auto* const counter = static_cast<unsigned long long*>(wrong_.get());
    unsigned long long wrong = 0;
    check(cudaMemsetAsync(out_.get(), 0xFF, count * sizeof(float), on_.get()));
    check(cudaMemsetAsync(counter, 0, sizeof wrong, on_.get()));
    enqueue(count);
    workloads::enqueue_count_wrong(engine_.device(), on_, static_cast<float const*>(out_.get()),
                                   count, inputs_, comm::reduction::sum, counter);
    engine_.synchronize(on_);
    check(cudaMemcpy(&wrong, counter, sizeof wrong, cudaMemcpyDeviceToHost));
    std::string told;
    for (auto const& each : all_.gather(std::to_string(wrong))) {
      if (each != "0") { told = each + " wrong elements by NCCL over processes"; }
    }
    if (told = all_.broadcast(told); !told.empty()) { throw std::runtime_error(told); }
  }

  world all_;
  comm::nccl engine_;
  workloads::reduction_inputs inputs_;
  stream on_;
  device_block in_, out_, wrong_;
  device_barrier barrier_;
  machine::stream_latch<> latch_;
};

}  // namespace assay::examples
