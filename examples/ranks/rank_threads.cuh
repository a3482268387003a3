// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host threads, streams and graphs for work of several ranks, which are timed together.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/machine/stream_latch.cuh>
#include <assay/submit/graph.hpp>
#include <assay/submit/thread_team.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace assay::examples {

/// The times of the slowest rank in seconds.
struct rank_times {
  double gpu = 0;     ///< from the opened latch to the rank's last kernel, on the device
  double wall = 0;    ///< from the opened latch until all streams have drained, on the host
  double submit = 0;  ///< a rank's thread enqueues for so long
};

/// Graphs of the same operations, one for each rank.
struct rank_graphs {
  std::vector<std::optional<submit::graph_exec>> runs;
  void launch(int rank, ::cuda::stream_ref on) const {
    runs[static_cast<std::size_t>(rank)]->launch(on);
  }
};

/// One host thread and one stream for each rank, on the rank's device; ranks may share a device.
///
/// Kernels of a collective wait for each other, so each rank needs a thread that blocks on no other
/// rank. Each rank also has a graph of its own: the launch of a graph of several devices may block
/// on kernels that wait for kernels of the same launch. An exception of a rank ends the call when
/// all ranks have returned.
class rank_threads {
 public:
  explicit rank_threads(std::vector<on::device> places)
      : places_(std::move(places)), threads_(static_cast<int>(places_.size()), [this](int rank) {
          check(cudaSetDevice(place(rank).id));
        }) {
    for (auto const at : places_) {
      device_guard const guard{at};
      streams_.emplace_back(at);
      begin_.emplace_back(event::kind::timed);
      end_.emplace_back(event::kind::timed);
    }
    enqueued_.resize(places_.size());
    // Loads the latch's kernel now: later, the load could wait for work behind another rank's
    // latch.
    run([this](int, ::cuda::stream_ref on) { latch_.hold(on); });
    latch_.open();
    synchronize();
  }

  int ranks() const noexcept { return static_cast<int>(places_.size()); }
  on::device place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  std::vector<on::device> const& places() const noexcept { return places_; }
  stream const& on(int rank) const { return streams_[static_cast<std::size_t>(rank)]; }

  /// Calls `work(rank, stream)` on each rank's thread, all at once, and returns when all have.
  template <class Work>
  submit::host_clock::time_point run(Work const& work) {
    return threads_.run([&](int rank) { work(rank, ::cuda::stream_ref{on(rank)}); });
  }

  /// Blocks until all streams have drained.
  void synchronize() const {
    for (auto const& each : streams_) { each.synchronize(); }
  }

  /// Records `enqueue(rank, stream, i)` for i in [0, operations) into a graph of each rank.
  ///
  /// Captures in thread-local mode, so that other threads of the process may use CUDA meanwhile.
  /// Run the operation once before: loads and allocations of a first use cannot be recorded.
  template <class Enqueue>
  rank_graphs record(int operations, Enqueue const& enqueue) {
    rank_graphs made{std::vector<std::optional<submit::graph_exec>>(places_.size())};
    run([&](int rank, ::cuda::stream_ref on) {
      nvtx_range const scope{"record", category::cpu};
      submit::stream_capture capture{on};
      for (int i = 0; i < operations; ++i) { enqueue(rank, on, i); }
      made.runs[static_cast<std::size_t>(rank)].emplace(capture.end());
    });
    return made;
  }

  /// Times `work(rank, stream)`, which enqueues on each rank's thread. A latch holds the streams
  /// until all ranks have enqueued, so that devices are timed and not the host.
  ///
  /// About 1000 launches for each rank fit behind the latch. Blocks until all streams have drained.
  /// Throws `std::runtime_error` where enqueueing took so long that the latch opened by itself.
  template <class Work>
  rank_times time(Work const& work) {
    nvtx_range const scope{"time ranks", category::measurement};
    try {
      run([&](int rank, ::cuda::stream_ref on) {
        auto const r = static_cast<std::size_t>(rank);
        latch_.hold(on);
        begin_[r].record(on);
        auto const first = submit::host_clock::now();
        work(rank, on);
        enqueued_[r] = submit::seconds_between(first, submit::host_clock::now());
        end_[r].record(on);
      });
    } catch (...) {
      latch_.open();
      throw;
    }
    auto const opened = submit::host_clock::now();
    latch_.open();
    rank_times slowest;
    synchronize();
    slowest.wall = submit::seconds_between(opened, submit::host_clock::now());
    latch_.check_held();
    for (std::size_t r = 0; r < places_.size(); ++r) {
      slowest.gpu = std::max(slowest.gpu, end_[r].seconds_since(begin_[r]));
      slowest.submit = std::max(slowest.submit, enqueued_[r]);
    }
    return slowest;
  }

  /// Times `launches` replays of graphs of `operations` each, in as many held batches as needed,
  /// and returns the sums.
  rank_times time(rank_graphs const& graphs, int launches, int operations) {
    // Half of the thousand launches that fit, since a node may be more than one launch.
    constexpr int room = 500;
    int const at_once = std::max(1, room / std::max(1, operations));
    rank_times sum;
    for (int done = 0; done < launches; done += at_once) {
      int const now = std::min(at_once, launches - done);
      auto const part = time([&](int rank, ::cuda::stream_ref on) {
        for (int i = 0; i < now; ++i) { graphs.launch(rank, on); }
      });
      sum.gpu += part.gpu;
      sum.wall += part.wall;
      sum.submit += part.submit;
    }
    return sum;
  }

 private:
  std::vector<on::device> places_;
  submit::thread_team threads_;
  std::vector<stream> streams_;
  std::vector<event> begin_, end_;
  std::vector<double> enqueued_;
  machine::stream_latch<> latch_;
};

}  // namespace assay::examples
