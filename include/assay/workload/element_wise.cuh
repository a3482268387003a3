// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise workloads on the device: resident there, or in host memory and carried over.
#pragma once

#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/element_wise.hpp>
#include <assay/workload/resident.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace assay {

namespace kernel {

/// `Width` elements that one instruction loads or stores.
template <class T, std::size_t Width>
struct alignas(sizeof(T) * Width) elements {
  T at[Width];
};

/// Where the inputs of a map begin.
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

/// What items on a device use that find everything there: the inputs, and an output for each lane.
template <element_wise Work>
class device_element_state {
 public:
  using value_type = typename Work::value_type;

  device_element_state(on::device place, Work const& work, int lanes) : place_(place), work_(work) {
    device_guard const guard{place};
    range const here{"prepare", category::transfer};
    for (std::size_t k = 0; k < Work::inputs; ++k) {
      inputs_.emplace_back(size());
      upload(k);
    }
    for (int lane = 0; lane < lanes; ++lane) { outputs.emplace_back(size()); }
    poison();
  }

  value_type const* input(std::size_t which) const noexcept { return inputs_[which].get(); }

  void poison() {
    range const here{"poison", category::gpu, outputs.size() * size() * sizeof(value_type)};
    device_guard const guard{place_};
    for (auto& each : outputs) {
      if (size() == 0) { break; }
      check(cudaMemset(each.get(), element_poison_byte, size() * sizeof(value_type)));
    }
    check(cudaDeviceSynchronize());
  }

  mismatch verify() const {
    range const here{"verify outputs", category::transfer};
    device_guard const guard{place_};
    std::vector<value_type> got(static_cast<std::size_t>(std::min(work_.count(), part)));
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      for (std::int64_t begin = 0; begin < work_.count(); begin += part) {
        auto const end = std::min(begin + part, work_.count());
        check(cudaMemcpy(got.data(), outputs[static_cast<std::size_t>(lane)].get() + begin,
                         static_cast<std::size_t>(end - begin) * sizeof(value_type),
                         cudaMemcpyDefault));
        if (auto found = check_elements(work_, lane, got.data(), begin, end)) { return found; }
      }
    }
    return {};
  }

  std::vector<resident<value_type>> outputs;  ///< one for each lane

 private:
  static constexpr std::int64_t part = std::int64_t{1} << 23;  // 64 MiB at most on the host

  std::size_t size() const noexcept { return static_cast<std::size_t>(work_.count()); }

  void upload(std::size_t which) {
    std::vector<value_type> some(static_cast<std::size_t>(std::min(work_.count(), part)));
    for (std::int64_t begin = 0; begin < work_.count(); begin += part) {
      auto const many = std::min(part, work_.count() - begin);
      host::parallel_for(host::all_threads(), many, detail::element_grain,
                         [&](std::int64_t low, std::int64_t high) {
                           detail::fill_elements(work_, which, begin + low, begin + high,
                                                 some.data() + low);
                         });
      check(cudaMemcpy(inputs_[which].get() + begin, some.data(),
                       static_cast<std::size_t>(many) * sizeof(value_type), cudaMemcpyDefault));
    }
  }

  on::device place_;
  Work work_;
  std::vector<resident<value_type>> inputs_;
};

/// An array in host memory of the kind that a transfer wants; it begins at a page.
template <class T>
class host_array {
 public:
  host_array(std::size_t count, transfer::host_memory kind)
      : memory_(allocate(std::max<std::size_t>(count, 1) * sizeof(T), kind),
                deleter{kind == transfer::host_memory::page_locked}) {}

  T* get() const noexcept { return static_cast<T*>(memory_.get()); }

 private:
  struct deleter {
    bool page_locked = false;
    void operator()(void* old) const noexcept {
      if (page_locked) {
        range const here{"host_array deallocate", category::allocation};
        check_noexcept(cudaFreeHost(old));
      } else {
        std::free(old);
      }
    }
  };

  static void* allocate(std::size_t bytes, transfer::host_memory kind) {
    constexpr std::size_t page = 4096;
    void* block = nullptr;
    if (kind == transfer::host_memory::page_locked) {
      range const here{"host_array allocate", category::allocation, bytes};
      check(cudaHostAlloc(&block, bytes, cudaHostAllocPortable));
    } else {
      block = std::aligned_alloc(page, (bytes + page - 1) / page * page);
      if (block == nullptr) { throw std::bad_alloc{}; }
    }
    return block;
  }

  std::unique_ptr<void, deleter> memory_;
};

/// What items use whose arrays live in host memory: a caller's own where they are, or generated
/// ones in memory of the kind that the transfer wants; and an output for each lane.
template <element_wise Work, transfer::host_memory Kind>
class link_element_state {
 public:
  using value_type = typename Work::value_type;

  link_element_state(on::device place, Work const& work, int lanes) : work_(work) {
    device_guard const guard{place};
    range const here{"prepare", category::cpu};
    auto const size = static_cast<std::size_t>(work.count());
    for (std::size_t k = 0; k < Work::inputs; ++k) {
      if (work.data) {
        inputs_[k] = work.data->inputs[k];
        continue;
      }
      owned_.emplace_back(size, Kind);
      fill_input(work, k, owned_.back().get());
      inputs_[k] = owned_.back().get();
    }
    for (int lane = 0; lane < lanes; ++lane) {
      if (work.data && work.data->output != nullptr) {
        outputs.push_back(work.data->output);
      } else {
        owned_.emplace_back(size, Kind);
        outputs.push_back(owned_.back().get());
      }
    }
    poison();  // also so that no page is touched for the first time by a timed item
  }

  std::array<value_type const*, Work::inputs> const& inputs() const noexcept { return inputs_; }

  void poison() {
    for (auto* each : outputs) { poison_elements(each, work_.count()); }
  }
  mismatch verify() const {
    for (int lane = 0; lane < static_cast<int>(outputs.size()); ++lane) {
      auto const* const got = outputs[static_cast<std::size_t>(lane)];
      if (auto found = check_elements(work_, lane, got, 0, work_.count())) { return found; }
    }
    return {};
  }

  std::vector<value_type*> outputs;  ///< one for each lane

 private:
  Work work_;
  std::vector<host_array<value_type>> owned_;
  std::array<value_type const*, Work::inputs> inputs_{};
};

/// The computation of one chunk, which `launch_elements(place, stream, work, inputs, out, count)`
/// of the workload enqueues.
template <element_wise Work>
struct element_compute {
  Work work;
  on::device place;

  void operator()(::cuda::stream_ref stream, transfer::chunk const& part) const {
    using value = typename Work::value_type;
    std::array<value const*, Work::inputs> inputs{};
    for (std::size_t k = 0; k < Work::inputs; ++k) { inputs[k] = part.template input<value>(k); }
    launch_elements(place, stream, work, inputs, part.template output<value>(0), part.count);
  }
};

/// An item as a job for a transfer.
template <element_wise Work>
transfer::job<element_compute<Work>> job_of(
    Work const& work, on::device place,
    std::array<typename Work::value_type const*, Work::inputs> const& inputs,
    typename Work::value_type* output) {
  constexpr auto size = sizeof(typename Work::value_type);
  transfer::job<element_compute<Work>> what;
  what.elements = work.count();
  for (auto const* each : inputs) { what.inputs.push_back({each, size}); }
  what.outputs.push_back({output, size});
  what.compute = element_compute<Work>{work, place};
  return what;
}

template <device_lane Lane, element_wise Work>
auto prepare_on(Lane& where, Work const& work, int lanes) {
  return device_element_state<Work>{where.place, work, lanes};
}
template <link_lane Lane, element_wise Work>
auto prepare_on(Lane& where, Work const& work, int lanes) {
  return link_element_state<Work, Lane::transfer_type::wants>{where.place, work, lanes};
}

/// One kernel on the lane's stream, whose device must be current on this thread.
template <device_lane Lane, element_wise Work>
void enqueue_on(Lane& where, Work const& work, device_element_state<Work>& state) {
  range const here{Work::name.data(), category::gpu, static_cast<std::uint64_t>(work.count())};
  std::array<typename Work::value_type const*, Work::inputs> inputs{};
  for (std::size_t k = 0; k < Work::inputs; ++k) { inputs[k] = state.input(k); }
  launch_elements(where.place, where.stream, work, inputs,
                  state.outputs.at(static_cast<std::size_t>(where.index)).get(), work.count());
}

/// Carries the arrays over and back by the lane's transfer, with the kernels in between.
template <link_lane Lane, element_wise Work, transfer::host_memory Kind>
void enqueue_on(Lane& where, Work const& work, link_element_state<Work, Kind>& state) {
  range const here{Work::name.data(), category::transfer, static_cast<std::uint64_t>(work.count())};
  auto* const output = state.outputs.at(static_cast<std::size_t>(where.index));
  where.transfer.run(where.stream, job_of(work, where.place, state.inputs(), output));
}

}  // namespace workloads
}  // namespace assay
