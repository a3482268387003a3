// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nvtx_range`: a named span of host time that NVTX tools and recordings show.
#pragma once

#include <assay/core/platform.hpp>
#include <assay/core/recorded_range.hpp>

#include <atomic>
#include <cstdint>

namespace assay {

/// The kind of work in a range. Tools show one colour for each category.
enum class category : std::uint32_t { cpu = 1, gpu, transfer, measurement, allocation };

namespace detail {
inline constexpr std::uint32_t argb_of[] = {0xFF4477AA, 0xFF228833, 0xFFCCBB44, 0xFFEE6677,
                                            0xFF66CCEE};
}

/// ARGB colour of a category: blue, green, yellow, red, cyan.
constexpr std::uint32_t colour(category kind) noexcept {
  return detail::argb_of[static_cast<std::uint32_t>(kind) - 1];
}

/// A range in the NVTX domain `assay`, open from construction to destruction on one thread. A
/// recording by `range_log` contains the range too.
///
/// `name` must outlive the constructor call only. `payload` is free to use: bytes or items. Ranges
/// nest: a range must end on the thread that began it, in reverse order. Without a tool and a
/// recording, each end costs one load and one branch.
class nvtx_range {
 public:
  explicit nvtx_range(char const* name, category kind = category::cpu,
                      std::uint64_t payload = 0) noexcept {
    auto const watchers = detail::range_watchers.load(std::memory_order_relaxed);
    if (watchers != 0) [[unlikely]] { open(name, kind, payload); }
  }
  nvtx_range(nvtx_range const&) = delete;
  nvtx_range& operator=(nvtx_range const&) = delete;
  ~nvtx_range() {
    auto const watchers = detail::range_watchers.load(std::memory_order_relaxed);
    if (watchers != 0) [[unlikely]] { close(); }
  }

 private:
  // An acquire load that finds the bit of a recording also makes the pointer to its log visible.
  [[gnu::noinline]] void open(char const* name, category kind, std::uint64_t payload) noexcept {
    auto watchers = detail::range_watchers.load(std::memory_order_acquire);
    if ((watchers & detail::nvtx_unasked) != 0) { watchers = ask_nvtx(); }
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

  [[gnu::noinline]] void close() noexcept {
    auto const watchers = detail::range_watchers.load(std::memory_order_acquire);
    // The log pairs ends with beginnings. It counts an end without a begin.
    if ((watchers & detail::range_recorder) != 0) {
      detail::range_log_in_use.load(std::memory_order_acquire)->pop(detail::own_range_domain);
    }
    if (pushed_) { config::nvtx_pop(); }
  }

  // The library's own listener (cupti/nvtx_hook.hpp) gives no domain, since the log has these
  // ranges already.
  [[gnu::cold]] static std::uint32_t ask_nvtx() noexcept {
    if (config::nvtx_listens()) { detail::range_watchers.fetch_or(detail::nvtx_tool); }
    return detail::range_watchers.fetch_and(~std::uint32_t{detail::nvtx_unasked}) &
           ~std::uint32_t{detail::nvtx_unasked};
  }

  bool pushed_ = false;
};

}  // namespace assay
