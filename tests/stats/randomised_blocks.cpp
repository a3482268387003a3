// SPDX-License-Identifier: Apache-2.0
/// @file
/// Blocks are balanced, fair and reproducible, and cancel drift and placement.
#include <assay/measure/epoch_effects.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace assay::stats;
using assay::measure::cell;
using assay::measure::clock;
using assay::measure::contrast;
using assay::measure::epoch_effects;

namespace {

std::string spelled(block const& of) {
  std::string text;
  for (auto const& [variant, buffer_set] : of.slots) {
    text += static_cast<char>('A' + variant);
    text += static_cast<char>('0' + buffer_set);
  }
  return text;
}

/// Effect of a contrast in one epoch, of cells that take exp(log_time(position, slot)).
template <class LogTime>
double effect_of(std::vector<block> const& blocks, contrast const& what, LogTime log_time) {
  epoch_effects effects{what.weights.size(), {what}, false};
  int position = 0;
  for (auto const& each : blocks) {
    std::vector<cell> cells(each.slots.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i][clock::wall] = std::exp(log_time(position++, each.slots[i]));
    }
    effects.add_block(each, cells);
  }
  effects.close_epoch();
  return effects.effects(clock::wall, 0).at(0);
}

}  // namespace

TEST_CASE("every half is a palindrome, and every variant has two cells in each buffer set") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (int count = 2; count <= 7; ++count) {
    for (int round = 0; round < 50; ++round) {
      auto const drawn = draw_epoch(count, 1, from).front();
      auto const k = static_cast<std::size_t>(count);
      REQUIRE(drawn.slots.size() == 4 * k);
      REQUIRE(drawn.variants() == k);
      for (std::size_t half = 0; half < 2; ++half) {
        std::set<int> in_pass;
        for (std::size_t i = 0; i < k; ++i) {
          CHECK(drawn.slots[half * 2 * k + i] == drawn.slots[half * 2 * k + 2 * k - 1 - i]);
          in_pass.insert(drawn.slots[half * 2 * k + i].variant);
        }
        CHECK(in_pass.size() == k);
        auto const pair = drawn.repeat_pair(half);
        CHECK(drawn.slots[pair] == drawn.slots[pair + 1]);
      }
      std::map<std::pair<int, int>, int> cells;
      int in_first = 0;
      for (std::size_t i = 0; i < 4 * k; ++i) {
        ++cells[{drawn.slots[i].variant, drawn.slots[i].buffer_set}];
        if (i < k && drawn.slots[i].buffer_set == 0) { ++in_first; }
      }
      CHECK(cells.size() == 2 * k);
      for (auto const& [key, seen] : cells) { CHECK(seen == 2); }
      CHECK(std::abs(2 * in_first - count) <= 1);
    }
  }
}

TEST_CASE("for two variants each half is ABBA or BAAB, in either buffer set, equally often") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  int const rounds = 8000;
  for (int const blocks : {1, 4}) {
    std::map<std::string, int> seen;
    for (int i = 0; i < rounds; ++i) {
      ++seen[spelled(draw_epoch(2, blocks, from).back()).substr(8)];  // the epoch's last half
    }
    REQUIRE(seen.size() == 4);
    double const expected = rounds / 4.0;
    double chi_square = 0;
    for (auto const& [what, count] : seen) {
      chi_square += (count - expected) * (count - expected) / expected;
    }
    CHECK(chi_square < 21.1);  // 3 degrees of freedom: exceeded once in 10,000
  }
}

TEST_CASE("of three variants each is as likely as any other in each position of an epoch") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  constexpr int rounds = 6000;
  std::vector<std::map<std::pair<int, int>, int>> seen(24);
  for (int round = 0; round < rounds; ++round) {
    std::size_t position = 0;
    for (auto const& each : draw_epoch(3, 2, from)) {
      for (auto const& at : each.slots) { ++seen[position++][{at.variant, at.buffer_set}]; }
    }
  }
  for (auto const& at : seen) {
    REQUIRE(at.size() == 6);
    double chi_square = 0;
    for (auto const& [what, count] : at) {
      chi_square += (count - rounds / 6.0) * (count - rounds / 6.0) / (rounds / 6.0);
    }
    CHECK(chi_square < 31);  // 5 degrees of freedom: exceeded once in 100,000
  }
}

TEST_CASE("in every epoch each variant has as many repeat pairs as any other, or one more") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (int count = 2; count <= 7; ++count) {
    std::set<std::vector<int>> sequences;
    bool twice_in_a_row = false;
    for (int round = 0; round < 200; ++round) {
      std::vector<int> repeats;
      std::vector<int> times(static_cast<std::size_t>(count), 0);
      for (auto const& each : draw_epoch(count, 4, from)) {
        for (std::size_t half = 0; half < 2; ++half) {
          repeats.push_back(each.slots[each.repeat_pair(half)].variant);
          ++times.at(static_cast<std::size_t>(repeats.back()));
        }
      }
      REQUIRE(repeats.size() == 8);
      auto const [least, most] = std::minmax_element(times.begin(), times.end());
      CHECK(*most - *least <= 1);
      twice_in_a_row = twice_in_a_row || repeats[0] == repeats[1];
      sequences.insert(repeats);
    }
    CHECK(sequences.size() > 5);  // they are drawn, not fixed
    // With a chance of 1 in 7 or more for each epoch: they are drawn over it, not in pairs.
    if (count <= 4) { CHECK(twice_in_a_row); }
  }
}

TEST_CASE("linear drift and the buffer sets' own effects cancel from every contrast") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  // Each time grows by 0.3 with its position and by 0.5 with its buffer set, and has a share of its
  // variant's own: equal sums but for the latter.
  auto const cell_time = [](int position, slot const& at, double own) {
    return std::log(1 + 0.3 * position + (at.buffer_set == 0 ? 0.7 : 0.2) + own);
  };
  auto const mean_time = [](int cells, double own) {
    return std::log(1 + 0.3 * (cells - 1) / 2.0 + 0.45 + own);
  };
  for (int round = 0; round < 100; ++round) {
    auto const difference = contrast{"", contrast::kind::difference, {-1, 1}};
    auto const drift = [&](int position, slot const& at) {
      return cell_time(position, at, at.variant == 1 ? 0.1 : 0);
    };
    CHECK(effect_of(draw_epoch(2, 4, from), difference, drift) ==
          Approx(mean_time(32, 0.1) - mean_time(32, 0)).margin(1e-12));
    auto const interaction = contrast{"", contrast::kind::interaction, {1, -1, -1, 1}};
    constexpr double own[] = {0, 0.1, 0.2, 0.35};
    auto const crossed = [&](int position, slot const& at) {
      return cell_time(position, at, own[at.variant]);
    };
    CHECK(effect_of(draw_epoch(4, 2, from), interaction, crossed) ==
          Approx(mean_time(32, own[0]) - mean_time(32, own[1]) - mean_time(32, own[2]) +
                 mean_time(32, own[3]))
              .margin(1e-12));
  }
}

TEST_CASE("the same machine with the labels exchanged gives exactly the negated effect") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (int round = 0; round < 100; ++round) {
    auto blocks = draw_epoch(2, 4, from);
    auto exchanged = blocks;
    for (auto& one : exchanged) {
      for (auto& each : one.slots) { each.variant = 1 - each.variant; }
    }
    std::vector<double> weather;
    for (int i = 0; i < 32; ++i) {
      weather.push_back(static_cast<double>(from.below(1 << 20)) * 1e-6);
    }
    auto const machine = [&](int position, slot const&) {
      return weather[static_cast<std::size_t>(position)];
    };
    auto const difference = contrast{"", contrast::kind::difference, {-1, 1}};
    CHECK(effect_of(blocks, difference, machine) == -effect_of(exchanged, difference, machine));
  }
}

TEST_CASE("a seed gives the same blocks again, and another seed another") {
  auto const spell = [](std::uint64_t seed) {
    random_source from{seed};
    std::string text;
    for (auto const& each : draw_epoch(4, 4, from)) { text += spelled(each) + "|"; }
    return text;
  };
  CHECK(spell(42) == spell(42));
  CHECK(spell(42) != spell(43));
  // From the algorithm's published reference: SplitMix64 seeded with 1234567.
  random_source reference{1234567};
  CHECK(reference.next() == 6457827717110365317U);
  CHECK(reference.next() == 3203168211198807973U);
}

TEST_CASE("numbers below a bound are uniform and stay below it") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  std::vector<int> seen(7, 0);
  for (int i = 0; i < 70'000; ++i) { ++seen.at(static_cast<std::size_t>(from.below(7))); }
  for (int const count : seen) { CHECK(std::abs(count - 10'000) < 5 * 93); }  // sd = 92.6
}

TEST_CASE("draw_order draws each permutation equally often") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  std::map<std::vector<std::size_t>, int> seen;
  for (int i = 0; i < 6000; ++i) { ++seen[draw_order(3, from)]; }
  CHECK(seen.size() == 6);
  for (auto const& [order, count] : seen) {
    CHECK(std::set<std::size_t>{order.begin(), order.end()} == std::set<std::size_t>{0, 1, 2});
    CHECK(std::abs(count - 1000) < 5 * 29);  // sd = 28.9
  }
}

TEST_CASE("fewer than two variants are refused, naming the number") {
  random_source from{1};
  CHECK_THROWS_WITH(draw_epoch(1, 2, from), assay::test::contains("not 1"));
}
