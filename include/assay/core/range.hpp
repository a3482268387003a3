// SPDX-License-Identifier: Apache-2.0
/// @file
/// `range`: a named span of host time that NVTX tools and recordings show.
#pragma once

#include <assay/core/platform.hpp>
#include <assay/core/range_log.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace assay {

/// What a range stands for; the tools show one colour for each.
enum class category : std::uint32_t { cpu = 1, gpu, transfer, measurement, allocation };

namespace detail {
inline constexpr std::uint32_t argb_of[] = {0xFF4477AA, 0xFF228833, 0xFFCCBB44, 0xFFEE6677,
                                            0xFF66CCEE};
}

/// ARGB colour of a category: blue, green, yellow, red, cyan.
constexpr std::uint32_t colour(category kind) noexcept {
  return detail::argb_of[static_cast<std::uint32_t>(kind) - 1];
}

/// A range in the NVTX domain `assay`, open from construction to destruction on one thread; also
/// noted in `range_log` while a recording is on.
///
/// `name` must outlive the constructor call only. `payload` is free to use: bytes or items. Ranges
/// nest, so a range must end on the thread that began it, in reverse order. Without a tool and a
/// recording each end is one load and a branch.
class range {
 public:
  explicit range(char const* name, category kind = category::cpu,
                 std::uint64_t payload = 0) noexcept {
    auto const watchers = detail::range_watchers.load(std::memory_order_relaxed);
    if (watchers != 0) [[unlikely]] { open(watchers, name, kind, payload); }
  }
  range(range const&) = delete;
  range& operator=(range const&) = delete;
  ~range() {
    if ((told_ | detail::range_watchers.load(std::memory_order_relaxed)) != 0) [[unlikely]] {
      close();
    }
  }

 private:
  static constexpr std::uint32_t not_noted = 8;  // beside the bits of detail::range_watcher

  // The name's length is taken where it is a constant, at the caller's; it ends in a 0 there.
  [[gnu::noinline]] void open(std::uint32_t watchers, std::string_view name, category kind,
                              std::uint64_t payload) noexcept {
    if ((watchers & detail::nvtx_unasked) != 0) { watchers = ask_nvtx(); }
    if ((watchers & detail::nvtx_tool) != 0) {
      config::nvtx_push(name.data(), colour(kind), static_cast<std::uint32_t>(kind), payload);
      told_ |= detail::nvtx_tool;
    }
    if ((watchers & detail::range_recorder) != 0) {
      bool const noted = range_log::begin({.domain = range_log::own_domain,
                                           .category = static_cast<std::uint32_t>(kind),
                                           .argb = colour(kind),
                                           .payload = payload,
                                           .name = name});
      told_ |= noted ? detail::range_recorder : not_noted;
    }
  }

  [[gnu::noinline]] void close() noexcept {
    if ((told_ & detail::range_recorder) != 0) {
      range_log::pop(range_log::own_domain);
    } else if ((told_ & not_noted) == 0 && range_log::on()) {
      range_log::count_began_before();
    }
    if ((told_ & detail::nvtx_tool) != 0) { config::nvtx_pop(); }
  }

  // Our own listener (trace/nvtx_hook.hpp) wants no ranges that the log has: it gives no domain.
  [[gnu::cold]] static std::uint32_t ask_nvtx() noexcept {
    if (config::nvtx_listens()) { detail::range_watchers.fetch_or(detail::nvtx_tool); }
    return detail::range_watchers.fetch_and(~std::uint32_t{detail::nvtx_unasked}) &
           ~std::uint32_t{detail::nvtx_unasked};
  }

  std::uint32_t told_ = 0;
};

}  // namespace assay
