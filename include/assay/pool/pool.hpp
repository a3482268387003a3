// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::pool`: a stream-ordered pool. A stream reuses its own memory without an allocation by the
/// driver.
#pragma once

#include <assay/memory/cuda_malloc.hpp>
#include <assay/pool/pool_options.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

namespace assay::mr {

/// A handle to a pool on one device. Copies share the pool. The last copy waits for the device and
/// gives the memory back.
///
/// Streams may be destroyed at any time, with work pending, and their handles may come back. So
/// every call asks the driver for the stream's capture status. `allocate` also asks for the
/// stream's number, which no other stream ever has. The three questions of a pair take 0.05 us
/// together (H200). `release(stream)` before a stream ends is optional: other streams
/// can then use its blocks at once. With `pool::trust_handles` the program promises that call for
/// each stream, and `capture` before each capture. The pool then asks the driver nothing while a
/// stream reuses its own memory.
///
/// Per-thread default streams are kept apart by thread. The pool reclaims the memory of a
/// thread that has ended. A stream of another device is refused with `std::invalid_argument`. With
/// a handle that names a default stream (0, legacy, per-thread) the pool's device must be current.
template <class Backend>
class basic_pool_resource : public device_calls<basic_pool_resource<Backend>> {
  struct state;

 public:
  // Nothing here may need a complete backend. CUDA's, which says nothing of this, may be declared
  // only.
  static constexpr bool host_accessible = is_host_accessible<Backend>;

  /// Keeps the blocks that a captured graph uses. When the hold is destroyed, the blocks become
  /// free. The pool waits for the device before it uses one of them again.
  class capture_hold {
   public:
    capture_hold(capture_hold&&) noexcept = default;
    capture_hold& operator=(capture_hold&&) noexcept = default;
    /// The capture has ended: the stream is served as before.
    void end() noexcept;

   private:
    friend basic_pool_resource;
    struct graph;
    explicit capture_hold(std::shared_ptr<graph> of) noexcept : of_(std::move(of)) {}

    std::shared_ptr<graph> of_;
  };

  /// A pool with the usual options; `pool{initial_bytes}.open(place)` is the same.
  explicit basic_pool_resource(on::device place, std::size_t initial_bytes = 0)
  requires std::same_as<Backend, cuda_pool_backend>;

  basic_pool_resource(Backend backend, pool const& options);

  /// Throws `mr::out_of_memory` with the pool's state, and `std::logic_error` in a child of a fork.
  void* allocate(::cuda::stream_ref stream, std::size_t bytes,
                 std::size_t alignment = default_alignment);
  /// A block that comes back on a stream of another device is free after a wait for both devices.
  void deallocate(::cuda::stream_ref stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;

  /// Gives the cache of a stream up, before the stream is destroyed. Does not synchronise. No
  /// other thread may use the stream with this pool meanwhile. Throws `std::logic_error` on a
  /// captured stream.
  void release(::cuda::stream_ref stream);

  /// Gives free memory beyond the initial bytes back to the driver, and returns its bytes. Whole
  /// chunks go, and pieces of mapped chunks. Waits for the device.
  std::size_t trim();

  /// Call it for each stream of a capture before the capture begins: `allocate` on a captured
  /// stream throws `std::logic_error` without it. A block that is given back on the stream until
  /// `end()` is the graph's until the hold goes. So is a block that was allocated on it and is
  /// given back later. A block that several graphs use stays until the last of their holds goes.
  /// Throws `std::logic_error` on a stream that is captured already.
  capture_hold capture(::cuda::stream_ref stream);

  /// Counts blocks, which are up to 1/8 larger than requests. `peak_bytes` includes the caches of
  /// streams.
  statistics stats() const;

  bool operator==(basic_pool_resource const&) const = default;

 private:
  std::shared_ptr<state> state_;
};

/// The pool of a device's memory.
using pool_resource = basic_pool_resource<cuda_pool_backend>;

static_assert(capturable_memory<pool_resource, ::cuda::stream_ref>);
static_assert(memory_policy<pool, on::device>);

}  // namespace assay::mr

#ifndef ASSAY_COMPILED
#include <assay/pool/pool_definitions.hpp>
#endif
