// SPDX-License-Identifier: Apache-2.0
/// @file
/// `host_kind`: how the memory of a pointer is held.
#pragma once

namespace assay {

/// How memory is held, as far as copies care: `page_locked` is pinned or registered host memory,
/// `device` is none that the host can read.
enum class host_kind { pageable, page_locked, managed, device };

/// The kind in words, for messages.
constexpr char const* in_words(host_kind kind) noexcept {
  constexpr char const* words[] = {"pageable", "page-locked", "managed", "device"};
  return words[static_cast<int>(kind)];
}

}  // namespace assay
