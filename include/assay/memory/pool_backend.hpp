// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's backend on a CUDA device.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/memory/mapped_range.hpp>
#include <assay/memory/pool_options.hpp>
#include <assay/memory/thread_identity.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::mr {

/// Lets this thread make calls that a stream capture elsewhere in the process would else forbid
/// (`cudaMalloc`, event queries): the pool makes none of them on a captured stream.
class relaxed_capture_guard {
 public:
  relaxed_capture_guard() { check(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  relaxed_capture_guard(relaxed_capture_guard const&) = delete;
  relaxed_capture_guard& operator=(relaxed_capture_guard const&) = delete;
  ~relaxed_capture_guard() { check_noexcept(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Chunks mapped side by side, or from `cudaMalloc` where the device cannot map; events without
/// timing; `cudaStreamGetId` for identities.
template <class Range>
class basic_cuda_pool_backend {
 public:
  using stream_type = ::cuda::stream_ref;
  using event_type = cudaEvent_t;

  /// With `mapped` chunks come from one `mapped_range`, where the device has them; `peer_access`
  /// is that range's.
  explicit basic_cuda_pool_backend(on::device place, bool mapped = true, bool peer_access = false)
      : place_(place) {
    device_guard const guard{place_};
    null_per_thread_ = id_of(nullptr) == id_of(cudaStreamPerThread);
    if (mapped && Range::supported(place)) { range_ = std::make_shared<Range>(place, peer_access); }
  }

  on::device place() const noexcept { return place_; }

  /// The per-thread default stream is known by its handle, and by 0 where the program was compiled
  /// to make 0 mean it.
  stream_key key(stream_type stream) const noexcept {
    auto const handle = stream.get();
    auto const per_thread =
        handle == cudaStreamPerThread || (handle == nullptr && null_per_thread_);
    if (per_thread) [[unlikely]] { return thread_key(); }
    return {reinterpret_cast<std::uintptr_t>(handle == nullptr ? cudaStreamLegacy : handle), 0};
  }
  std::uint64_t thread_token() const noexcept { return this_thread().token; }

  /// Undefined for a stream that has been destroyed; fails for a captured one, and ends its
  /// capture.
  std::uint64_t identify(stream_type stream) const {
    auto const handle = stream.get();
    bool const is_default =
        handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
    if (!is_default) [[likely]] { return id_of(handle); }
    device_guard const guard{place_};  // every device has its own
    return id_of(handle);
  }

  /// Throws `std::invalid_argument` for a stream of another device.
  void require_own(stream_type stream) const {
    auto const handle = stream.get();
    if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
      return;
    }
    int device = 0;
    check(cudaStreamGetDevice(handle, &device));
    if (device == place_.id) { return; }
    throw std::invalid_argument("mr::pool: a stream of device " + std::to_string(device) +
                                " for a pool of device " + std::to_string(place_.id) +
                                ": open a pool for each device");
  }

  event_type make_event() const {
    device_guard const guard{place_};
    relaxed_capture_guard const relaxed;
    cudaEvent_t fresh = nullptr;
    check(cudaEventCreateWithFlags(&fresh, cudaEventDisableTiming));
    return fresh;
  }
  void destroy_event(event_type gone) const noexcept { check_noexcept(cudaEventDestroy(gone)); }
  void record(event_type what, stream_type where) const {
    check(cudaEventRecord(what, where.get()));
  }
  void wait(stream_type who, event_type what) const {
    check(cudaStreamWaitEvent(who.get(), what, 0));
  }
  bool query(event_type what) const {
    relaxed_capture_guard const guard;
    auto const code = cudaEventQuery(what);
    if (code == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    check(code);
    return true;
  }

  bool capturing(stream_type stream) const {
    auto status = cudaStreamCaptureStatusNone;
    auto const code = cudaStreamIsCapturing(stream.get(), &status);
    if (code == cudaErrorStreamCaptureImplicit) {  // the legacy stream, which another one captures
      (void)cudaGetLastError();
      return true;
    }
    check(code);
    return status != cudaStreamCaptureStatusNone;
  }

  bool contiguous() const noexcept { return range_ != nullptr; }
  std::size_t piece_bytes(std::size_t bytes) const noexcept {
    return range_ == nullptr ? bytes : Range::piece_bytes(bytes);
  }
  std::uintptr_t allocate(std::size_t bytes, std::uintptr_t wish) const {
    nvtx_range const here{"mr::pool reserve", category::allocation, bytes};
    device_guard const guard{place_};
    relaxed_capture_guard const relaxed;
    if (range_ != nullptr) { return range_->map(bytes, wish); }
    void* chunk = nullptr;
    auto const code = cudaMalloc(&chunk, bytes);
    // The size is all that can be invalid here.
    if (code == cudaErrorMemoryAllocation || code == cudaErrorInvalidValue) {
      (void)cudaGetLastError();
      return 0;
    }
    check(code);
    return reinterpret_cast<std::uintptr_t>(chunk);
  }
  /// No work uses these pieces any more; they are mapped.
  std::uintptr_t move(std::vector<chunk_run> const& runs, std::uintptr_t wish) const {
    nvtx_range const here{"mr::pool map anew", category::allocation};
    device_guard const guard{place_};
    relaxed_capture_guard const relaxed;
    return range_->move(runs, wish);
  }
  /// No work uses these pieces any more.
  void deallocate(std::uintptr_t chunk, std::size_t bytes) const noexcept {
    nvtx_range const here{"mr::pool give back", category::allocation, bytes};
    auto mode = cudaStreamCaptureModeRelaxed;
    bool const relaxed = check_noexcept(cudaThreadExchangeStreamCaptureMode(&mode));
    if (range_ != nullptr) {
      range_->unmap(chunk, bytes);
    } else {
      check_noexcept(cudaFree(reinterpret_cast<void*>(chunk)));
    }
    if (relaxed) { check_noexcept(cudaThreadExchangeStreamCaptureMode(&mode)); }
  }

  /// False while a stream of the device is captured.
  bool synchronize() const {
    device_guard const guard{place_};
    auto const code = cudaDeviceSynchronize();
    if (code == cudaErrorStreamCaptureUnsupported || code == cudaErrorStreamCaptureImplicit) {
      (void)cudaGetLastError();
      return false;
    }
    check(code);
    return true;
  }

 private:
  static std::uint64_t id_of(cudaStream_t handle) {
    unsigned long long id = 0;
    check(cudaStreamGetId(handle, &id));
    return id;
  }

  on::device place_;
  bool null_per_thread_ = false;
  std::shared_ptr<Range> range_;
};

/// The backend of `mr::pool`.
using cuda_pool_backend = basic_cuda_pool_backend<mapped_range>;

static_assert(pool_backend<cuda_pool_backend>);

}  // namespace assay::mr
