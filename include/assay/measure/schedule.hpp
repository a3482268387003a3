// SPDX-License-Identifier: Apache-2.0
/// @file
/// In which order cells are run, and in which arena.
#pragma once

#include <assay/measure/coins.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// One cell to be run.
struct slot {
  int variant = 0;
  int arena = 0;
  bool operator==(slot const&) const = default;
};

/// Two halves of 2 K cells. A half runs its K variants in a random permutation and then in its
/// reverse (ABBA or BAAB for two); the second half draws anew and swaps every variant's arena.
///
/// So every variant has the same mean position, and as many cells in one arena as in the other:
/// linear drift and an arena's own effect cancel exactly from every contrast of mean log times.
/// And relabelling the variants, each with its arenas, gives a schedule just as probable, which is
/// why contrasts of equal variants have symmetric laws under any drift or noise.
struct super_block {
  bool control = false;  ///< variant 0 against its own second instance
  /// One untimed launch of each variant in random order, where what ran before was not a block of
  /// the same variants: else the first cell would follow variant 0 more often than another.
  std::vector<slot> lead_in;
  std::vector<slot> slots;

  std::size_t variants() const noexcept { return slots.size() / 4; }
  /// Where half 0 or 1 turns round: this cell and the next are of one variant.
  std::size_t turn(std::size_t half) const noexcept { return (2 * half + 1) * variants() - 1; }
};

/// Which variant turns in each of `halves` halves: all of them equally often, as far as that goes,
/// in random order; so that each shows what carries over to it, in every epoch.
///
/// The counts are fixed, the labels are not: relabelling the variants still gives a sequence just
/// as probable. With one super-block and two variants it is one fair coin.
template <class Coins>
std::vector<int> draw_turns(std::vector<int> const& variants, std::size_t halves, Coins& from) {
  std::vector<int> turns;
  while (turns.size() < halves) {
    auto round = variants;
    from.shuffle(round);
    for (std::size_t i = 0; i < round.size() && turns.size() < halves; ++i) {
      turns.push_back(round[i]);
    }
  }
  from.shuffle(turns);
  return turns;
}

/// Draws a super-block over these variant numbers, whose halves turn at the variants of `turns`.
///
/// Arenas in the first half: as many variants in one as in the other, the odd one by a coin; for
/// two variants this is m and 1 - m with a fair coin m.
template <class Coins>
super_block draw_super_block(std::vector<int> const& variants, std::vector<int> const& turns,
                             Coins& from) {
  if (variants.size() < 2) {
    throw std::invalid_argument("a super-block needs 2 variants or more, not " +
                                std::to_string(variants.size()));
  }
  auto const count = variants.size();
  auto order = variants;
  std::vector<int> arenas(count);
  int const first = from.flip() ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) { arenas[i] = (static_cast<int>(i % 2) + first) % 2; }
  from.shuffle(arenas);
  auto const arena_of = [&](int variant) {
    return arenas[static_cast<std::size_t>(std::find(variants.begin(), variants.end(), variant) -
                                           variants.begin())];
  };

  super_block block;
  block.slots.reserve(4 * count);
  for (std::size_t half = 0; half < 2; ++half) {
    from.shuffle(order);
    std::iter_swap(std::find(order.begin(), order.end(), turns[half]), order.end() - 1);
    for (std::size_t i = 0; i < 2 * count; ++i) {
      int const variant = order[i < count ? i : 2 * count - 1 - i];
      block.slots.push_back({variant, half == 0 ? arena_of(variant) : 1 - arena_of(variant)});
    }
  }
  return block;
}

/// The slots of a half's variants in a random order, to lead in with.
template <class Coins>
std::vector<slot> draw_lead_in(super_block const& block, Coins& from) {
  std::vector<slot> each(block.slots.begin(),
                         block.slots.begin() + static_cast<std::ptrdiff_t>(block.variants()));
  from.shuffle(each);
  return each;
}

/// An epoch's super-blocks: `super_blocks` over the variants 0 ... variants-1 and, if asked for,
/// one of variant 0 against number `variants`, its second instance, at a random place among them.
template <class Coins>
std::vector<super_block> draw_epoch(int variants, int super_blocks, bool control, Coins& from) {
  std::vector<int> all(static_cast<std::size_t>(variants));
  for (int i = 0; i < variants; ++i) { all[static_cast<std::size_t>(i)] = i; }
  std::vector<super_block> blocks;
  blocks.reserve(static_cast<std::size_t>(super_blocks) + 1);
  auto const turns = draw_turns(all, 2 * static_cast<std::size_t>(super_blocks), from);
  for (std::size_t i = 0; i < turns.size(); i += 2) {
    blocks.push_back(draw_super_block(all, std::vector<int>{turns[i], turns[i + 1]}, from));
  }
  if (control) {
    std::vector<int> const pair{0, variants};
    auto block = draw_super_block(pair, draw_turns(pair, 2, from), from);
    block.control = true;
    auto const place = from.below(blocks.size() + 1);
    blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(place), std::move(block));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i == 0 || blocks[i].control != blocks[i - 1].control) {
      blocks[i].lead_in = draw_lead_in(blocks[i], from);
    }
  }
  return blocks;
}

}  // namespace assay::measure
