// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nvtx_range`: a named span of host time that NVTX tools and recordings show; `recorded_range`: a
/// range in the log.
#pragma once

#include <assay/core/requirements.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace assay {

/// A range in the log of one thread.
struct recorded_range {
  /// A `push_pop` nests on its thread. A `start_end` may end on another thread. A `mark` has no
  /// length.
  enum class kind : std::uint8_t { push_pop, start_end, mark };

  kind what = kind::push_pop;
  std::uint32_t domain = 0;
  std::uint32_t category = 0;
  std::uint32_t argb = 0;
  std::int64_t begin = 0;  ///< by `system_clock_ns`
  std::int64_t end = 0;    ///< 0 while the range is open, and for each `start_end`
  std::uint64_t payload = 0;
  std::uint64_t id = 0;  ///< of a `start_end`
  std::string_view name;

  constexpr bool ended() const noexcept { return end != 0; }
};

namespace detail {

/// The domain of the library's own ranges, `assay`.
inline constexpr std::uint32_t own_range_domain = 1;

/// The listeners of ranges. A range does nothing while `range_watchers` is 0.
enum range_watcher : std::uint32_t { nvtx_unasked = 1, nvtx_tool = 2, range_recorder = 4 };
inline constinit std::atomic<std::uint32_t> range_watchers{nvtx_unasked};

/// The functions of `range_log` that a range calls. The first recording sets the pointer, so that
/// a program without recordings does not compile the log.
struct range_log_calls {
  bool (*begin)(recorded_range) noexcept;
  void (*pop)(std::uint32_t domain) noexcept;
};
inline constinit std::atomic<range_log_calls const*> range_log_in_use{nullptr};

inline constexpr std::uint32_t argb_of[] = {0xFF4477AA, 0xFF228833, 0xFFCCBB44, 0xFFEE6677,
                                            0xFF66CCEE};

}  // namespace detail

/// The kind of work in a range. Tools show one colour for each category.
enum class category : std::uint32_t { cpu = 1, gpu, transfer, measurement, allocation };

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
  void open(char const* name, category kind, std::uint64_t payload) noexcept;
  void close() noexcept;

  bool pushed_ = false;
};

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/core/nvtx_range_definitions.hpp>
#endif
