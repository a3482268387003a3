// SPDX-License-Identifier: Apache-2.0
/// @file
/// `streaming_copy`: a copy for another core or a device, past the caches.
#pragma once

#include <assay/core/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace assay::host {

/// Copies `bytes` bytes between arrays that do not overlap, at any alignment, by stores that bypass
/// the caches if the processor has them. A plain store reads the line that it overwrites, a third
/// of the traffic of a copy. On return, other cores and devices see all bytes.
inline void streaming_copy(void* to, void const* from, std::size_t bytes) noexcept {
  constexpr std::size_t line = 64;
  // Below a few lines the fence costs more than the reads it saves.
  constexpr std::size_t worth_it = 16 * line;
  if (!config::has_streaming_stores || bytes < worth_it) {
    if (bytes > 0) { std::memcpy(to, from, bytes); }
    return;
  }
  auto* target = static_cast<std::byte*>(to);
  auto const* source = static_cast<std::byte const*>(from);
  // Whole lines only: the processor reads a line that is written in part.
  auto const head = (line - reinterpret_cast<std::uintptr_t>(target) % line) % line;
  auto const body = (bytes - head) / line * line;
  std::memcpy(target, source, head);
  config::streaming_copy_lines(target + head, source + head, body);
  std::memcpy(target + head + body, source + head + body, bytes - head - body);
  config::streaming_fence();
}

}  // namespace assay::host
