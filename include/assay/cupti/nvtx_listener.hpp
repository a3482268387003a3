// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nvtx_listener`: the functions that take NVTX calls into `range_log`.
#pragma once

#include <assay/core/range_log.hpp>

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

namespace assay::trace {

/// Replacements for NVTX's functions: each notes its call in `range_log` while a recording is on.
struct nvtx_listener {
  // NVTX keeps registered strings and domains until the process ends.
  struct kept {
    std::mutex mutex;
    std::deque<std::string> strings;
    std::atomic<std::uint64_t> ids{0};
  };
  static kept& all() {
    static auto* const only = new kept;
    return *only;
  }

  static std::string text_of(char const* text) { return text == nullptr ? "" : text; }
  static std::uint32_t number(nvtxDomainHandle_t domain) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(domain));
  }

  static std::uint64_t payload(nvtxEventAttributes_t const& from) noexcept {
    switch (from.payloadType) {
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        return from.payload.ullValue;
      case NVTX_PAYLOAD_TYPE_INT64:
        return static_cast<std::uint64_t>(from.payload.llValue);
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        return from.payload.uiValue;
      case NVTX_PAYLOAD_TYPE_INT32:
        return static_cast<std::uint64_t>(std::int64_t{from.payload.iValue});
      case NVTX_PAYLOAD_TYPE_DOUBLE:
        return std::bit_cast<std::uint64_t>(from.payload.dValue);
      case NVTX_PAYLOAD_TYPE_FLOAT:
        return std::bit_cast<std::uint64_t>(static_cast<double>(from.payload.fValue));
      default:
        return 0;
    }
  }

  static bool note(recorded_range event, char const* name) noexcept {
    if (name != nullptr) { event.name = name; }
    return range_log::begin(event);
  }
  /// Programs of Linux have no use for wide characters: the range stays, its name does not.
  static bool note(recorded_range const& event, wchar_t const*) noexcept {
    return range_log::begin(event);
  }
  static bool note(recorded_range event, nvtxEventAttributes_t const* from) noexcept {
    if (from == nullptr || from->size < sizeof *from) { return range_log::begin(event); }
    event.category = from->category;
    event.argb = from->colorType == NVTX_COLOR_ARGB ? from->color : 0;
    event.payload = payload(*from);
    if (from->messageType == NVTX_MESSAGE_TYPE_ASCII) { return note(event, from->message.ascii); }
    if (from->messageType == NVTX_MESSAGE_TYPE_REGISTERED && from->message.registered != nullptr) {
      event.name = *reinterpret_cast<std::string const*>(from->message.registered);
    }
    return range_log::begin(event);
  }

  using kind = recorded_range::kind;
  static constexpr nvtxRangeId_t dropped_id = ~nvtxRangeId_t{0};

  // `What` is a name of `char` or `wchar_t`, or attributes.
  template <class What>
  static int push(What const* what) {
    return push_in(nullptr, what);
  }
  template <class What>
  static int push_in(nvtxDomainHandle_t in, What const* what) {
    if (range_log::on()) { note({.domain = number(in), .name = {}}, what); }
    return NVTX_NO_PUSH_POP_TRACKING;
  }
  // The log pairs pops with pushes, also with those that it dropped.
  static int pop_in(nvtxDomainHandle_t in) {
    if (range_log::on()) { range_log::pop(number(in)); }
    return NVTX_NO_PUSH_POP_TRACKING;
  }
  static int pop() { return pop_in(nullptr); }

  template <class What>
  static void mark(What const* what) {
    mark_in(nullptr, what);
  }
  template <class What>
  static void mark_in(nvtxDomainHandle_t in, What const* what) {
    if (range_log::on()) { note({.what = kind::mark, .domain = number(in), .name = {}}, what); }
  }

  template <class What>
  static nvtxRangeId_t start(What const* what) {
    return start_in(nullptr, what);
  }
  template <class What>
  static nvtxRangeId_t start_in(nvtxDomainHandle_t in, What const* what) {
    if (!range_log::on()) { return 0; }
    auto const id = all().ids.fetch_add(1, std::memory_order_relaxed) + 1;
    auto const noted =
        note({.what = kind::start_end, .domain = number(in), .id = id, .name = {}}, what);
    return noted ? id : dropped_id;
  }
  static void end(nvtxRangeId_t id) {
    if (range_log::on() && id != dropped_id) { range_log::end(id); }
  }
  static void end_in(nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); }

  // assay's own ranges are in the log already: without a domain they are not told twice.
  static nvtxDomainHandle_t domain(char const* name) {
    auto const text = text_of(name);
    if (text == "assay") { return nullptr; }
    return reinterpret_cast<nvtxDomainHandle_t>(std::uintptr_t{range_log::domain(text)});
  }
  static nvtxStringHandle_t string(nvtxDomainHandle_t, char const* name) {
    std::lock_guard const lock{all().mutex};
    return reinterpret_cast<nvtxStringHandle_t>(&all().strings.emplace_back(text_of(name)));
  }
  static void name_thread(std::uint32_t thread, char const* name) {
    range_log::name_thread(thread, text_of(name));
  }
};

}  // namespace assay::trace
