// SPDX-License-Identifier: Apache-2.0
/// @file
/// Owning streams and events.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>

#include <utility>

namespace assay {

/// An owned non-blocking stream of one device. Destruction does not synchronise: work already
/// submitted still runs, and captures of other threads go on.
class stream {
 public:
  explicit stream(on::device place) {
    device_guard const guard{place};
    check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
  }
  stream(stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  stream& operator=(stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~stream() {
    if (handle_ == nullptr) { return; }
    relaxed_capture_guard const relaxed;
    check_noexcept(cudaStreamDestroy(handle_));
  }

  cudaStream_t get() const noexcept { return handle_; }
  operator ::cuda::stream_ref() const noexcept { return ::cuda::stream_ref{handle_}; }

  /// Blocks until all work submitted so far is done. Throws `cuda_error` if that work failed.
  void synchronize() const { check(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

/// An owned event of the device that is current at construction; `timed` events can be subtracted.
/// A thread that waits for a `sleeping` event leaves its core to others.
class event {
 public:
  enum class kind { ordering, timed, sleeping };

  explicit event(kind what = kind::ordering) {
    unsigned flags = what == kind::timed ? cudaEventDefault : cudaEventDisableTiming;
    if (what == kind::sleeping) { flags |= cudaEventBlockingSync; }
    check(cudaEventCreateWithFlags(&handle_, flags));
  }
  event(event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~event() {
    if (handle_ != nullptr) { check_noexcept(cudaEventDestroy(handle_)); }
  }

  cudaEvent_t get() const noexcept { return handle_; }
  void record(::cuda::stream_ref on) { check(cudaEventRecord(handle_, on.get())); }
  void synchronize() const { check(cudaEventSynchronize(handle_)); }

  /// Seconds from `begin` to this event, both timed and complete.
  double seconds_since(event const& begin) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_));
    return double{milliseconds} * 1e-3;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

template <>
struct stream_traits<::cuda::stream_ref> {
  static void synchronize(::cuda::stream_ref which) { check(cudaStreamSynchronize(which.get())); }
  static void bind_thread(on::device place) { check(cudaSetDevice(place.id)); }
};

template <>
struct stream_handle<stream> {
  using type = ::cuda::stream_ref;
};
template <>
struct stream_handle<cudaStream_t> {
  using type = ::cuda::stream_ref;
};

template <>
struct place_traits<on::device> {
  using stream_type = ::cuda::stream_ref;
  using owned_stream = stream;
  static stream make_stream(on::device place) { return stream{place}; }
  static void require(on::device place) { require_device(place); }
  /// The compute capability times ten: 90 of 9.0.
  static int capability(on::device place) {
    return 10 * attribute(place, cudaDevAttrComputeCapabilityMajor) +
           attribute(place, cudaDevAttrComputeCapabilityMinor);
  }
};

}  // namespace assay
