// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the benchmark of all-reduces times: an engine of any kind with its buffers.
#pragma once

#include "../../examples/ranks/rank_arrays.cuh"
#include "../../examples/ranks/rank_threads.cuh"

#include <assay/comm/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace assay::examples {

/// How often a size is timed. A sample is graphs of a millisecond in all, or one graph.
struct sampling {
  int repetitions, launches;
};
inline sampling sampling_of(std::size_t bytes, int operations, bool quick) {
  // Some 10 us for a short operation, 300 GB/s for a long one.
  double const expected = 10e-6 + static_cast<double>(bytes) / 300e9;
  return {quick                              ? 3
          : bytes >= std::size_t{256} << 20U ? 11
                                             : 31,
          std::clamp(static_cast<int>(1e-3 / (expected * operations)), 1, 10)};
}

/// `enqueue` of an engine; the function owns the engine with others.
template <class T>
using enqueue_function = std::function<void(int, ::cuda::stream_ref, comm::rank_buffers<T> const&,
                                            std::size_t, comm::reduction)>;

/// One engine, its buffers, and how it is called. Copies share them.
template <class T>
struct contender {
  std::string name;
  std::shared_ptr<rank_arrays<T>> arrays;
  enqueue_function<T> enqueue;
  /// Waits for a rank's stream, and throws what the engine has failed with.
  std::function<void(int, ::cuda::stream_ref)> synchronize = [](int, ::cuda::stream_ref on) {
    assay::check(cudaStreamSynchronize(on.get()));
  };

  /// Runs one operation over poisoned outputs, and says how many elements came out wrong.
  std::uint64_t check(examples::rank_threads& team, std::size_t count, comm::reduction what,
                      bool in_place) {
    if (in_place) { arrays->fill_outputs(); }
    if (!in_place) { arrays->poison(); }
    auto const buffers = in_place ? arrays->in_place() : arrays->out_of_place();
    team.run([&](int rank, ::cuda::stream_ref on) {
      enqueue(rank, on, buffers, count, what);
      synchronize(rank, on);
    });
    return arrays->wrong(count, what);
  }
};

/// An engine that runs all its ranks in this process.
template <class T, class Engine>
enqueue_function<T> enqueue_of(std::shared_ptr<Engine> engine) {
  return
      [engine = std::move(engine)](
          int rank, ::cuda::stream_ref on, comm::rank_buffers<T> const& buffers, std::size_t count,
          comm::reduction what) { engine->template enqueue<T>(rank, on, buffers, count, what); };
}

/// A contender of such an engine.
template <class T, class Engine>
contender<T> make_contender(std::string name, std::shared_ptr<Engine> engine,
                            std::shared_ptr<rank_arrays<T>> arrays) {
  return {std::move(name), std::move(arrays), enqueue_of<T>(engine),
          [engine](int rank, ::cuda::stream_ref on) { engine->synchronize(rank, on); }};
}

}  // namespace assay::examples
