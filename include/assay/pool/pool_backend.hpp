// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a backend is to `mr::pool`.
#pragma once

#include <assay/pool/stream_cache.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace assay::mr {

/// CUDA, as the pool's logic needs it. `key` makes no call of the driver; the handles of one
/// stream have one key. `identify` gives the number of a stream that is not captured; no other
/// stream of the process ever has it. `require_own` throws for a stream of another device.
/// `allocate` returns 0 when upstream has no room, and throws for other failures; where chunks are
/// `contiguous`, ranges may span neighbours. A chunk is made of pieces of
/// `piece_bytes(bytes)` and a last one of the rest; `deallocate` takes pieces that lie side by
/// side. `allocate` puts memory at the address that it is given, where that is not 0 and its room
/// not taken. `synchronize` waits for all work of the device. No call may
/// disturb a capture. One thread at a time calls `allocate` and `deallocate`. `thread_token` is the
/// number of this thread, never 0. `synchronize` also waits for each device whose stream
/// `require_own` has refused.
template <class B>
concept pool_backend =
    requires(B& backend, typename B::stream_type stream, typename B::event_type event,
             std::size_t bytes, std::uintptr_t address) {
      { backend.key(stream) } noexcept -> std::same_as<stream_key>;
      { backend.thread_token() } noexcept -> std::same_as<std::uint64_t>;
      { backend.identify(stream) } -> std::same_as<std::uint64_t>;
      backend.require_own(stream);
      { backend.make_event() } -> std::same_as<typename B::event_type>;
      { backend.destroy_event(event) } noexcept;
      backend.record(event, stream);
      backend.wait(stream, event);
      { backend.query(event) } -> std::same_as<bool>;
      { backend.capturing(stream) } -> std::same_as<capture_state>;
      { backend.contiguous() } noexcept -> std::same_as<bool>;
      { backend.piece_bytes(bytes) } noexcept -> std::same_as<std::size_t>;
      { backend.allocate(bytes, address) } -> std::same_as<std::uintptr_t>;
      { backend.deallocate(address, bytes) } noexcept;
      backend.synchronize();
    };

}  // namespace assay::mr
