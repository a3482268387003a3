// SPDX-License-Identifier: Apache-2.0
/// @file
/// `stream_latch`: holds streams until everything that is to be timed is in them.
#pragma once

#include <assay/core/owned_memory.hpp>
#include <assay/core/ptx.cuh>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>

#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>

namespace assay::machine {

/// The pinned memory that the host and the held streams share.
struct latch_words {
  std::uint32_t opened = 0;   ///< the number of calls of `open`
  std::uint32_t expired = 0;  ///< not 0 once a stream went on without an `open`
};

/// Waits until the latch has been opened `turn` times, or a stream would hang for ever.
template <class Words>
__global__ void hold_stream(Words* shared, std::uint32_t turn, std::uint64_t most_nanoseconds) {
  auto const begin = ::cuda::ptx::get_sreg_globaltimer();
  auto const* const opened = static_cast<std::uint32_t const volatile*>(&shared->opened);
  while (static_cast<std::int32_t>(*opened - turn) < 0) {
    if (::cuda::ptx::get_sreg_globaltimer() - begin > most_nanoseconds) {
      *static_cast<std::uint32_t volatile*>(&shared->expired) = 1;
      return;
    }
  }
}

/// Holds streams, of any devices, until it is opened: what was enqueued meanwhile then runs without
/// waiting for the host. One block of one thread waits in each.
///
/// A stream takes about 1000 launches before a further launch blocks, behind a closed latch for
/// ever. The first launch of a kernel may wait for the device to load the kernel. So the latch
/// gives way after `most_seconds`, which `check_held` tells.
template <class Words = latch_words>
class stream_latch {
 public:
  explicit stream_latch(double most_seconds = 5)
      : most_nanoseconds_(static_cast<std::uint64_t>(most_seconds * 1e9)) {}

  /// Enqueues the waiting for the next `open`; the stream's device must be current.
  void hold(::cuda::stream_ref on) {
    kernel::launch(hold_stream<Words>, 1, 1, 0, on, shared_, turn_ + 1, most_nanoseconds_);
  }

  /// Lets all held streams go.
  void open() noexcept {
    ++turn_;
    std::atomic_ref<std::uint32_t>{shared_->opened}.store(turn_, std::memory_order_release);
  }

  /// True if a stream passed without waiting for `open`, since the last call.
  bool gave_way() noexcept {
    return std::atomic_ref<std::uint32_t>{shared_->expired}.exchange(0) != 0;
  }

  /// Throws `std::runtime_error` if a stream that has passed did not wait for `open`: what was
  /// timed behind it is no measurement.
  void check_held() {
    if (!gave_way()) { return; }
    throw std::runtime_error(
        "a stream was held for too long before all work was enqueued: enqueue less at once, and "
        "launch each kernel once before, as its first launch may wait for the device");
  }

 private:
  std::uint64_t most_nanoseconds_;
  std::uint32_t turn_ = 0;
  page_locked_block block_{sizeof(Words)};
  Words* shared_ = new (block_.get()) Words{};
};

}  // namespace assay::machine
