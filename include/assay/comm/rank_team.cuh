// SPDX-License-Identifier: Apache-2.0
/// @file
/// `rank_team`: a host thread and a stream for each rank, which enqueue together and are timed
/// together.
#pragma once

#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/stream_latch.cuh>
#include <assay/submit/crew.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::comm {

/// How long work of all ranks took: seconds of the slowest rank.
struct team_seconds {
  double gpu = 0;     ///< on the device, from the opened latch to the rank's last kernel
  double wall = 0;    ///< of the host, from the opening of the latch until all streams had drained
  double submit = 0;  ///< of a rank's thread, to enqueue
};

/// Graphs of the same operations, one for each rank.
template <class Executable = cudaGraphExec_t>
class basic_rank_graphs {
 public:
  explicit basic_rank_graphs(int ranks) : runs_(static_cast<std::size_t>(ranks)) {}
  basic_rank_graphs(basic_rank_graphs&& other) noexcept : runs_(std::exchange(other.runs_, {})) {}
  basic_rank_graphs& operator=(basic_rank_graphs&& other) noexcept {
    std::swap(runs_, other.runs_);
    return *this;
  }
  ~basic_rank_graphs() {
    for (auto const run : runs_) {
      if (run != nullptr) { check_noexcept(cudaGraphExecDestroy(run)); }
    }
  }

  void launch(int rank, ::cuda::stream_ref on) const {
    check(cudaGraphLaunch(runs_[static_cast<std::size_t>(rank)], on.get()));
  }

  /// Keeps what a rank recorded.
  void keep(int rank, cudaGraph_t recorded) {
    auto& run = runs_[static_cast<std::size_t>(rank)];
    auto const code = cudaGraphInstantiate(&run, recorded, 0);
    check_noexcept(cudaGraphDestroy(recorded));
    check(code);
  }

 private:
  std::vector<Executable> runs_;
};

/// The graphs that a `rank_team` records.
using rank_graphs = basic_rank_graphs<>;

/// One host thread and one stream for each rank, on the rank's device; ranks may share a device.
///
/// Kernels of a collective wait for each other, so that each rank needs its own thread, which
/// blocks on no other rank, and a graph of its own: one graph of several devices may make its
/// launch wait for kernels that wait for what it would launch next. What a rank throws ends the
/// call when all ranks have returned.
///
/// `Crew` are threads that a call sets off together and waits for, as `submit::crew`.
template <class Crew = submit::crew>
class basic_rank_team {
 public:
  using graphs = rank_graphs;

  explicit basic_rank_team(std::vector<on::device> places)
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
    // Loads the latch's kernel, which must not have to wait for what another rank's latch holds.
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
  /// Threads record only what they themselves do, so that others of the process may go on. Run the
  /// operation once before: what loads or allocates at first use cannot be recorded.
  template <class Enqueue>
  rank_graphs record(int operations, Enqueue const& enqueue) {
    rank_graphs made{ranks()};
    run([&](int rank, ::cuda::stream_ref on) {
      range const scope{"record", category::cpu};
      check(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal));
      cudaGraph_t graph = nullptr;
      try {
        for (int i = 0; i < operations; ++i) { enqueue(rank, on, i); }
      } catch (...) {
        (void)cudaStreamEndCapture(on.get(), &graph);
        (void)cudaGetLastError();
        if (graph != nullptr) { check_noexcept(cudaGraphDestroy(graph)); }
        throw;
      }
      check(cudaStreamEndCapture(on.get(), &graph));
      made.keep(rank, graph);
    });
    return made;
  }

  /// Times `work(rank, stream)`, which enqueues on each rank's thread: the streams are held until
  /// all ranks have enqueued, so that this is how fast the devices can go, and not the host.
  ///
  /// At most some 1000 launches a rank fit behind the latch. Blocks until all streams have drained;
  /// throws `std::runtime_error` where enqueueing took so long that the latch gave way.
  template <class Work>
  team_seconds time(Work const& work) {
    range const scope{"time ranks", category::measurement};
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
    team_seconds slowest;
    synchronize();
    slowest.wall = submit::seconds_between(opened, submit::host_clock::now());
    latch_.check_held();
    for (std::size_t r = 0; r < places_.size(); ++r) {
      slowest.gpu = std::max(slowest.gpu, end_[r].seconds_since(begin_[r]));
      slowest.submit = std::max(slowest.submit, enqueued_[r]);
    }
    return slowest;
  }

  /// Times `launches` replays of graphs of `operations` each; the sums over as many held batches as
  /// their streams have room for.
  team_seconds time(rank_graphs const& graphs, int launches, int operations) {
    // Half of the thousand launches that a stream takes, as a node may be more than one.
    constexpr int room = 500;
    int const at_once = std::max(1, room / std::max(1, operations));
    team_seconds sum;
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
  Crew threads_;
  std::vector<stream> streams_;
  std::vector<event> begin_, end_;
  std::vector<double> enqueued_;
  kernel::stream_latch<> latch_;
};

/// The team with the threads that batches have, too.
using rank_team = basic_rank_team<>;

}  // namespace assay::comm
