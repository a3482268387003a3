// SPDX-License-Identifier: Apache-2.0
/// @file
/// `launch_session`: the instruments that all subjects of one comparison of launches share.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/device.hpp>
#include <assay/core/driver_call.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/host/poll_until.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/machine/clock_probe.cuh>
#include <assay/machine/stream_latch.cuh>
#include <assay/measure/subject.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/world/device_barrier.hpp>

#include <cudaTypedefs.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay::measure {

/// A launch without work. (A template, since a plain kernel in a header does not link from two
/// units.)
template <class T>
__global__ void do_nothing(T) {}

/// The instruments of one comparison on one device. All variants are timed in one way, so the
/// session knows the way and not each subject.
///
/// While streams are `held`, the launches of a cell wait in the stream until all of them are
/// enqueued, and then run without waiting for the host. A launch that waits for the device would
/// wait for ever behind a held stream. So once a callable blocks, no stream is held, for any
/// variant.
class launch_session {
 public:
  /// The device must be current.
  launch_session(on::device place, clock primary, bool cold_cache, device_barrier barrier = {})
      : place_(place),
        primary_(primary),
        barrier_(std::move(barrier)),
        latch_(held_at_most),
        sm_clock_(place) {
    if (cold_cache) {
      flush_bytes_ = static_cast<std::size_t>(attribute(place, cudaDevAttrL2CacheSize)) * 3 / 2;
      flush_.emplace(place, flush_bytes_);
    }
    // Loads the kernels of the instruments: a first launch may wait for the device, which must not
    // happen behind a held stream.
    stream const first{place};
    latch_.hold(first);
    latch_.open();
    sm_clock_.begin(first);
    sm_clock_.end(first);
    enqueue_nothing(first);
    first.synchronize();
    held_ = primary != clock::wall;
  }

  on::device place() const noexcept { return place_; }
  clock primary() const noexcept { return primary_; }
  bool held() const noexcept { return held_; }
  bool cold_cache() const noexcept { return flush_.has_value(); }
  /// From now on no stream is held, since a launch of that variant blocked.
  void release_streams(std::string const& blocking) {
    held_ = false;
    blocking_ = blocking;
  }
  /// The variant that blocked first; empty if none did.
  std::string const& blocking() const noexcept { return blocking_; }
  /// True if some work changes its input, so that each launch is timed by itself.
  bool restores() const noexcept { return restores_; }
  void restore_inputs() noexcept { restores_ = true; }
  /// True if another thread of this process was seen at work on the device, or another rank may be.
  bool shared() const noexcept { return shared_; }
  void share() noexcept { shared_ = true; }

  /// The stream of an epoch, which all its subjects launch on. Streams of one device differ in
  /// speed: by 1 % for launches of 2.5 us, measured on an H100. No variant owns that difference.
  std::shared_ptr<stream const> stream_of(int epoch) {
    if (stream_ == nullptr || epoch != epoch_) {
      stream_.reset(new stream{place_});
      epoch_ = epoch;
    }
    return stream_;
  }

  /// Enqueues the barrier of all ranks, where there is one.
  void align(::cuda::stream_ref on) const {
    if (barrier_.enqueue) { barrier_.enqueue(on.get()); }
  }
  /// Waits for the stream for at most `patience`, and for the limit of the barrier.
  void wait_for(stream const& on, std::chrono::duration<double> patience) {
    auto state = cudaErrorNotReady;
    auto const drained = [&] {
      state = cudaStreamQuery(on.get());
      return state != cudaErrorNotReady;
    };
    if (barrier_.synchronize) {
      try {
        return barrier_.synchronize(on.get(), patience);
      } catch (...) {  // what the barrier has not ended may wait for ever
        stuck_ = stuck_ || !poll_until(drained, std::chrono::seconds{1});
        throw;
      }
    }
    if (std::isinf(patience.count())) { return on.synchronize(); }
    if (stuck_ || !poll_until(drained, patience)) { fail_late("its stream", patience); }
    check(state);
  }
  /// Waits for the stream, and where the wait has a limit for all work on the device. False if they
  /// have not drained within it: calls that free memory may never return then. A failure that a
  /// wait tells is no news here.
  bool drained(stream const& on, std::chrono::duration<double> patience) noexcept {
    try {
      wait_for(on, patience);
    } catch (...) {}
    try {
      device_guard const guard{place_};
      if (!std::isinf(patience.count())) { drain_device(patience); }
    } catch (...) {}
    return !stuck_;
  }

  /// See `gpu_uuid`.
  std::string const& gpu() {
    if (gpu_.empty()) { gpu_ = gpu_uuid(place_); }
    return gpu_;
  }

  /// Waits until the device is idle: true if that took long and a second wait did not.
  bool drain_is_long(std::chrono::duration<double> patience) {
    using steady_clock = std::chrono::steady_clock;
    auto const begin = steady_clock::now();
    drain_device(patience);
    auto const drained = steady_clock::now();
    drain_device(patience);
    auto const idle = steady_clock::now() - drained;
    return drained - begin > std::chrono::microseconds{100} + 10 * idle;
  }

  machine::stream_latch<>& latch() noexcept { return latch_; }
  machine::sm_clock_probe& sm_clock() noexcept { return sm_clock_; }
  /// Launches a kernel without work.
  static void enqueue_nothing(::cuda::stream_ref on) {
    kernel::launch(do_nothing<int>, 1, 32, 0, on, 0);
  }
  /// Enqueues a write of one and a half times the L2 cache, which replaces all contents of it.
  void flush_cache(::cuda::stream_ref on) const {
    check(cudaMemsetAsync(flush_->get(), 0x5a, flush_bytes_, on.get()));
  }

  /// True if lines of the L2 cache may persist: no write of other memory replaces them then.
  bool lines_persist() const {
    std::size_t carve_out = 0;
    check(cudaDeviceGetLimit(&carve_out, cudaLimitPersistingL2CacheSize));
    return carve_out > 0;
  }
  /// Makes all lines of the L2 cache replaceable, so that no work meets those of another.
  void drop_persisting_lines() const {
    if (lines_persist()) { check(cudaCtxResetPersistingL2Cache()); }
  }

  /// The longest time that a stream is held, in seconds; 200 launches take about 1 ms to enqueue.
  static constexpr double held_at_most = 0.05;

 private:
  /// Waits for all work on the device for at most `patience`. With a limit, an event behind all
  /// work of the context is asked: `cudaDeviceSynchronize` has none.
  void drain_device(std::chrono::duration<double> patience) {
    if (std::isinf(patience.count())) { return check(cudaDeviceSynchronize()); }
    CUcontext context = nullptr;
    check(driver_call<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000)(&context));
    check(driver_call<PFN_cuCtxRecordEvent_v12050>("cuCtxRecordEvent", 12050)(context,
                                                                              drained_.get()));
    auto state = cudaErrorNotReady;
    auto const drained = [&] {
      state = cudaEventQuery(drained_.get());
      return state != cudaErrorNotReady;
    };
    if (stuck_ || !poll_until(drained, patience)) {
      fail_late("work that it enqueued on other streams", patience);
    }
    check(state);
  }

  [[noreturn]] void fail_late(char const* what, std::chrono::duration<double> patience) {
    stuck_ = true;
    throw std::runtime_error(
        concat({what, " has not drained within ", stats::number_text(patience.count()),
                " s: a launch may wait for a rank that failed"}));
  }

  on::device place_;
  clock primary_;
  device_barrier barrier_;
  bool held_ = true, restores_ = false, shared_ = false, stuck_ = false;
  std::string gpu_;
  std::shared_ptr<stream const> stream_;
  int epoch_ = -1;  ///< of `stream_`
  std::string blocking_;
  machine::stream_latch<> latch_;
  machine::sm_clock_probe sm_clock_;
  event drained_;                      ///< behind all work of the device
  std::optional<device_block> flush_;  ///< with a cold cache
  std::size_t flush_bytes_ = 0;
};

}  // namespace assay::measure
