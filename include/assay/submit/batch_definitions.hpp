// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to batch.hpp: the definitions of its functions.
#pragma once

#include <assay/submit/batch.hpp>

#include <cstddef>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::submit {
namespace detail {

/// Throws `std::invalid_argument` that names the mode, the field and its value unless it is >= 1.
inline void require_positive(std::string_view mode, std::string_view field, int value) {
  if (value >= 1) { return; }
  throw std::invalid_argument(std::string{mode} + ": " + std::string{field} + " is " +
                              std::to_string(value) + ", but must be at least 1");
}

}  // namespace detail

ASSAY_INLINE void require_batch(std::string_view mode, int threads, int items, std::size_t lanes) {
  detail::require_positive(mode, "threads", threads);
  detail::require_positive(mode, "items", items);
  constexpr auto most = std::numeric_limits<int>::max();
  if (items > most / threads) {
    throw std::invalid_argument(std::string{mode} + ": " + std::to_string(threads) + " threads x " +
                                std::to_string(items) + " items, but a batch can have at most " +
                                std::to_string(most) + " items");
  }
  if (lanes != static_cast<std::size_t>(threads)) {
    throw std::invalid_argument(std::string{mode} + ": got " + std::to_string(lanes) +
                                " lanes for " + std::to_string(threads) +
                                " threads, but needs one for each");
  }
}

ASSAY_INLINE std::string describe_batch(std::string_view mode, int threads, int items,
                                        bool sync_per_item) {
  return std::string{mode} + "{threads=" + std::to_string(threads) +
         ", items=" + std::to_string(items) + (sync_per_item ? ", sync_per_item}" : "}");
}

ASSAY_INLINE void failure::rethrow() const {
  if (cause_ == nullptr) { return; }
  try {
    std::rethrow_exception(cause_);
  } catch (std::exception const& cause) {
    std::throw_with_nested(item_error(item_, std::string{where_} + cause.what()));
  } catch (...) {
    std::throw_with_nested(item_error(item_, std::string{where_} + "not a std::exception"));
  }
}

}  // namespace assay::submit
