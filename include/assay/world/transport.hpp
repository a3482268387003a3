// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to world.hpp: how the calls of a world reach the other ranks.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A rank is missing, has ended or has failed. All ranks throw the same text.
class world_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// The calls, and the other messages between ranks.
enum class verb : std::uint32_t { gather = 1, broadcast, barrier, welcome, refused, error };

inline std::string to_string(verb which) {
  constexpr std::array<char const*, 7> names{"?",       "gather",  "broadcast", "barrier",
                                             "welcome", "refused", "error"};
  auto const index = static_cast<std::size_t>(which);
  return names[index < names.size() ? index : 0];
}

/// "rank 3", or "ranks 1, 4".
inline std::string names_of(std::vector<int> const& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == 16) { return text + " and " + std::to_string(ranks.size() - i) + " more"; }
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

/// What a world needs of the connections between its ranks.
class transport {
 public:
  virtual ~transport() = default;
  /// Rank 0 gets the bytes of all ranks, by rank. The others get nothing, and need not wait. Where
  /// a rank is missing, all ranks are told so behind `before`, if the transport itself tells it.
  virtual std::vector<std::string> gather(verb which, std::string_view bytes,
                                          std::string_view before) = 0;
  /// Each rank gets the bytes of rank 0.
  virtual std::string broadcast(verb which, std::string_view bytes) = 0;
  /// Makes this and the next calls of all ranks throw this text.
  virtual void abandon(std::string const& why) noexcept = 0;
};

}  // namespace detail
}  // namespace assay
