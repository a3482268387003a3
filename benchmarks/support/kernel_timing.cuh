// SPDX-License-Identifier: Apache-2.0
/// @file
/// The time of a kernel alone: launches recorded as a graph, beside copies of the driver.
#pragma once

#include "../../examples/device_array.hpp"

#include <assay/core/stream.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/stats/summary.hpp>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/null_cast_kernels.cuh>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::benchmark {

using device_lane_type = lane<on::device, ::cuda::stream_ref, mr::cuda_malloc_resource>;

/// Launches that are replayed as one graph, so that submitting them costs next to nothing.
class recording {
 public:
  /// Records `enqueue(i)` for i in [0, launches), which must enqueue on `where` alone.
  template <class Enqueue>
  recording(stream const& where, int launches, Enqueue const& enqueue)
      : where_(where.get()), launches_(launches) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(where_, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < launches; ++i) { enqueue(i); }
    check(cudaStreamEndCapture(where_, &graph));
    auto const code = cudaGraphInstantiate(&runs_, graph, 0);
    check_noexcept(cudaGraphDestroy(graph));
    check(code);
  }
  recording(recording&& other) noexcept
      : where_(other.where_),
        launches_(other.launches_),
        runs_(std::exchange(other.runs_, nullptr)),
        begin_(std::move(other.begin_)),
        end_(std::move(other.end_)) {}
  ~recording() {
    if (runs_ != nullptr) { check_noexcept(cudaGraphExecDestroy(runs_)); }
  }

  void enqueue() const { check(cudaGraphLaunch(runs_, where_)); }

  /// Seconds per launch of one replay.
  double seconds() {
    begin_.record(::cuda::stream_ref{where_});
    enqueue();
    end_.record(::cuda::stream_ref{where_});
    end_.synchronize();
    return end_.seconds_since(begin_) / launches_;
  }

 private:
  cudaStream_t where_;
  int launches_;
  cudaGraphExec_t runs_ = nullptr;
  event begin_{event::kind::timed};
  event end_{event::kind::timed};
};

/// `cudaMemcpyAsync` from device to device, of random bytes, as the peer of every kernel here.
class copy_peer {
 public:
  copy_peer(stream const& where, std::size_t bytes, void const* random, std::size_t random_bytes)
      : where_(where.get()), bytes_(bytes), from_(bytes), to_(bytes) {
    for (std::size_t at = 0; at < bytes; at += random_bytes) {
      check(cudaMemcpyAsync(from_.get() + at, random, std::min(random_bytes, bytes - at),
                            cudaMemcpyDeviceToDevice, where_));
    }
    (void)seconds();
  }

  /// Seconds of one copy.
  double seconds() {
    begin_.record(::cuda::stream_ref{where_});
    check(cudaMemcpyAsync(to_.get(), from_.get(), bytes_, cudaMemcpyDeviceToDevice, where_));
    end_.record(::cuda::stream_ref{where_});
    end_.synchronize();
    return end_.seconds_since(begin_);
  }
  /// Read and written.
  double bytes() const { return 2.0 * static_cast<double>(bytes_); }

 private:
  cudaStream_t where_;
  std::size_t bytes_;
  examples::device_array<std::byte> from_;
  examples::device_array<std::byte> to_;
  event begin_{event::kind::timed};
  event end_{event::kind::timed};
};

/// What the three kernels hand to each other.
template <class T>
struct temporaries {
  explicit temporaries(std::int64_t rows)
      : bools(static_cast<std::size_t>(rows)),
        data(static_cast<std::size_t>(rows)),
        mask(workloads::mask_bytes(rows) / 4) {}
  examples::device_array<std::uint8_t> bools;
  examples::device_array<T> data;
  examples::device_array<std::uint32_t> mask;
};

/// Inputs, temporaries and outputs that are used in turn, so that none of them is found in a cache.
template <class T>
class buffer_sets {
 public:
  using state = workloads::prepared<on::device, workloads::null_cast<T>>;
  using arrays = workloads::null_cast_arrays<T>;

  buffer_sets(on::device place, workloads::null_cast<T> const& work, int count)
      : rows_(work.count()) {
    stream const where{place};
    lane<on::device, ::cuda::stream_ref, mr::cuda_malloc_resource> own{
        place, where, mr::cuda_malloc{}.open(place), 0};
    for (int i = 0; i < count; ++i) {
      states_.push_back(workloads::prepare(work, own, 1));
      temporaries_.emplace_back(work.count());
    }
  }
  int count() const { return static_cast<int>(states_.size()); }
  std::int64_t rows() const { return rows_; }
  state& at(int i) { return states_[static_cast<std::size_t>(i)]; }
  arrays const& arrays_of(int i) { return at(i).arrays(0); }
  temporaries<T>& with(int i) { return temporaries_[static_cast<std::size_t>(i)]; }

 private:
  std::int64_t rows_;
  std::vector<state> states_;
  std::vector<temporaries<T>> temporaries_;
};

/// As many buffer sets as together are twice an L2 of 60 MiB even for the kernel that moves least,
/// which is is_valid with 1.125 bytes a row.
inline int buffer_sets_for(std::int64_t rows) {
  return static_cast<int>(std::clamp<std::int64_t>((std::int64_t{108} << 20U) / rows, 1, 128));
}

inline double median(std::vector<double> const& values) { return stats::summarise(values).median; }

template <class T>
constexpr char const* type_name() {
  if constexpr (std::is_same_v<T, float>) { return "float"; }
  return sizeof(T) == 4 ? "int32" : "int64";
}

}  // namespace assay::benchmark
