// SPDX-License-Identifier: Apache-2.0
/// @file
/// `range`: a named span of host time that NVTX tools draw.
#pragma once

#include <assay/core/config.hpp>

#include <cstdint>

namespace assay {

/// What a range stands for; the tools show one colour for each.
enum class category : std::uint32_t { cpu = 1, gpu, transfer, measurement, allocation };

/// ARGB colour of a category: blue, green, yellow, red, cyan.
constexpr std::uint32_t colour(category kind) noexcept {
  constexpr std::uint32_t argb[] = {0xFF4477AA, 0xFF228833, 0xFFCCBB44, 0xFFEE6677, 0xFF66CCEE};
  return argb[static_cast<std::uint32_t>(kind) - 1];
}

/// A range in the NVTX domain `assay`, open from construction to destruction on one thread.
///
/// `name` must outlive the constructor call only. `payload` is free to use: bytes or items. Ranges
/// nest, so a range must end on the thread that began it, in reverse order. Without a tool both
/// ends are a null check.
class range {
 public:
  explicit range(char const* name, category kind = category::cpu,
                 std::uint64_t payload = 0) noexcept {
    config::nvtx_push(name, colour(kind), static_cast<std::uint32_t>(kind), payload);
  }
  range(range const&) = delete;
  range& operator=(range const&) = delete;
  ~range() { config::nvtx_pop(); }
};

}  // namespace assay
