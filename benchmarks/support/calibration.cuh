// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copies of known cost, as work for comparisons.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/compare.cuh>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace assay::benchmark {

namespace kernel {

/// Copies `count` vectors; grid-stride, so that more vectors are more work and nothing else.
template <class Vector>
__global__ void copy_vectors(Vector const* from, Vector* to, std::size_t count) {
  for (std::size_t const i : assay::kernel::grid_stride(count)) { to[i] = from[i]; }
}

}  // namespace kernel

/// The callables of `compare` with their types erased. A benchmark has many kinds of work, and
/// `compare` is compiled once for all of them.
using enqueue_function = std::function<void(cudaStream_t)>;
using work_maker = std::function<enqueue_function(setup&)>;

/// Enqueues a copy of `count` vectors with every SM filled.
inline void enqueue_copy(on::device place, cudaStream_t on, uint4 const* from, uint4* to,
                         std::size_t count) {
  auto const body = kernel::copy_vectors<uint4>;
  assay::kernel::launch(body, assay::kernel::stride_shape(body, place, count, 512), 0,
                        ::cuda::stream_ref{on}, from, to, count);
}

/// A source with random content and a target, of `count` vectors each.
struct copy_arrays {
  copy_arrays(setup& make, std::size_t count)
      : words(make.random<std::uint32_t>(4 * count)),
        copied(make.output<std::uint32_t>(4 * count)) {}
  uint4 const* from() const noexcept { return reinterpret_cast<uint4 const*>(words.data()); }
  uint4* to() const noexcept { return reinterpret_cast<uint4*>(copied.data()); }

  array_view<std::uint32_t> words, copied;
};

/// A copy of `count` vectors. `checked`: the host compares every word with its source. The arrays
/// have room for `room` vectors where that is more.
inline work_maker copy_of(on::device place, std::size_t count, bool checked = false,
                          std::size_t room = 0) {
  return [=](setup& make) -> enqueue_function {
    copy_arrays const arrays{make, std::max(count, room)};
    make.moves(2.0 * sizeof(uint4) * static_cast<double>(count));
    if (checked) {
      make.expect(arrays.copied, [from = arrays.words](std::size_t i) { return from.seeded(i); });
    }
    return [=](cudaStream_t on) { enqueue_copy(place, on, arrays.from(), arrays.to(), count); };
  };
}

/// Arrays that belong to the program and not to a comparison. The stream must outlive them.
inline setup own_arrays(on::device place, stream const& filled_on, std::uint64_t seed) {
  return {std::make_unique<arrays::device_array_store>(place, filled_on, seed), seed};
}

/// Vectors that take about `seconds` to copy on this device.
inline std::size_t vectors_for(on::device place, double seconds) {
  std::size_t const probe = std::size_t{1} << 24U;
  stream const where{place};
  auto own = own_arrays(place, where, 1);
  auto const copy = copy_of(place, probe)(own);
  std::array<event, 2> marks{event{event::kind::timed}, event{event::kind::timed}};
  for (int i = 0; i < 20; ++i) {
    if (i == 10) { marks[0].record(where); }
    copy(where.get());
  }
  marks[1].record(where);
  where.synchronize();
  return static_cast<std::size_t>(static_cast<double>(probe) * seconds /
                                  (marks[1].seconds_since(marks[0]) / 10));
}

}  // namespace assay::benchmark
