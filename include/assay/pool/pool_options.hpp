// SPDX-License-Identifier: Apache-2.0
/// @file
/// What can be chosen about a pool, and what a backend is to it.
#pragma once

#include <assay/core/units.hpp>
#include <assay/pool/stream_registry.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace assay::mr {

/// The options of a pool. Bytes are whole bytes.
///
/// Beside live blocks a pool keeps four kinds of memory: the rounding up to size classes, the
/// caches of streams, slabs of up to 8 MiB for blocks up to 256 KiB, and free pieces between
/// blocks.
///
/// The pool reserves more while it then holds at most a sixth, or one step of growth, above the
/// most that was ever in use. Beyond that it first takes memory that its stream must wait for, and
/// collects the free memory of slabs and of the caches of streams; then it reserves a quarter of a
/// step. A step of growth is an eighth of what is reserved where that is more than `growth_bytes`.
struct pool_options {
  std::size_t initial_bytes = 0;  ///< reserved at opening; 0 reserves nothing
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();  ///< never reserve more
  std::size_t growth_bytes = std::size_t{64} << 20U;                ///< a step of growth
  /// What one stream may keep free for itself. Beyond it the stream's oldest blocks go to the
  /// central heap. Blocks of more than an eighth of it go there at once.
  std::size_t stream_cache_bytes = std::size_t{256} << 20U;
  /// Reserve more, as far as said above, before taking blocks that another stream keeps, which
  /// makes streams wait.
  bool growth_before_steal = true;
  /// The program promises `release(stream)` before it destroys a stream that it used with the pool,
  /// and `capture(stream)` before it captures one. Calls then ask the driver nothing.
  bool trust_handles = false;
  /// Keep a ledger of live blocks: finds double frees, foreign pointers, wrong sizes and leaks.
  bool checked = false;
  bool operator==(pool_options const&) const = default;
};

/// What the pool's logic needs of CUDA. `key` makes no call of the driver; the handles of one
/// stream have one key. `identify` gives the number of a stream that is not captured; no other
/// stream of the process ever has it. `require_own` throws for a stream of another device.
/// `allocate` returns 0 when upstream has no room, and throws for other failures; where chunks are
/// `contiguous`, ranges may span those that are neighbours. A chunk is made of pieces of
/// `piece_bytes(bytes)` and a last one of the rest; `deallocate` takes pieces that lie side by
/// side. `allocate` puts memory at the address that it is given, where that is not 0 and its room
/// not taken. `synchronize` waits for all work of the device. No call may
/// disturb a capture. `capturing` says
/// whether the stream is captured. `thread_token` is the number of this thread, never 0.
template <class B>
concept pool_backend = requires(B& backend, typename B::stream_type stream,
                                typename B::event_type event, std::size_t bytes,
                                std::uintptr_t address) {
  { backend.key(stream) }
  noexcept->std::same_as<stream_key>;
  { backend.thread_token() }
  noexcept->std::same_as<std::uint64_t>;
  { backend.identify(stream) } -> std::same_as<std::uint64_t>;
  backend.require_own(stream);
  { backend.make_event() } -> std::same_as<typename B::event_type>;
  { backend.destroy_event(event) }
  noexcept;
  backend.record(event, stream);
  backend.wait(stream, event);
  { backend.query(event) } -> std::same_as<bool>;
  { backend.capturing(stream) } -> std::same_as<bool>;
  { backend.contiguous() }
  noexcept->std::same_as<bool>;
  { backend.piece_bytes(bytes) }
  noexcept->std::same_as<std::size_t>;
  { backend.allocate(bytes, address) } -> std::same_as<std::uintptr_t>;
  { backend.deallocate(address, bytes) }
  noexcept;
  backend.synchronize();
};

}  // namespace assay::mr
