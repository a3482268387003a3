// SPDX-License-Identifier: Apache-2.0
/// @file
/// Collective work of several ranks as a subject of measurements.
#pragma once

#include "rank_threads.cuh"

#include <assay/core/nvtx_range.hpp>
#include <assay/machine/clock_probe.cuh>
#include <assay/measure/subject.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Work of several ranks.
///
/// `enqueue(rank, stream, buffer_set)` enqueues the rank's part of one operation on data of that
/// buffer set (0 or 1). A thread of each rank calls it. The function does not block and can be
/// recorded. The other functions may be left out. `poison(rank, stream, buffer_set)` overwrites the
/// rank's output. `verify(buffer_set)` is called when all streams have drained, and describes an
/// error in the outputs, if there is one.
struct collective_work {
  std::vector<on::device> places;  ///< one for each rank; ranks may share a device
  int operations = 20;             ///< in one launch: a replay of a graph on each rank
  std::function<void(int, ::cuda::stream_ref, int)> enqueue = {};
  std::function<void(int, ::cuda::stream_ref, int)> poison = {};
  std::function<std::optional<std::string>(int)> verify = {};
};

/// Work of several ranks on threads, streams and graphs of its own, which are made with the
/// subject, anew for each epoch. A launch is `operations` operations.
///
/// A cell is timed with the streams held until all ranks have enqueued it (see
/// `rank_threads::time`), after the wash-out of `warm`, which blocks. Each clock is the slowest
/// rank's: `gpu` between its events, `wall` from the opening of the gate until all streams have
/// drained, `submit` of its thread. The SM clock is that of rank 0.
class collective_subject final : public measure::subject {
 public:
  explicit collective_subject(collective_work work)
      : work_(std::move(work)), team_(work_.places), clock_(work_.places.front()) {
    for (int buffer_set = 0; buffer_set < 2; ++buffer_set) {
      once(buffer_set);  // loads and allocations of a first use cannot be recorded
      graphs_.push_back(team_.record(work_.operations, [&](int rank, ::cuda::stream_ref on, int) {
        work_.enqueue(rank, on, buffer_set);
      }));
    }
  }

  void warm(int buffer_set, int launches) override {
    nvtx_range const scope{"warm", category::measurement};
    team_.run([&](int rank, ::cuda::stream_ref on) {
      for (int i = 0; i < launches; ++i) { of(buffer_set).launch(rank, on); }
    });
    // Another subject may follow: ranks that wait for each other on devices which are full of what
    // waits for the other subject's would wait for ever.
    team_.synchronize();
  }

  measure::cell time(int buffer_set, int launches) override {
    nvtx_range const scope{"cell", category::measurement};
    clock_.begin(team_.on(0));
    auto const sum = team_.time(of(buffer_set), launches, work_.operations);
    clock_.end(team_.on(0));
    measure::cell mean;
    mean[measure::clock::gpu] = sum.gpu / launches;
    mean[measure::clock::wall] = sum.wall / launches;
    mean[measure::clock::submit] = sum.submit / launches;
    mean.sm_hertz = clock_.hertz();
    return mean;
  }

  std::optional<std::string> verify(int buffer_set) override {
    nvtx_range const scope{"verify", category::measurement};
    if (work_.poison) {
      team_.run([&](int rank, ::cuda::stream_ref on) { work_.poison(rank, on, buffer_set); });
      // A rank may write to its peers' outputs, so all ranks must be poisoned first.
      team_.synchronize();
    }
    once(buffer_set);
    return work_.verify ? work_.verify(buffer_set) : std::nullopt;
  }
  measure::checks checked() const override {
    return work_.verify ? measure::checks::all : measure::checks::none;
  }

 private:
  void once(int buffer_set) {
    team_.run([&](int rank, ::cuda::stream_ref on) { work_.enqueue(rank, on, buffer_set); });
    team_.synchronize();
  }

  rank_graphs const& of(int buffer_set) const {
    return graphs_[static_cast<std::size_t>(buffer_set)];
  }

  collective_work work_;
  rank_threads team_;
  machine::sm_clock_probe clock_;
  std::vector<rank_graphs> graphs_;
};

/// A variant that measures what `make` returns for each epoch: with an engine of its own, where
/// labels have such. Two engines of the same code in different memory differed by 1 to 2 % on an
/// H200; kept through all epochs that is a difference between labels.
inline measure::variant collective_variant(
    std::string label, std::vector<std::pair<std::string, std::string>> axes,
    std::function<collective_work(measure::epoch const&)> make) {
  measure::variant made;
  made.label = std::move(label);
  made.axes = std::move(axes);
  made.build =
      [make = std::move(make)](measure::epoch const& now) -> std::unique_ptr<measure::subject> {
    return std::make_unique<collective_subject>(make(now));
  };
  return made;
}

}  // namespace assay::examples
