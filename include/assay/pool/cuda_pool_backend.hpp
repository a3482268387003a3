// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's backend on a CUDA device.
#pragma once

#include <assay/core/driver_call.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/memory/thread_identity.hpp>
#include <assay/pool/mapped_range.hpp>
#include <assay/pool/pool_backend.hpp>

#include <cudaTypedefs.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay::mr {

namespace detail {

/// The driver's calls about a stream, found at run time. From 16 threads at once they take 0.05 us
/// each where the runtime's take 1 us, since the runtime takes a lock (H100,
/// benchmarks/driver_calls.cu). They know a stream by its handle and need no current context, which
/// default streams do.
struct stream_calls {
  PFN_cuStreamGetId_v12000 get_id = nullptr;
  PFN_cuStreamIsCapturing_v10000 is_capturing = nullptr;
  PFN_cuEventRecord_v2000 record = nullptr;
  PFN_cuStreamWaitEvent_v3020 wait = nullptr;

  static stream_calls find() {
    return {driver_call<PFN_cuStreamGetId_v12000>("cuStreamGetId", 12000),
            driver_call<PFN_cuStreamIsCapturing_v10000>("cuStreamIsCapturing", 10000),
            driver_call<PFN_cuEventRecord_v2000>("cuEventRecord", 2000),
            driver_call<PFN_cuStreamWaitEvent_v3020>("cuStreamWaitEvent", 3020)};
  }
};

}  // namespace detail

/// Chunks mapped side by side, or from `cudaMalloc` where the device cannot map; events without
/// timing; the driver's numbers of streams for identities.
class cuda_pool_backend {
 public:
  using stream_type = ::cuda::stream_ref;
  using event_type = cudaEvent_t;

  /// With `mapped` chunks come from one `mapped_range`, where the device has them; `peer_access`
  /// is that range's.
  explicit cuda_pool_backend(on::device place, bool mapped = true, bool peer_access = false)
      : place_(place) {
    device_guard const guard{place_};
    relaxed_capture_guard const relaxed;
    null_per_thread_ = id_of(nullptr) == id_of(cudaStreamPerThread);
    waiting_->token.store(make_wait_token());
    if (mapped && mapped_range::supported(place)) {
      range_ = std::make_shared<mapped_range>(place, peer_access);
    }
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
  /// capture. A default stream is told by its key: no other stream ever has that.
  std::uint64_t identify(stream_type stream) const {
    auto const handle = stream.get();
    if (is_default(handle)) { return 0; }
    unsigned long long id = 0;
    check(calls_.get_id(handle, &id));
    return id;
  }

  /// Throws `std::invalid_argument` for a stream of another device.
  void require_own(stream_type stream) const {
    auto const handle = stream.get();
    if (is_default(handle)) { return; }
    int device = 0;
    check(cudaStreamGetDevice(handle, &device));
    if (device == place_.id) { return; }
    waiting_->others.fetch_or(std::uint64_t{1} << static_cast<unsigned>(device));
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
    check(asked(where, [&](CUstream handle) { return calls_.record(what, handle); }));
  }
  void wait(stream_type who, event_type what) const {
    check(asked(who, [&](CUstream handle) { return calls_.wait(handle, what, 0); }));
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

  [[gnu::always_inline]] capture_state capturing(stream_type stream) const {
    auto status = CU_STREAM_CAPTURE_STATUS_NONE;
    auto const code =
        asked(stream, [&](CUstream handle) { return calls_.is_capturing(handle, &status); });
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) { return capture_state::blocked; }
    check(code);
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? capture_state::none : capture_state::captured;
  }

  bool contiguous() const noexcept { return range_ != nullptr; }
  std::size_t piece_bytes(std::size_t bytes) const noexcept {
    return range_ == nullptr ? bytes : mapped_range::piece_bytes(bytes);
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
  /// No work uses these pieces any more.
  void deallocate(std::uintptr_t chunk, std::size_t bytes) const noexcept {
    nvtx_range const here{"mr::pool give back", category::allocation, bytes};
    relaxed_capture_guard const relaxed;
    if (range_ != nullptr) {
      range_->unmap(chunk, bytes);
    } else {
      check_noexcept(cudaFree(reinterpret_cast<void*>(chunk)));
    }
  }

  /// Waits for all work of the device, also of destroyed streams, and of each device whose stream
  /// was refused.
  void synchronize() const {
    relaxed_capture_guard const relaxed;
    wait_for_device(place_, waiting_->token.exchange(nullptr));
    auto const others = waiting_->others.load();
    for (int id = 0; id < 64; ++id) {
      if ((others >> id & 1U) != 0) { wait_for_device(on::device{id}); }
    }
    device_guard const guard{place_};
    void* const token = waiting_->token.exchange(make_wait_token());
    if (token != nullptr) { check(cudaFree(token)); }  // another thread waited meanwhile
  }

 private:
  // Waits need a token, kept for a time when the card is full, and the other devices whose streams
  // were refused, by a bit for each.
  struct waits {
    waits() = default;
    waits(waits const&) = delete;
    waits& operator=(waits const&) = delete;
    ~waits() {
      relaxed_capture_guard const relaxed;
      check_noexcept(cudaFree(token.load()));
    }
    std::atomic<void*> token{nullptr};
    std::atomic<std::uint64_t> others{0};
  };

  // A call of the driver about a stream. Default streams need a current context, which a thread
  // lacks until a call of the runtime gives it one.
  template <class Call>
  [[gnu::always_inline]] CUresult asked(stream_type stream, Call call) const {
    auto handle = stream.get();
    if (handle == nullptr) { handle = null_per_thread_ ? cudaStreamPerThread : cudaStreamLegacy; }
    auto const code = call(handle);
    if (code != CUDA_ERROR_INVALID_CONTEXT) [[likely]] { return code; }
    int current = 0;
    check(cudaGetDevice(&current));
    check(cudaSetDevice(current));
    return call(handle);
  }

  static bool is_default(cudaStream_t handle) noexcept {
    return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
  }
  static std::uint64_t id_of(cudaStream_t handle) {
    unsigned long long id = 0;
    check(cudaStreamGetId(handle, &id));
    return id;
  }

  on::device place_;
  detail::stream_calls calls_ = detail::stream_calls::find();
  bool null_per_thread_ = false;
  std::shared_ptr<mapped_range> range_;
  std::shared_ptr<waits> waiting_ = std::make_shared<waits>();
};

static_assert(pool_backend<cuda_pool_backend>);

/// A resource that a pool can take its chunks from.
template <class R>
concept pool_upstream = std::copyable<R> && requires(R& resource, void* block, std::size_t bytes) {
  { resource.allocate_sync(bytes, default_alignment) } -> std::same_as<void*>;
  resource.deallocate_sync(block, bytes, default_alignment);
};

/// Chunks from another resource. Exceptions that tell of too little memory, of whatever library,
/// mean that there is no more.
template <pool_upstream Upstream>
class upstream_pool_backend : public cuda_pool_backend {
 public:
  static constexpr bool host_accessible = is_host_accessible<Upstream>;

  upstream_pool_backend(on::device place, Upstream upstream)
      : cuda_pool_backend(place, false), upstream_(std::move(upstream)) {}

  std::uintptr_t allocate(std::size_t bytes, std::uintptr_t) {
    nvtx_range const here{"mr::pool reserve", category::allocation, bytes};
    device_guard const guard{place()};
    relaxed_capture_guard const relaxed;
    try {
      return reinterpret_cast<std::uintptr_t>(upstream_.allocate_sync(bytes, default_alignment));
    } catch (std::exception const& cause) {
      if (!is_out_of_memory(cause)) { throw; }
      return 0;
    }
  }
  void deallocate(std::uintptr_t chunk, std::size_t bytes) noexcept {
    nvtx_range const here{"mr::pool give back", category::allocation, bytes};
    device_guard const guard{place(), std::nothrow};
    relaxed_capture_guard const relaxed;
    upstream_.deallocate_sync(reinterpret_cast<void*>(chunk), bytes, default_alignment);
  }

 private:
  Upstream upstream_;
};

}  // namespace assay::mr
