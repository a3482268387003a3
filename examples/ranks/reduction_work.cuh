// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sums over several ranks as a subject of measurements.
#pragma once

#include "rank_arrays.cuh"
#include "rank_threads.cuh"

#include <assay/comm/all_reduce.cuh>
#include <assay/core/nvtx_range.hpp>
#include <assay/machine/clock_probe.cuh>
#include <assay/measure/instruments.cuh>
#include <assay/measure/options.hpp>
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

/// Sums over ranks on threads, streams and graphs of their own, which are made with the subject,
/// anew for each epoch. A launch is a replay of a graph of `operations` sums on each rank.
///
/// A cell is timed with the streams held until all ranks have enqueued it (see
/// `rank_threads::time`), after the wash-out of `warm`, which blocks. Each clock is the slowest
/// rank's: `gpu` between its events, `wall` from the opening of the gate until all streams have
/// drained, `submit` of its thread. The SM clock is that of rank 0.
class sum_subject final : public measure::subject {
 public:
  using arrays = std::array<rank_arrays<float>, 2>;  ///< by buffer set

  sum_subject(std::vector<on::device> const& places, std::shared_ptr<arrays> sets,
              std::size_t count, sum_function engine, int operations)
      : sets_(std::move(sets)),
        count_(count),
        engine_(std::move(engine)),
        operations_(operations),
        team_(places),
        clock_(places.front()) {
    for (std::size_t set = 0; set < 2; ++set) {
      once(set);  // loads and allocations of a first use cannot be recorded
      graphs_.push_back(team_.record(operations, [&](int rank, ::cuda::stream_ref on, int) {
        engine_(rank, on, (*sets_)[set].out_of_place(), count_);
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
    auto const sum = team_.time(of(buffer_set), launches, operations_);
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
    auto const set = static_cast<std::size_t>(buffer_set);
    (*sets_)[set].poison();
    once(set);
    auto const wrong = (*sets_)[set].wrong(count_, comm::reduction::sum);
    if (wrong == 0) { return {}; }
    return std::to_string(wrong) + " elements are wrong";
  }
  measure::checks checked() const override { return measure::checks::all; }

 private:
  void once(std::size_t set) {
    team_.run([&](int rank, ::cuda::stream_ref on) {
      engine_(rank, on, (*sets_)[set].out_of_place(), count_);
    });
    team_.synchronize();
  }
  rank_graphs const& of(int buffer_set) const {
    return graphs_[static_cast<std::size_t>(buffer_set)];
  }

  std::shared_ptr<arrays> sets_;
  std::size_t count_;
  sum_function engine_;
  int operations_;
  rank_threads team_;
  machine::sm_clock_probe clock_;
  std::vector<rank_graphs> graphs_;
};

/// The watches over the devices of all ranks, whose reasons name their device.
inline std::vector<measure::environment_watch> watches_of(comm::peers const& peers) {
  std::vector<measure::environment_watch> all;
  for (auto const place : peers.distinct()) {
    auto own = measure::instruments<on::device>::watch(place);
    own.vetoes = [name = "device " + std::to_string(place.id) + ": ", asked = own.vetoes] {
      auto reasons = asked();
      for (auto& each : reasons) { each.insert(0, name); }
      return reasons;
    };
    all.push_back(std::move(own));
  }
  return all;
}

/// Options with the hooks of several watches.
inline measure::options watched(measure::options chosen,
                                std::vector<measure::environment_watch> const& places) {
  for (auto const& each : places) { chosen = measure::watched(std::move(chosen), each); }
  return chosen;
}

/// Arrays for sums over ranks that a comparison measures. All variants of an epoch share them, and
/// the control's second instance has its own.
class epoch_arrays {
 public:
  /// `count` elements each way for each rank.
  epoch_arrays(comm::peers const& peers, std::size_t count)
      : team_(peers.devices()), count_(count) {}

  /// The sums of an epoch by an engine of `make_engine`, so many in one launch. Each epoch takes an
  /// engine of its own, where labels have such. Two engines of the same code in different memory
  /// differed by 1 to 2 % on an H200; kept through all epochs that is a difference between labels.
  std::unique_ptr<sum_subject> subject(std::function<sum_function()> const& make_engine,
                                       int operations, measure::epoch const& now) {
    if (seed_ != now.seed) { renew(now.seed); }
    return std::make_unique<sum_subject>(team_.places(),
                                         sets_.at(static_cast<std::size_t>(now.instance)), count_,
                                         make_engine(), operations);
  }

 private:
  /// Makes the arrays of both instances, in random order, before any engine. Memory that came
  /// together is up to 2 % faster together. With arrays made on demand, the second instance's were
  /// always made beside its engine, and the control's only where it was built before the variant:
  /// 13 of 133 comparisons of `lamport_push` with itself were UNPROVEN on two H200s.
  void renew(std::uint64_t seed) {
    sets_ = {};
    std::size_t const first = (seed >> 7U) % 2;
    for (auto const i : {first, 1 - first}) {
      sets_[i] =
          std::make_shared<sum_subject::arrays>(std::array{made(seed, seed), made(seed, ~seed)});
    }
    seed_ = seed;
  }

  /// Up to 1 MiB of padding, in pages, so that an epoch's addresses are not the last one's.
  rank_arrays<float> made(std::uint64_t seed, std::uint64_t padding_seed) {
    return {team_, count_, seed, team_.ranks(),
            std::make_shared<rank_memory>(team_.places(), rank_arrays<float>::bytes(count_),
                                          (padding_seed >> 20U) % 256 * 4096)};
  }

  rank_threads team_;
  std::size_t count_;
  std::optional<std::uint64_t> seed_;
  std::array<std::shared_ptr<sum_subject::arrays>, 2> sets_;
};

}  // namespace assay::examples
