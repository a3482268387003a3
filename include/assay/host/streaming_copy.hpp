// SPDX-License-Identifier: Apache-2.0
/// @file
/// A copy whose target somebody else reads: another core, or a device.
#pragma once

#include <assay/core/platform.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace assay::host {

/// Copies `bytes` bytes between arrays that do not overlap, at any alignment, by stores that bypass
/// the caches where the processor has them: a plain store first reads the line that it overwrites,
/// which is a third of a copy's traffic. All of it is visible to other cores and devices on return.
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
  // Whole lines only: a line that is written in part has to be read after all.
  auto const head = (line - reinterpret_cast<std::uintptr_t>(target) % line) % line;
  auto const body = (bytes - head) / line * line;
  std::memcpy(target, source, head);
  config::streaming_copy_lines(target + head, source + head, body);
  std::memcpy(target + head + body, source + head + body, bytes - head - body);
  config::streaming_fence();
}

}  // namespace assay::host
