// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cuda_link`: copies, events and streams of one device; the type of memory at an address.
#pragma once

#include <assay/core/error.hpp>
#include <assay/core/memory_type.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>

#include <cstddef>

namespace assay {

/// Asks CUDA once about one address. Needs no current device, and does not synchronise.
inline memory_place memory_place_of(void const* address) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, address));
  switch (found.type) {
    case cudaMemoryTypeHost:
      return {memory_type::page_locked, -1};
    case cudaMemoryTypeManaged:
      return {memory_type::managed, -1};
    case cudaMemoryTypeDevice:
      return {memory_type::device, found.device};
    default:
      return {memory_type::pageable, -1};
  }
}

/// The type of `bytes` bytes at `data`. Memory is `pageable` if its first and last byte differ in
/// type, since only the host can read all of it.
inline memory_type memory_type_of(void const* data, std::size_t bytes) {
  auto const first = memory_place_of(data).type;
  if (bytes < 2) { return first; }
  auto const last = memory_place_of(static_cast<std::byte const*>(data) + bytes - 1).type;
  return first == last ? first : memory_type::pageable;
}

/// The address at which the current device sees page-locked or managed memory; throws `cuda_error`
/// for other memory.
inline void* device_alias(void const* data) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, data));
  if (found.devicePointer == nullptr) { throw cuda_error(cudaErrorInvalidValue); }
  return found.devicePointer;
}

namespace transfer {

/// The calls of the CUDA runtime that transfers need; tests replace them by a simulated device.
class cuda_link {
 public:
  using stream_type = ::cuda::stream_ref;
  using owned_stream = stream;
  using event_type = event;

  explicit cuda_link(on::device place) : place_(place) {}

  on::device place() const noexcept { return place_; }

  /// Makes the device current for a scope.
  device_guard current() const { return device_guard{place_}; }
  /// Makes the device current on a thread of the library's own.
  void bind_thread() const { check(cudaSetDevice(place_.id)); }

  owned_stream make_stream() const { return stream{place_}; }
  event_type make_event() const {
    device_guard const guard{place_};
    return event{};
  }
  page_locked_block page_locked(std::size_t bytes) const {
    device_guard const guard{place_};
    return page_locked_block{bytes};
  }

  void copy(stream_type on, void* to, void const* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on.get()));
  }
  void record(event_type& mark, stream_type on) const { mark.record(on); }
  void wait(stream_type on, event_type const& mark) const {
    check(cudaStreamWaitEvent(on.get(), mark.get(), 0));
  }
  void synchronize(event_type const& mark) const { mark.synchronize(); }
  void synchronize(stream_type on) const { check(cudaStreamSynchronize(on.get())); }

  /// Waits for the work, which may have failed.
  void drain(stream_type on) const noexcept {
    relaxed_capture_guard const relaxed;  // destructors drain
    check_noexcept(cudaStreamSynchronize(on.get()));
  }
  void drain(event_type const& mark) const noexcept {
    relaxed_capture_guard const relaxed;
    check_noexcept(cudaEventSynchronize(mark.get()));
  }

  bool capturing(stream_type on) const {
    auto status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(on.get(), &status));
    return status != cudaStreamCaptureStatusNone;
  }

  /// Free memory of the device.
  double free_device_bytes() const {
    device_guard const guard{place_};
    std::size_t free = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&free, &all));
    return static_cast<double>(free);
  }

  memory_type kind_of(void const* data, std::size_t bytes) const {
    return memory_type_of(data, bytes);
  }
  /// The address at which the device sees an array of page-locked or managed memory.
  void* alias_of(void const* data) const { return device_alias(data); }

 private:
  on::device place_;
};

}  // namespace transfer
}  // namespace assay
