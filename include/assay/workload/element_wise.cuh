// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise workloads on the device: resident there, or in host memory and carried over.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/array_workload.cuh>
#include <assay/workload/element_wise.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

namespace kernel {

/// `Width` elements that one instruction loads or stores.
template <class T, std::size_t Width>
struct alignas(sizeof(T) * Width) elements {
  T at[Width];
};

/// The first elements of the inputs of a map.
template <class T, std::size_t Inputs>
struct map_inputs {
  T const* at[Inputs];
};

/// out[i] = body({in.at[0][i], in.at[1][i], ...}), `Width` elements at a time and the rest singly.
template <std::size_t Width, class Body, class T, std::size_t Inputs>
__global__ void map_elements(Body body, map_inputs<T, Inputs> in, T* out, std::int64_t count) {
  using vector = elements<T, Width>;
  constexpr auto width = static_cast<std::int64_t>(Width);
  for (auto const i : grid_stride(count / width)) {
    vector x[Inputs];
    for (std::size_t k = 0; k < Inputs; ++k) {
      x[k] = reinterpret_cast<vector const*>(in.at[k])[i];
    }
    vector y;
    for (std::size_t j = 0; j < Width; ++j) {
      T each[Inputs];
      for (std::size_t k = 0; k < Inputs; ++k) { each[k] = x[k].at[j]; }
      y.at[j] = body(each);
    }
    reinterpret_cast<vector*>(out)[i] = y;
  }
  for (auto const i : grid_stride(count % width)) {
    auto const last = count / width * width + i;
    T each[Inputs];
    for (std::size_t k = 0; k < Inputs; ++k) { each[k] = in.at[k][last]; }
    out[last] = body(each);
  }
}

namespace detail {

template <std::size_t Width, class Body, class T, std::size_t Inputs>
void launch_map_of(on::device place, ::cuda::stream_ref stream, Body const& body,
                   map_inputs<T, Inputs> const& in, T* out, std::int64_t count) {
  // Any multiple of a warp that fills an SM's threads does; no block works with its neighbours.
  constexpr unsigned threads = 256;
  auto const run = map_elements<Width, Body, T, Inputs>;
  auto const shape =
      stride_shape(run, place, static_cast<std::uint64_t>(count) / Width + count % Width, threads);
  launch(run, shape, 0, stream, body, in, out, count);
}

}  // namespace detail

/// Enqueues `map_elements` on arrays that the device reaches, by 16 bytes where all are aligned so.
template <class Body, class T, std::size_t Inputs>
void launch_map(on::device place, ::cuda::stream_ref stream, Body const& body,
                std::array<T const*, Inputs> const& inputs, T* out, std::int64_t count) {
  if (count == 0) { return; }
  map_inputs<T, Inputs> in{};
  auto bits = reinterpret_cast<std::uintptr_t>(out);
  for (std::size_t k = 0; k < Inputs; ++k) {
    in.at[k] = inputs[k];
    bits |= reinterpret_cast<std::uintptr_t>(inputs[k]);
  }
  constexpr std::size_t widest = 16;
  if (bits % widest == 0) {
    detail::launch_map_of<widest / sizeof(T)>(place, stream, body, in, out, count);
  } else {
    detail::launch_map_of<1>(place, stream, body, in, out, count);
  }
}

}  // namespace kernel

namespace workloads {

/// The computation of one chunk, which `launch_elements(place, stream, strategy, work, inputs, out,
/// count)` of the workload enqueues.
template <element_wise Work>
struct element_compute {
  Work work;
  on::device place;

  void operator()(::cuda::stream_ref stream, transfer::chunk const& part) const {
    using value = typename Work::value_type;
    element_inputs<value, Work::inputs> inputs{};
    for (std::size_t k = 0; k < Work::inputs; ++k) { inputs[k] = part.template input<value>(k); }
    launch_elements(place, stream, copy::regular<>{}, work, inputs, part.template output<value>(0),
                    part.count);
  }
};

/// An item as a job for a transfer.
template <element_wise Work>
transfer::job<element_compute<Work>> job_of(
    Work const& work, on::device place,
    element_inputs<typename Work::value_type, Work::inputs> const& inputs,
    typename Work::value_type* output) {
  constexpr auto size = sizeof(typename Work::value_type);
  transfer::job<element_compute<Work>> what;
  what.elements = work.count();
  for (auto const* each : inputs) { what.inputs.push_back({each, size}); }
  what.outputs.push_back({output, size});
  what.compute = element_compute<Work>{work, place};
  return what;
}

/// Enqueues one item on the lane's stream. The device must be current on this thread. Resident
/// arrays take one launch. A transfer carries arrays of the host over and back, with the kernels in
/// between.
template <device_lane Lane, element_wise Work>
void run_on(Lane& where, Work const& work,
            element_arrays<typename Work::value_type, Work::inputs> const& all) {
  if constexpr (link_lane<Lane>) {
    where.transfer.run(where.stream, job_of(work, where.place, all.inputs, all.output));
  } else {
    launch_elements(where.place, where.stream, copy_of(where), work, all.inputs, all.output,
                    work.count());
  }
}

}  // namespace workloads
}  // namespace assay
