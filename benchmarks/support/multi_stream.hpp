// SPDX-License-Identifier: Apache-2.0
/// @file
/// `multi_stream`: a few streams and as many equal chunks, the well-known pattern: the peer of
/// `transfer::overlapped`.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/transfer/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// Runs jobs over page-locked arrays: whole arrays on the device, one chunk for each stream, and
/// all copies in before all kernels before all copies out.
template <class Memory>
class multi_stream {
 public:
  multi_stream(on::device place, Memory memory, int streams = 4)
      : place_(place), memory_(std::move(memory)) {
    device_guard const guard{place};
    for (int i = 0; i <= streams; ++i) { ends_.emplace_back(event::kind::ordering); }
    for (int i = 0; i < streams; ++i) { streams_.emplace_back(place); }
  }

  /// Enqueues the job so that later work on `caller` sees its outputs.
  template <class Compute>
  void run(::cuda::stream_ref caller, transfer::job<Compute> const& what) {
    device_guard const guard{place_};
    auto const elements = static_cast<std::size_t>(what.elements);
    std::vector<std::byte*> in, out;
    for (auto const& each : what.inputs) {
      in.push_back(take(caller, elements * each.element_bytes));
    }
    for (auto const& each : what.outputs) {
      out.push_back(take(caller, elements * each.element_bytes));
    }
    ends_.back().record(caller);
    for (auto const& each : streams_) {
      check(cudaStreamWaitEvent(each.get(), ends_.back().get(), 0));
    }
    each_chunk(what, [&](stream const& on, transfer::chunk const& part) {
      for (std::size_t i = 0; i < in.size(); ++i) {
        auto const size = what.inputs[i].element_bytes;
        auto const first = static_cast<std::size_t>(part.first) * size;
        copy(on, in[i] + first, static_cast<std::byte const*>(what.inputs[i].data) + first,
             static_cast<std::size_t>(part.count) * size);
      }
    });
    std::vector<void const*> inputs(in.size());
    std::vector<void*> outputs(out.size());
    each_chunk(what, [&](stream const& on, transfer::chunk part) {
      auto const first = static_cast<std::size_t>(part.first);
      for (std::size_t i = 0; i < in.size(); ++i) {
        inputs[i] = in[i] + first * what.inputs[i].element_bytes;
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        outputs[i] = out[i] + first * what.outputs[i].element_bytes;
      }
      part.inputs = inputs;
      part.outputs = outputs;
      what.compute(on, part);
    });
    each_chunk(what, [&](stream const& on, transfer::chunk const& part) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        auto const size = what.outputs[i].element_bytes;
        auto const first = static_cast<std::size_t>(part.first) * size;
        copy(on, static_cast<std::byte*>(what.outputs[i].data) + first, out[i] + first,
             static_cast<std::size_t>(part.count) * size);
      }
    });
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      ends_[i].record(streams_[i]);
      check(cudaStreamWaitEvent(caller.get(), ends_[i].get(), 0));
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      memory_.deallocate(caller, in[i], elements * what.inputs[i].element_bytes, alignment);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      memory_.deallocate(caller, out[i], elements * what.outputs[i].element_bytes, alignment);
    }
  }

 private:
  static constexpr std::size_t alignment = 256;

  std::byte* take(::cuda::stream_ref on, std::size_t bytes) {
    return static_cast<std::byte*>(memory_.allocate(on, bytes, alignment));
  }
  static void copy(stream const& on, void* to, void const* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on.get()));
  }
  /// Calls `body(stream, chunk)` for each stream and its part of the elements.
  template <class Compute, class Body>
  void each_chunk(transfer::job<Compute> const& what, Body const& body) {
    auto const count = static_cast<std::int64_t>(streams_.size());
    auto const units = (what.elements + what.granularity - 1) / what.granularity;
    auto const begin = [&](std::int64_t i) {
      return std::min(what.elements, units * i / count * what.granularity);
    };
    for (std::int64_t i = 0; i < count; ++i) {
      if (begin(i) == begin(i + 1)) { continue; }
      body(streams_[static_cast<std::size_t>(i)],
           transfer::chunk{static_cast<int>(i), begin(i), begin(i + 1) - begin(i), {}, {}});
    }
  }

  on::device place_;
  Memory memory_;
  std::vector<stream> streams_;
  std::vector<event> ends_;  ///< one for each stream, and one for the caller's earlier work
};

}  // namespace assay::benchmark
