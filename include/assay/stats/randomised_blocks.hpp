// SPDX-License-Identifier: Apache-2.0
/// @file
/// Randomised blocks: the order in which cells are run, and the buffer set of each.
#pragma once

#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::stats {

/// The variant and the buffer set of one cell.
struct slot {
  int variant = 0;
  int buffer_set = 0;
  bool operator==(slot const&) const = default;
};

/// Two halves of 2 K cells for K variants. A half runs its variants in a random permutation and
/// then in its reverse (ABBA or BAAB for two). The second half draws a new permutation and swaps
/// every variant's buffer set.
///
/// All variants have the same mean position, and as many cells in one buffer set as in the other.
/// So linear drift and the effect of a buffer set cancel from contrasts of mean log times.
/// Relabelled variants give an order just as probable, so contrasts of equal variants have
/// symmetric laws under any drift or noise.
struct block {
  std::vector<slot> slots;

  std::size_t variants() const noexcept { return slots.size() / 4; }
  /// The middle of half 0 or 1: this cell and the next one are of the same variant.
  std::size_t repeat_pair(std::size_t half) const noexcept {
    return (2 * half + 1) * variants() - 1;
  }
};

namespace detail {

/// The variant in the middle of each of `halves` halves, in random order. The counts of the
/// variants differ by at most one, so that each shows its carry-over.
///
/// Relabelled variants give a sequence just as probable.
inline std::vector<int> draw_repeats(int variants, std::size_t halves, random_source& from) {
  std::vector<int> repeats;
  while (repeats.size() < halves) {
    std::vector<int> round(static_cast<std::size_t>(variants));
    std::iota(round.begin(), round.end(), 0);
    from.shuffle(round);
    for (int const each : round) {
      if (repeats.size() < halves) { repeats.push_back(each); }
    }
  }
  from.shuffle(repeats);
  return repeats;
}

/// Draws a block with the variants `first` and `second` in the middle of its halves. In its first
/// half, as many variants use one buffer set as the other; a random bit decides for the odd one.
inline block draw_block(int variants, int first, int second, random_source& from) {
  auto const count = static_cast<std::size_t>(variants);
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> set_of(count);
  int const coin = from.flip() ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) { set_of[i] = (static_cast<int>(i % 2) + coin) % 2; }
  from.shuffle(set_of);

  block drawn;
  drawn.slots.reserve(4 * count);
  for (int half = 0; half < 2; ++half) {
    from.shuffle(order);
    std::iter_swap(std::find(order.begin(), order.end(), half == 0 ? first : second),
                   order.end() - 1);
    for (std::size_t i = 0; i < 2 * count; ++i) {
      int const variant = order[i < count ? i : 2 * count - 1 - i];
      int const set = set_of[static_cast<std::size_t>(variant)];
      drawn.slots.push_back({variant, half == 0 ? set : 1 - set});
    }
  }
  return drawn;
}

}  // namespace detail

/// Draws the `blocks` blocks of one epoch over the variants 0 ... variants-1.
inline std::vector<block> draw_epoch(int variants, int blocks, random_source& from) {
  if (variants < 2) {
    throw std::invalid_argument("a block needs 2 variants or more, not " +
                                std::to_string(variants));
  }
  std::vector<block> drawn;
  auto const repeats = detail::draw_repeats(variants, 2 * static_cast<std::size_t>(blocks), from);
  for (std::size_t i = 0; i < repeats.size(); i += 2) {
    drawn.push_back(detail::draw_block(variants, repeats[i], repeats[i + 1], from));
  }
  return drawn;
}

/// The numbers 0 ... count-1 in a random order.
inline std::vector<std::size_t> draw_order(std::size_t count, random_source& from) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  from.shuffle(order);
  return order;
}

}  // namespace assay::stats
