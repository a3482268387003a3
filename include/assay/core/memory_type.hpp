// SPDX-License-Identifier: Apache-2.0
/// @file
/// `memory_type`: pageable, page-locked, managed or device memory.
#pragma once

#include <assay/core/requirements.hpp>

namespace assay {

/// The types of memory that a copy tells apart. `page_locked` is pinned or registered host memory.
/// The host cannot read `device` memory.
enum class memory_type { pageable, page_locked, managed, device };

/// The name of the type, for messages.
constexpr char const* in_words(memory_type kind) noexcept {
  constexpr char const* words[] = {"pageable", "page-locked", "managed", "device"};
  return words[static_cast<int>(kind)];
}

/// The type of memory at an address, and the device that it is of.
struct memory_place {
  memory_type type = memory_type::pageable;
  int device = -1;  ///< -1: none
};

}  // namespace assay
