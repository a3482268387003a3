// SPDX-License-Identifier: Apache-2.0
/// @file
/// `range_event`: what is noted of a range; `range_recording`: all that was.
#pragma once

#include <assay/core/tick_clock.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// What was noted: `pop` ends the last open `push` of its thread and domain, `end` the `start` with
/// its `id`, on any thread.
struct range_event {
  enum class kind : std::uint8_t { push, pop, mark, start, end };

  kind what = kind::push;
  std::int64_t at = 0;  ///< `realtime_ns`
  std::uint32_t domain = 0;
  std::uint32_t category = 0;
  std::uint32_t argb = 0;
  std::uint64_t payload = 0;
  std::uint64_t id = 0;
  std::string_view name;
};

namespace detail {

/// Beside the kinds of `range_event`: the moment of a `tick_anchor`, its time behind the head.
inline constexpr auto anchor_event = static_cast<range_event::kind>(255);

struct event_head {
  std::int64_t at;  // ticks, or nanoseconds where there is no rate of ticks
  std::uint32_t domain;
  std::uint16_t name_bytes;
  range_event::kind what;
};
struct event_body {
  std::uint64_t payload;
  std::uint64_t id;
  std::uint32_t category;
  std::uint32_t argb;
};

/// Names of common lengths in two pieces that overlap, without a call.
inline void copy_name(std::byte* to, char const* from, std::size_t bytes) noexcept {
  auto const in_two = [=](auto piece) {
    constexpr auto size = sizeof piece;
    auto last = piece;
    std::memcpy(&piece, from, size);
    std::memcpy(&last, from + bytes - size, size);
    std::memcpy(to, &piece, size);
    std::memcpy(to + bytes - size, &last, size);
  };
  if (bytes >= 16 && bytes <= 32) {
    in_two(std::array<std::uint64_t, 2>{});
  } else if (bytes >= 8 && bytes < 16) {
    in_two(std::uint64_t{});
  } else if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
}

/// Word by word: put together on the stack and copied from there in wider words, it would wait for
/// every store before it, those into the log too, to reach the cache.
inline void write_body(std::byte* place, range_event const& event) noexcept {
  auto const put = [place](std::size_t at, auto value) {
    std::memcpy(place + at, &value, sizeof value);
  };
  put(offsetof(detail::event_body, payload), event.payload);
  put(offsetof(detail::event_body, id), event.id);
  put(offsetof(detail::event_body, category), event.category);
  put(offsetof(detail::event_body, argb), event.argb);
}

/// Events of one thread, one behind the other. Its thread writes behind `published`, others read
/// before it.
struct range_chunk {
  static constexpr std::size_t capacity = 64 * 1024 - 64;  // a few pages; some 900 ranges
  std::atomic<std::size_t> published{0};
  alignas(8) std::array<std::byte, capacity> bytes;
};

}  // namespace detail

/// What `range_log::stop` hands over.
struct range_recording {
  /// The events of one thread in the order in which it noted them.
  struct thread_events {
    std::uint32_t thread = 0;
    std::vector<std::pair<std::shared_ptr<detail::range_chunk const>, std::size_t>> chunks;

    double ns_per_tick = 0;  ///< 0: the events are stamped in nanoseconds

    /// Calls `f(range_event const&)` for each; names are valid while this object lives.
    template <class F>
    void each(F&& f) const {
      std::vector<tick_anchor> anchors;
      if (ns_per_tick != 0) {
        each_stored([&](range_event const& event) {
          if (event.what == detail::anchor_event) {
            anchors.push_back({event.at, static_cast<std::int64_t>(event.id)});
          }
        });
      }
      bool const in_ticks = !anchors.empty();
      std::int64_t last = 0;
      tick_times time{std::move(anchors), ns_per_tick};
      each_stored([&](range_event event) {
        if (event.what == detail::anchor_event) { return; }
        if (in_ticks) {
          // The processor may read its counter for a beginning before it does for the end in front.
          constexpr std::int64_t reordered_ns = 1000;
          event.at = time(event.at);
          if (event.at < last && last - event.at < reordered_ns) { event.at = last; }
          last = event.at;
        }
        f(std::as_const(event));
      });
    }

   private:
    template <class F>
    void each_stored(F&& f) const;
  };
  std::vector<thread_events> threads;
  std::vector<std::string> domains;  ///< by number
  std::vector<std::pair<std::uint32_t, std::string>> thread_names;
  std::uint64_t dropped = 0;       ///< ranges for which there was no room
  std::uint64_t began_before = 0;  ///< ranges that were open at the start, as far as noticed
};

template <class F>
void range_recording::thread_events::each_stored(F&& f) const {
  for (auto const& [chunk, published] : chunks) {
    for (std::size_t at = 0; at < published;) {
      auto const* place = chunk->bytes.data() + at;
      detail::event_head head{};
      std::memcpy(&head, place, sizeof head);
      range_event event{.what = head.what, .at = head.at, .domain = head.domain, .name = {}};
      std::size_t bytes = sizeof head;
      if (head.what == range_event::kind::end || head.what == detail::anchor_event) {
        std::memcpy(&event.id, place + bytes, sizeof event.id);
        bytes += sizeof event.id;
      } else if (head.what != range_event::kind::pop) {
        detail::event_body body{};
        std::memcpy(&body, place + bytes, sizeof body);
        bytes += sizeof body + head.name_bytes;
        event.payload = body.payload;
        event.id = body.id;
        event.category = body.category;
        event.argb = body.argb;
        event.name = {reinterpret_cast<char const*>(place + bytes - head.name_bytes),
                      head.name_bytes};
      }
      f(event);
      at += (bytes + 7) & ~std::size_t{7};
    }
  }
}

}  // namespace assay
