// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cuda_link`: copies, events and streams of one device, as transfers use them.
#pragma once

#include <assay/core/host_kind_cuda.hpp>
#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace assay::transfer {

/// Page-locked host memory that goes with its owner.
class page_locked_block {
 public:
  explicit page_locked_block(std::size_t bytes) {
    range const here{"page_locked_block allocate", category::allocation, bytes};
    check(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable));
  }
  page_locked_block(page_locked_block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)) {}
  page_locked_block& operator=(page_locked_block&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~page_locked_block() {
    if (data_ == nullptr) { return; }
    range const here{"page_locked_block deallocate", category::allocation};
    check_noexcept(cudaFreeHost(data_));
  }
  void* get() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

/// Device memory outside of any resource, for measurements of the machine.
class device_block {
 public:
  device_block(on::device place, std::size_t bytes) {
    range const here{"device_block allocate", category::allocation, bytes};
    device_guard const guard{place};
    check(cudaMalloc(&data_, bytes));
  }
  device_block(device_block const&) = delete;
  device_block& operator=(device_block const&) = delete;
  ~device_block() {
    range const here{"device_block deallocate", category::allocation};
    check_noexcept(cudaFree(data_));
  }
  void* get() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

/// What a transfer asks of the machine; tests put another in its place, whose copies fail.
class cuda_link {
 public:
  using stream_type = ::cuda::stream_ref;
  using owned_stream = stream;
  using event_type = event;
  static constexpr auto timed = event::kind::timed;

  explicit cuda_link(on::device place) : place_(place) {}

  on::device place() const noexcept { return place_; }

  /// Makes the device current for a scope.
  device_guard current() const { return device_guard{place_}; }
  /// Makes it current on a thread of the library's own.
  void bind_thread() const { check(cudaSetDevice(place_.id)); }

  owned_stream make_stream() const { return stream{place_}; }
  event_type make_event(event::kind what = event::kind::ordering) const {
    device_guard const guard{place_};
    return event{what};
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

  /// Waits, whatever became of the work.
  void drain(stream_type on) const noexcept { check_noexcept(cudaStreamSynchronize(on.get())); }
  void drain(event_type const& mark) const noexcept {
    check_noexcept(cudaEventSynchronize(mark.get()));
  }

  bool capturing(stream_type on) const {
    auto status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(on.get(), &status));
    return status != cudaStreamCaptureStatusNone;
  }

  /// Seconds between two timed events, nothing until both have passed.
  std::optional<double> seconds_between(event_type const& begin, event_type const& end) const {
    auto const code = cudaEventQuery(end.get());
    if (code == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return {};
    }
    check(code);
    return end.seconds_since(begin);
  }

  /// All memory of the device, free or not.
  double device_bytes() const {
    device_guard const guard{place_};
    std::size_t free = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&free, &all));
    return static_cast<double>(all);
  }

  /// Page-locks host memory where it lies, until `unpin`.
  void pin(void* data, std::size_t bytes) const {
    range const here{"page-lock", category::allocation, bytes};
    device_guard const guard{place_};
    check(cudaHostRegister(data, bytes, cudaHostRegisterPortable));
  }
  void unpin(void* data) const noexcept {
    range const here{"end page-lock", category::allocation};
    check_noexcept(cudaHostUnregister(data));
  }

  host_kind kind_of(void const* data, std::size_t bytes) const { return host_kind_of(data, bytes); }
  /// Where the device sees an array of page-locked or managed memory.
  void* alias_of(void const* data) const { return device_alias(data); }

 private:
  on::device place_;
};

}  // namespace assay::transfer
