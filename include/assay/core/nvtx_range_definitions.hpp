// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nvtx_range.hpp: the definitions of its functions, which know NVTX.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/platform.hpp>

#include <atomic>
#include <cstdint>

namespace assay {
namespace detail {

// The library's own listener (cupti/nvtx_hook.hpp) gives no domain, since the log has these
// ranges already.
[[gnu::cold]] inline std::uint32_t ask_nvtx() noexcept {
  if (config::nvtx_listens()) { range_watchers.fetch_or(nvtx_tool); }
  return range_watchers.fetch_and(~std::uint32_t{nvtx_unasked}) & ~std::uint32_t{nvtx_unasked};
}

}  // namespace detail

// Cold, so that calls of it stay calls. To `noinline`, GCC objects where nvcc with -rdc=true has
// declared a function inline before. An acquire load that finds the bit of a recording also makes
// the pointer to its log visible.
[[gnu::cold]] ASSAY_INLINE void nvtx_range::open(char const* name, category kind,
                                                 std::uint64_t payload) noexcept {
  auto watchers = detail::range_watchers.load(std::memory_order_acquire);
  if ((watchers & detail::nvtx_unasked) != 0) { watchers = detail::ask_nvtx(); }
  if ((watchers & detail::nvtx_tool) != 0) {
    config::nvtx_push(name, colour(kind), static_cast<std::uint32_t>(kind), payload);
    pushed_ = true;
  }
  if ((watchers & detail::range_recorder) != 0) {
    detail::range_log_in_use.load(std::memory_order_acquire)
        ->begin({.domain = detail::own_range_domain,
                 .category = static_cast<std::uint32_t>(kind),
                 .argb = colour(kind),
                 .payload = payload,
                 .name = name});
  }
}

[[gnu::cold]] ASSAY_INLINE void nvtx_range::close() noexcept {
  auto const watchers = detail::range_watchers.load(std::memory_order_acquire);
  // The log pairs ends with beginnings. It counts an end without a begin.
  if ((watchers & detail::range_recorder) != 0) {
    detail::range_log_in_use.load(std::memory_order_acquire)->pop(detail::own_range_domain);
  }
  if (pushed_) { config::nvtx_pop(); }
}

}  // namespace assay
