// SPDX-License-Identifier: Apache-2.0
/// @file
/// The latency and the read rate of a device's memory and of an SM, measured once a process.
#pragma once

#include "../../examples/device_array.hpp"
#include "../../examples/workloads/capped_grid.cuh"
#include "littles_law.hpp"

#include <assay/copy/cp_async.cuh>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace assay {

namespace kernel {

/// Node n of a chain, at `base + n * stride`, says which comes next: `next[n]`.
template <class Index>
__global__ void link_chain(std::byte* base, std::int64_t stride, Index const* next,
                           std::int64_t nodes) {
  for (auto const n : grid_stride(nodes)) {
    *reinterpret_cast<Index*>(base + n * stride) = next[n];
  }
}

/// One thread follows a chain for `steps` steps. The next run continues at `end`, and because `end`
/// is written the compiler keeps the loop.
template <class Index>
__global__ void chase(std::byte const* base, std::int64_t stride, std::int64_t steps, Index* end) {
  Index at = *end;
  for (std::int64_t s = 0; s < steps; ++s) {
    at = __ldcg(reinterpret_cast<Index const*>(base + std::int64_t{at} * stride));
  }
  *end = at;
}

/// Reads `count` vectors, `Unroll` of them in flight in each thread.
template <int Unroll, int Threads>
__global__ __launch_bounds__(Threads) void read_vectors(uint4 const* from, std::int64_t count,
                                                        unsigned* never) {
  unsigned seen = 0;
  auto const step = std::int64_t{gridDim.x} * Threads * Unroll;
  for (auto i = std::int64_t{blockIdx.x} * Threads * Unroll + threadIdx.x; i < count; i += step) {
    uint4 batch[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      auto const at = i + u * Threads;
      batch[u] = at < count ? __ldcs(from + at) : uint4{};
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) { seen ^= batch[u].x ^ batch[u].y ^ batch[u].z ^ batch[u].w; }
  }
  if (seen == 0x9E3779B9U) { *never = seen; }  // so that the loads have a use
}

/// Vectors of a thread in a tile of `read_tiles`.
inline constexpr int read_each = 4;

/// Reads whole tiles by asynchronous copies into shared memory, `Stages` tiles in flight.
template <int Stages, int Threads>
__global__ __launch_bounds__(Threads) void read_tiles(uint4 const* from, std::int64_t count,
                                                      unsigned* never) {
  constexpr int tile = Threads * read_each;
  copy::vectors<copy::cp_async<Stages>, copy::block<Threads>, read_each> tiles{dynamic_shared()};
  unsigned seen = 0;
  copy::walk(
      tiles, tiles_of(count / tile, blockIdx.x, gridDim.x),
      [&](int i) { tiles.load(i, from + (blockIdx.x + std::int64_t{gridDim.x} * i) * tile, tile); },
      [&](int i) {
#pragma unroll
        for (int k = 0; k < read_each; ++k) {
          auto const four = tiles.get(i, k);
          seen ^= four.x ^ four.y ^ four.z ^ four.w;
        }
      });
  if (seen == 0x9E3779B9U) { *never = seen; }
}

}  // namespace kernel

namespace benchmark {

namespace detail {

/// Seconds of one step along the chain `next` of nodes that lie `stride` bytes apart.
template <class Index>
double seconds_per_step(on::device place, std::int64_t stride, std::vector<Index> const& next) {
  auto const nodes = static_cast<std::int64_t>(next.size());
  examples::device_array<std::byte> chain(static_cast<std::size_t>(nodes * stride));
  examples::device_array<Index> links(next.size() + 1);
  check(cudaMemcpy(links.get(), next.data(), next.size() * sizeof(Index), cudaMemcpyDefault));
  Index* const end = links.get() + nodes;
  check(cudaMemset(end, 0, sizeof(Index)));
  stream const where{place};
  check(cudaDeviceSynchronize());
  auto const link = kernel::link_chain<Index>;
  kernel::launch(link, kernel::stride_shape(link, place, next.size(), 256), 0, where, chain.get(),
                 stride, links.get(), nodes);
  // The nodes are so few bytes that all of them would still be in the L2 cache.
  auto const flushed = static_cast<std::size_t>(attribute(place, cudaDevAttrL2CacheSize)) * 4;
  examples::device_array<std::byte> const others(flushed);
  check(cudaMemsetAsync(others.get(), 0, flushed, where.get()));
  event begin{event::kind::timed};
  event stop{event::kind::timed};
  auto const follow = kernel::chase<Index>;
  auto const steps = nodes / 4;
  kernel::launch(follow, kernel::launch_shape{1, 1}, 0, where, chain.get(), stride, nodes / 16,
                 end);
  begin.record(where);
  kernel::launch(follow, kernel::launch_shape{1, 1}, 0, where, chain.get(), stride, steps, end);
  stop.record(where);
  where.synchronize();
  return stop.seconds_since(begin) / static_cast<double>(steps);
}

/// Nodes one after another, in one round.
inline std::vector<std::uint32_t> chain_in_order(std::size_t nodes) {
  std::vector<std::uint32_t> next(nodes);
  for (std::size_t n = 0; n < nodes; ++n) { next[n] = static_cast<std::uint32_t>((n + 1) % nodes); }
  return next;
}

/// Nodes in random order, in one round (Sattolo 1986).
inline std::vector<std::uint32_t> chain_at_random(std::size_t nodes) {
  std::vector<std::uint32_t> next(nodes);
  for (std::size_t n = 0; n < nodes; ++n) { next[n] = static_cast<std::uint32_t>(n); }
  for (std::size_t n = nodes - 1; n > 0; --n) {
    std::swap(next[n], next[random_bits(nodes, n) % n]);
  }
  return next;
}

/// The array that is read to measure a rate.
struct read_array {
  on::device place;
  uint4 const* from;
  std::int64_t count;
  unsigned* never;
};

/// Bytes per second at which `run(stream)` reads the array; the best of ten runs.
template <class Run>
double best_rate(read_array const& what, Run const& run) {
  stream const where{what.place};
  event begin{event::kind::timed};
  event stop{event::kind::timed};
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 12; ++i) {
    begin.record(where);
    run(where);
    stop.record(where);
    where.synchronize();
    if (i >= 2) { fastest = std::min(fastest, stop.seconds_since(begin)); }
  }
  return static_cast<double>(what.count) * 16 / fastest;
}

/// The rate of one shape of `read_vectors`; `blocks` = 0 launches all resident blocks.
template <int Unroll, int Threads>
double read_rate(read_array const& what, unsigned blocks = 0) {
  auto const run = kernel::read_vectors<Unroll, Threads>;
  auto shape = kernel::resident_shape(run, what.place, Threads);
  if (blocks > 0) { shape.blocks = blocks; }
  return best_rate(what, [&](stream const& where) {
    kernel::launch(run, shape, 0, where, what.from, what.count, what.never);
  });
}

/// The rate of one shape of `read_tiles`; 0 where a block cannot have that much shared memory.
template <int Stages, int Threads>
double tile_rate(read_array const& what, unsigned blocks) {
  constexpr int bytes = Stages * Threads * kernel::read_each * 16;
  if (bytes > attribute(what.place, cudaDevAttrMaxSharedMemoryPerBlockOptin)) { return 0; }
  auto const run = kernel::read_tiles<Stages, Threads>;
  kernel::set_max_dynamic_shared_memory(run, what.place, bytes);
  return best_rate(what, [&](stream const& where) {
    kernel::launch(run, kernel::launch_shape{blocks, Threads}, bytes, where, what.from, what.count,
                   what.never);
  });
}

/// Bytes per second of one of at most four SMs with a block each. Four SMs are far below the rate
/// of the memory. The best of several shapes with 64 KiB in flight or more counts.
template <class Array>
double sm_rate(Array what) {
  auto const few =
      static_cast<unsigned>(std::min(4, attribute(what.place, cudaDevAttrMultiProcessorCount)));
  what.count = std::min(what.count, std::int64_t{1} << 24);  // 256 MiB are more than every L2 cache
  return std::max({read_rate<8, 512>(what, few), read_rate<4, 1024>(what, few),
                   read_rate<8, 1024>(what, few), tile_rate<3, 512>(what, few),
                   tile_rate<6, 512>(what, few)}) /
         few;
}

}  // namespace detail

/// Measures a device's terms of Little's law in about 0.4 s. Needs 4 GiB of memory, or a quarter of
/// the free memory where that is less.
///
/// One thread follows a chain of loads; each waits for the one before. In order, the chain has one
/// line in every 4 KiB, so the page's translation is cached and the line is not. At random, the
/// chain covers all of that memory. Each rate is the best of several shapes: all SMs reading at
/// most 1 GiB, and a few SMs at full occupancy.
template <class Place>
little_terms measure_little_terms(Place place) {
  nvtx_range const scope{"little's law", category::measurement};
  device_guard const guard{place};
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  auto const most = std::min(std::size_t{4} << 30U, free_bytes / 4);
  constexpr std::size_t nodes = std::size_t{1} << 16;
  little_terms found;
  found.latency_seconds = detail::seconds_per_step(place, 4096, detail::chain_in_order(nodes));
  auto const apart = static_cast<std::int64_t>(most / nodes / 128 * 128);
  found.random_latency_seconds = detail::seconds_per_step(
      place, std::max<std::int64_t>(apart, 4096), detail::chain_at_random(nodes));
  auto const bytes = std::min(std::size_t{1} << 30U, most) / 16 * 16;
  examples::device_array<uint4> const array(bytes / 16);
  examples::device_array<unsigned> const never(1);
  check(cudaMemset(array.get(), 0x5A, bytes));
  check(cudaDeviceSynchronize());
  detail::read_array const all{place, array.get(), static_cast<std::int64_t>(bytes / 16),
                               never.get()};
  found.read_bytes_per_second =
      std::max({detail::read_rate<4, 256>(all), detail::read_rate<8, 256>(all),
                detail::read_rate<4, 512>(all), detail::read_rate<2, 1024>(all)});
  found.sm_bytes_per_second = detail::sm_rate(all);
  return found;
}

/// The terms of a device, measured at the first call and kept for the life of the process.
template <class Place>
little_terms little_terms_of(Place place) {
  static std::mutex guard;
  static std::map<int, little_terms> known;
  std::lock_guard const lock{guard};
  auto const at = known.find(place.id);
  if (at != known.end()) { return at->second; }
  return known.emplace(place.id, measure_little_terms(place)).first->second;
}

}  // namespace benchmark
}  // namespace assay
