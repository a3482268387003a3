// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's backend on a CUDA device.
#pragma once

#include <assay/memory/cuda.hpp>
#include <assay/memory/pool_options.hpp>

#include <cstdint>

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

/// `cudaMalloc` for chunks, events without timing, `cudaStreamGetId` for identities.
class cuda_pool_backend {
 public:
  using stream_type = ::cuda::stream_ref;
  using event_type = cudaEvent_t;

  explicit cuda_pool_backend(on::device place) : place_(place) {}

  on::device place() const noexcept { return place_; }

  std::uintptr_t key(stream_type stream) const noexcept {
    return reinterpret_cast<std::uintptr_t>(stream.get());
  }

  // The per-thread default stream is known by its handle, and by 0 where the program was compiled
  // to make 0 mean it.
  stream_identity identify(stream_type stream) const {
    auto const handle = stream.get();
    bool const is_default =
        handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
    if (!is_default) [[likely]] { return {id_of(handle), false}; }
    device_guard const guard{place_};  // every device has its own
    auto const id = id_of(handle);
    return {id, id == id_of(cudaStreamPerThread)};
  }

  event_type make_event() const {
    device_guard const guard{place_};
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

  std::uintptr_t allocate(std::size_t bytes) const {
    device_guard const guard{place_};
    relaxed_capture_guard const relaxed;
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
  void deallocate(std::uintptr_t chunk, std::size_t) const noexcept {
    check_noexcept(cudaFree(reinterpret_cast<void*>(chunk)));
  }
  void synchronize() const {
    device_guard const guard{place_};
    check(cudaDeviceSynchronize());
  }

 private:
  static std::uint64_t id_of(cudaStream_t handle) {
    unsigned long long id = 0;
    check(cudaStreamGetId(handle, &id));
    return id;
  }

  on::device place_;
};

static_assert(pool_backend<cuda_pool_backend>);

}  // namespace assay::mr
