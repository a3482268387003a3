// SPDX-License-Identifier: Apache-2.0
/// @file
/// Collective work of several ranks as a subject of measurements, and an all-reduce as such work.
#pragma once

#include "rank_arrays.cuh"
#include "rank_threads.cuh"
#include "watch_together.hpp"

#include <assay/comm/all_reduce.cuh>
#include <assay/core/nvtx_range.hpp>
#include <assay/machine/clock_probe.cuh>
#include <assay/measure/experiment.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/subject.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Work of several ranks, in one of two buffer sets. A thread of each rank calls `enqueue`, which
/// does not block and can be recorded. `poison` overwrites all outputs. `verify` is called when all
/// streams have drained, and describes an error in the outputs, if there is one.
struct collective_work {
  std::vector<on::device> places;  ///< one for each rank; ranks may share a device
  int operations = 20;             ///< in one launch: a replay of a graph on each rank
  std::function<void(int rank, ::cuda::stream_ref, int buffer_set)> enqueue = {};
  std::function<void(int buffer_set)> poison = {};
  std::function<std::optional<std::string>(int buffer_set)> verify = {};
};

/// Such work on threads, streams and graphs of its own, which are made with the subject, anew for
/// each epoch. A launch is `operations` operations.
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
    work_.poison(buffer_set);
    once(buffer_set);
    return work_.verify(buffer_set);
  }
  measure::checks checked() const override { return measure::checks::all; }

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

/// Enqueues one rank's part of a sum of `float`; the function owns its engine.
using sum_function = std::function<void(int rank, ::cuda::stream_ref,
                                        comm::rank_buffers<float> const&, std::size_t count)>;

/// An engine with this copy strategy, ready to be recorded.
template <class Copy>
sum_function engine_function(comm::peers const& peers, comm::all_reduce_options const& options) {
  auto const engine = std::make_shared<comm::basic_all_reduce<Copy>>(peers, options);
  engine->template prepare<float>();
  return [engine](int rank, ::cuda::stream_ref on, comm::rank_buffers<float> const& buffers,
                  std::size_t count) {
    engine->enqueue(rank, on, buffers, count, comm::reduction::sum);
  };
}

/// Watches the devices of all ranks.
inline measure::environment_watch watch_of(comm::peers const& peers) {
  std::vector<std::pair<std::string, measure::environment_watch>> all;
  for (auto const place : peers.distinct()) {
    all.emplace_back("device " + std::to_string(place.id),
                     measure::instruments<on::device>::watch(place));
  }
  return watch_together(std::move(all));
}

/// Sums over ranks as work that a comparison measures. All variants of an epoch share the arrays.
class epoch_arrays {
 public:
  /// `count` elements each way for each rank.
  epoch_arrays(comm::peers const& peers, std::size_t count)
      : team_(peers.devices()), count_(count) {}

  /// The sums of an epoch by `engine`, so many in one launch. Each epoch takes an engine of its
  /// own, where labels have such. Two engines of the same code in different memory differed by 1 to
  /// 2 % on an H200; kept through all epochs that is a difference between labels.
  collective_work work(sum_function engine, int operations, measure::epoch const& now) {
    auto const sets = std::static_pointer_cast<std::array<arrays, 2>>(cache_.get(now, [&] {
      return std::make_shared<std::array<arrays, 2>>(
          std::array{made(now.seed, now.seed), made(now.seed, ~now.seed)});
    }));
    auto const at = [sets](int buffer_set) -> arrays& {
      return (*sets)[static_cast<std::size_t>(buffer_set)];
    };
    return {team_.places(), operations,
            [engine = std::move(engine), at, count = count_](int rank, ::cuda::stream_ref on,
                                                             int buffer_set) {
              engine(rank, on, at(buffer_set).out_of_place(), count);
            },
            [at](int buffer_set) { at(buffer_set).poison(); },
            [at, count = count_](int buffer_set) -> std::optional<std::string> {
              auto const wrong = at(buffer_set).wrong(count, comm::reduction::sum);
              if (wrong == 0) { return std::nullopt; }
              return std::to_string(wrong) + " elements are wrong";
            }};
  }

 private:
  using arrays = rank_arrays<float>;

  /// Up to 1 MiB of padding, in pages, so that an epoch's addresses are not the last one's.
  arrays made(std::uint64_t seed, std::uint64_t padding_seed) {
    return {team_, count_, seed, team_.ranks(),
            std::make_shared<rank_memory>(team_.places(), arrays::bytes(count_),
                                          (padding_seed >> 20U) % 256 * 4096)};
  }

  rank_threads team_;
  std::size_t count_;
  measure::buffer_set_cache cache_;
};

}  // namespace assay::examples
