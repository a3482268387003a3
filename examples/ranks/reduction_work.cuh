// SPDX-License-Identifier: Apache-2.0
/// @file
/// An all-reduce as work that a comparison measures: the arrays of an epoch, and an engine.
#pragma once

#include "collective_subject.cuh"
#include "rank_arrays.cuh"
#include "watch_together.hpp"

#include <assay/comm/all_reduce.cuh>
#include <assay/measure/experiment.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/options.hpp>

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

/// Threads of a block of the compared engines.
inline constexpr int threads_of_engine = 512;

/// An engine with this copy strategy, ready to be recorded.
template <class Copy>
sum_function engine_function(comm::peers const& peers, comm::all_reduce_options const& options) {
  auto const engine =
      std::make_shared<comm::basic_all_reduce<Copy, threads_of_engine>>(peers, options);
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

  /// The sums of an epoch by `engine`, so many in one launch.
  collective_work work(sum_function engine, int operations, measure::epoch const& now) {
    auto const sets = std::static_pointer_cast<buffer_sets<arrays>>(cache_.get(now, [&] {
      return std::make_shared<buffer_sets<arrays>>(
          buffer_sets<arrays>{made(now.seed, now.seed), made(now.seed, ~now.seed)});
    }));
    auto const at = [sets](int buffer_set) -> arrays& {
      return (*sets)[static_cast<std::size_t>(buffer_set)];
    };
    collective_work work{team_.places(), operations};
    work.enqueue = [engine = std::move(engine), at, count = count_](int rank, ::cuda::stream_ref on,
                                                                    int buffer_set) {
      engine(rank, on, at(buffer_set).out_of_place(), count);
    };
    work.poison = [at](int rank, ::cuda::stream_ref on, int buffer_set) {
      at(buffer_set).poison(rank, on);
    };
    work.verify = [at, count = count_](int buffer_set) -> std::optional<std::string> {
      auto const wrong = at(buffer_set).wrong(count, comm::reduction::sum);
      if (wrong == 0) { return std::nullopt; }
      return std::to_string(wrong) + " elements are wrong";
    };
    return work;
  }

 private:
  using arrays = rank_arrays<float>;

  /// Memory of ranks from some bytes on.
  struct padded_memory {
    rank_memory all;
    std::size_t padding_bytes;
    void* data(int rank) const { return static_cast<std::byte*>(all.data(rank)) + padding_bytes; }
  };

  /// Up to 1 MiB of padding, in pages, so that an epoch's addresses are not the last one's.
  arrays made(std::uint64_t seed, std::uint64_t padding_seed) {
    std::size_t const padding = (padding_seed >> 20U) % 256 * 4096;
    auto memory = std::make_shared<padded_memory>(
        padded_memory{{team_.places(), arrays::bytes(count_) + padding}, padding});
    return {team_, count_, seed, team_.ranks(), std::move(memory)};
  }

  rank_threads team_;
  std::size_t count_;
  measure::buffer_set_cache cache_;
};

}  // namespace assay::examples
