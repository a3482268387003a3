// SPDX-License-Identifier: Apache-2.0
/// @file
/// Comparisons of copy kernels whose true difference is known by construction.
#pragma once

#include "result.hpp"
#include "trials.hpp"

#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/measure/factorial.hpp>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/measure/stream_subject.cuh>
#include <assay/memory/cuda.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::benchmark {

namespace kernel {

/// Copies `count` vectors; grid-stride, so that more vectors are more work and nothing else.
template <class Vector>
__global__ void copy_vectors(Vector const* from, Vector* to, std::size_t count) {
  for (std::size_t const i : assay::kernel::grid_stride(count)) { to[i] = from[i]; }
}

/// Counts the vectors that differ.
template <class Vector>
__global__ void count_wrong(Vector const* from, Vector const* to, std::size_t count,
                            unsigned* wrong) {
  for (std::size_t const i : assay::kernel::grid_stride(count)) {
    auto const a = from[i];
    auto const b = to[i];
    if (a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w) { atomicAdd(wrong, 1U); }
  }
}

/// Random words: the finaliser of splitmix64 over a counter.
template <class Vector>
__global__ void fill_random(Vector* to, std::size_t count, std::uint64_t seed) {
  for (std::size_t const i : assay::kernel::grid_stride(count)) {
    auto const draw = [&](std::uint64_t k) {
      std::uint64_t z = seed + (4 * i + k) * 0x9E3779B97F4A7C15U;
      z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
      z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
      return static_cast<unsigned>(z ^ (z >> 31U));
    };
    to[i] = {draw(0), draw(1), draw(2), draw(3)};
  }
}

}  // namespace kernel

/// Launches `body` over `count` vectors with every SM filled.
template <class... Parameters, class... Arguments>
void over_vectors(void (*body)(Parameters...), on::device place, ::cuda::stream_ref where,
                  std::size_t count, Arguments... arguments) {
  assay::kernel::launch(body, assay::kernel::stride_shape(body, place, count, 512), 0, where,
                        arguments...);
}

/// A source with random content and a target, far larger than any L2 together, at random addresses.
class copy_buffers {
 public:
  copy_buffers(on::device place, std::size_t count, std::uint64_t seed)
      : place_(place), from_(allocate(count, seed)), to_(allocate(count, seed / 7)) {
    stream const where{place};
    over_vectors(kernel::fill_random<uint4>, place, where, count, from(), count, seed);
    where.synchronize();
  }

  uint4* from() const noexcept { return from_.second; }
  uint4* to() const noexcept { return to_.second; }
  on::device place() const noexcept { return place_; }

  void poison(::cuda::stream_ref where, std::size_t count) const {
    check(cudaMemsetAsync(to(), 0xA5, count * sizeof(uint4), where.get()));
  }

  std::optional<std::string> verify(::cuda::stream_ref where, std::size_t count) const {
    auto const wrong = std::make_unique<unsigned>(0);
    unsigned* counter = nullptr;
    check(cudaMalloc(&counter, sizeof(unsigned)));
    std::unique_ptr<unsigned, free_device> const owner{counter};
    check(cudaMemsetAsync(counter, 0, sizeof(unsigned), where.get()));
    over_vectors(kernel::count_wrong<uint4>, place_, where, count,
                 static_cast<uint4 const*>(from()), static_cast<uint4 const*>(to()), count,
                 counter);
    check(cudaMemcpyAsync(wrong.get(), counter, sizeof(unsigned), cudaMemcpyDefault, where.get()));
    stream_traits<::cuda::stream_ref>::synchronize(where);
    if (*wrong == 0) { return {}; }
    return std::to_string(*wrong) + " of " + std::to_string(count) + " vectors differ";
  }

 private:
  struct free_device {
    void operator()(void* old) const noexcept { check_noexcept(cudaFree(old)); }
  };
  using block = std::pair<std::unique_ptr<void, free_device>, uint4*>;

  /// Up to 1 MiB of padding, so that an epoch's addresses are not the last one's.
  static block allocate(std::size_t count, std::uint64_t seed) {
    std::size_t const padding = (seed >> 20U) % 4096 * 16;
    void* base = nullptr;
    check(cudaMalloc(&base, (count + padding) * sizeof(uint4)));
    return {std::unique_ptr<void, free_device>{base}, static_cast<uint4*>(base) + padding};
  }

  on::device place_;
  block from_, to_;
};

/// A variant that copies `count` vectors of the epoch's shared arenas of `capacity` vectors.
inline measure::variant copy_variant(std::string label, on::device place, std::size_t count,
                                     std::size_t capacity,
                                     std::shared_ptr<measure::arena_cache<copy_buffers>> cache) {
  measure::variant made;
  made.axes = {{"vectors", std::to_string(count)}};
  made.label = std::move(label);
  made.bytes = 2.0 * sizeof(uint4) * static_cast<double>(count);
  made.build = [=](measure::epoch const& now) -> std::unique_ptr<measure::subject> {
    auto const both = cache->get(now, [&] {
      return std::make_shared<arenas<copy_buffers>>(
          arenas<copy_buffers>{copy_buffers{place, capacity, now.seed | 1U},
                               copy_buffers{place, capacity, ~now.seed | 1U}});
    });
    auto const at = [both](int arena) -> copy_buffers& {
      return (*both)[static_cast<std::size_t>(arena)];
    };
    return std::make_unique<measure::stream_subject<>>(
        place,
        measure::stream_work{
            [=](::cuda::stream_ref where, int arena) {
              over_vectors(kernel::copy_vectors<uint4>, place, where, count,
                           static_cast<uint4 const*>(at(arena).from()), at(arena).to(), count);
            },
            [=](::cuda::stream_ref where, int arena) { at(arena).poison(where, count); },
            [=](::cuda::stream_ref where, int arena) { return at(arena).verify(where, count); }});
  };
  return made;
}

/// Vectors that take about `seconds` to copy on this device.
inline std::size_t vectors_for(on::device place, double seconds) {
  std::size_t const probe = std::size_t{1} << 24U;
  copy_buffers const buffers{place, probe, 1};
  stream const where{place};
  std::array<event, 2> marks{event{event::kind::timed}, event{event::kind::timed}};
  for (int i = 0; i < 20; ++i) {
    if (i == 10) { marks[0].record(where); }
    over_vectors(kernel::copy_vectors<uint4>, place, where, probe,
                 static_cast<uint4 const*>(buffers.from()), buffers.to(), probe);
  }
  marks[1].record(where);
  where.synchronize();
  return static_cast<std::size_t>(static_cast<double>(probe) * seconds /
                                  (marks[1].seconds_since(marks[0]) / 10));
}

/// How calibration compares: as every comparison does, decided on the GPU clock, cells of five
/// launches of 100 us.
inline measure::options calibration_options(bool resolve) {
  measure::options chosen;
  chosen.primary = measure::clock::gpu;
  chosen.cell_seconds = 0.5e-3;
  chosen.resolve = resolve;
  return chosen;
}

/// Compares a copy of `count` vectors with a copy of `slower` vectors.
inline trial compare_copies(on::device place, std::size_t count, std::size_t slower, bool resolve) {
  auto const cache = std::make_shared<measure::arena_cache<copy_buffers>>();
  auto const capacity = std::max(count, slower);
  std::vector const variants{copy_variant("control", place, count, capacity, cache),
                             copy_variant("variant", place, slower, capacity, cache)};
  std::vector<std::string> const labels{"control", "variant"};
  return trial_of(
      measure::run(variants, measure::against_first(labels), calibration_options(resolve)));
}

}  // namespace assay::benchmark
