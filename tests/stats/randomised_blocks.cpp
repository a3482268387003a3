// SPDX-License-Identifier: Apache-2.0
/// @file
/// Schedules are balanced, fair and reproducible; what they promise to cancel, cancels.
#include <assay/measure/epoch_effects.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace assay::measure;

namespace {

std::vector<int> numbers(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) { all.push_back(i); }
  return all;
}

std::string spelled(super_block const& block) {
  std::string text;
  for (auto const& [variant, buffer_set] : block.slots) {
    text += static_cast<char>('A' + variant);
    text += static_cast<char>('0' + buffer_set);
  }
  return text;
}

/// Effect of a contrast in one epoch, of cells that take exp(log_time(position, slot)).
template <class LogTime>
double effect_of(std::vector<super_block> const& blocks, contrast const& what, LogTime log_time) {
  ledger entries{what.weights.size(), {what}};
  int position = 0;
  for (auto const& block : blocks) {
    std::vector<cell> cells(block.slots.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i][clock::wall] = std::exp(log_time(position++, block.slots[i]));
    }
    entries.enter(block, cells);
  }
  entries.close_epoch();
  return entries.effects(clock::wall, 0).at(0);
}

}  // namespace

TEST_CASE("every half is a palindrome, and every variant has two cells in each buffer set") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  for (int count = 2; count <= 7; ++count) {
    for (int round = 0; round < 50; ++round) {
      auto const all = numbers(count);
      auto const block = draw_super_block(all, draw_turns(all, 2, from), from);
      auto const k = static_cast<std::size_t>(count);
      REQUIRE(block.slots.size() == 4 * k);
      REQUIRE(block.variants() == k);
      for (std::size_t half = 0; half < 2; ++half) {
        for (std::size_t i = 0; i < k; ++i) {
          CHECK(block.slots[half * 2 * k + i] == block.slots[half * 2 * k + 2 * k - 1 - i]);
        }
        auto const turn = block.turn(half);
        CHECK(block.slots[turn] == block.slots[turn + 1]);
      }
      std::map<std::pair<int, int>, int> cells;
      int in_first = 0;
      for (std::size_t i = 0; i < 4 * k; ++i) {
        ++cells[{block.slots[i].variant, block.slots[i].buffer_set}];
        if (i < k && block.slots[i].buffer_set == 0) { ++in_first; }
      }
      CHECK(cells.size() == 2 * k);
      for (auto const& [key, seen] : cells) { CHECK(seen == 2); }
      CHECK(std::abs(2 * in_first - count) <= 1);
    }
  }
}

TEST_CASE("for two variants each half is ABBA or BAAB, in either buffer_set, equally often") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  int const rounds = 8000;
  for (int const super_blocks : {1, 4}) {
    std::map<std::string, int> seen;
    for (int i = 0; i < rounds; ++i) {
      auto const blocks = draw_epoch(2, super_blocks, false, from);
      ++seen[spelled(blocks.back()).substr(8)];  // the last half of the epoch
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

TEST_CASE("in every epoch each variant turns as often as any other, give or take one") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  for (int count = 2; count <= 7; ++count) {
    std::set<std::vector<int>> sequences;
    bool twice_in_a_row = false;
    for (int round = 0; round < 200; ++round) {
      std::vector<int> turns;
      std::vector<int> times(static_cast<std::size_t>(count), 0);
      for (auto const& block : draw_epoch(count, 4, false, from)) {
        for (std::size_t half = 0; half < 2; ++half) {
          turns.push_back(block.slots[block.turn(half)].variant);
          ++times.at(static_cast<std::size_t>(turns.back()));
        }
      }
      auto const [least, most] = std::minmax_element(times.begin(), times.end());
      CHECK(*most - *least <= 1);
      twice_in_a_row = twice_in_a_row || turns[0] == turns[1];
      sequences.insert(turns);
    }
    CHECK(sequences.size() > 5);  // they are drawn, not fixed
    // With a chance of 1 in 7 or more per epoch: the turns are drawn over it, not in pairs.
    if (count <= 4) { CHECK(twice_in_a_row); }
  }
}

TEST_CASE("linear drift and the buffer sets' own effects cancel from every contrast") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  for (int round = 0; round < 100; ++round) {
    auto const difference = contrast{"", contrast::kind::difference, {-1, 1}};
    auto const drift = [](int position, slot const& at) {
      return 0.3 * position + (at.buffer_set == 0 ? 0.7 : -0.2) + (at.variant == 1 ? 0.01 : 0.0);
    };
    CHECK(effect_of(draw_epoch(2, 4, false, from), difference, drift) ==
          Approx(0.01).margin(1e-12));
    auto const interaction = contrast{"", contrast::kind::interaction, {1, -1, -1, 1}};
    auto const crossed = [](int position, slot const& at) {
      constexpr double own[] = {0, 0.1, 0.2, 0.35};
      return 0.3 * position + (at.buffer_set == 0 ? 0.7 : -0.2) + own[at.variant];
    };
    CHECK(effect_of(draw_epoch(4, 2, false, from), interaction, crossed) ==
          Approx(0.05).margin(1e-12));
  }
}

TEST_CASE("the same machine with the labels exchanged gives exactly the negated effect") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  for (int round = 0; round < 100; ++round) {
    auto blocks = draw_epoch(2, 4, false, from);
    auto exchanged = blocks;
    for (auto& block : exchanged) {
      for (auto& each : block.slots) { each.variant = 1 - each.variant; }
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

TEST_CASE("the control is one super-block of the first and its double, anywhere in the epoch") {
  coins from{1};
  std::set<std::size_t> places;
  for (int round = 0; round < 200; ++round) {
    auto const blocks = draw_epoch(3, 4, true, from);
    REQUIRE(blocks.size() == 5);
    auto const is_control = [](super_block const& block) { return block.control; };
    CHECK(std::count_if(blocks.begin(), blocks.end(), is_control) == 1);
    auto const control = std::find_if(blocks.begin(), blocks.end(), is_control);
    places.insert(static_cast<std::size_t>(control - blocks.begin()));
    for (auto const& at : control->slots) { CHECK((at.variant == 0 || at.variant == 3)); }
    CHECK(control->slots.size() == 8);
  }
  CHECK(places.size() == 5);
}

TEST_CASE("whoever ran before, each variant is as likely to have run last when a block begins") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  std::vector<int> last(3, 0);
  for (int round = 0; round < 3000; ++round) {
    auto const blocks = draw_epoch(3, 2, true, from);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      bool const change = i == 0 || blocks[i].control != blocks[i - 1].control;
      REQUIRE(blocks[i].lead_in.size() == (change ? blocks[i].variants() : 0));
      std::set<int> led;
      for (auto const& at : blocks[i].lead_in) { led.insert(at.variant); }
      CHECK(led.size() == blocks[i].lead_in.size());
      if (i == 0 && !blocks[0].control) {
        ++last.at(static_cast<std::size_t>(blocks[0].lead_in.back().variant));
      }
    }
  }
  for (int const count : last) { CHECK(std::abs(count - 2000 / 3) < 5 * 21.1); }
}

TEST_CASE("a seed gives the same schedule again, and another seed another") {
  auto const spell = [](std::uint64_t seed) {
    coins from{seed};
    std::string text;
    for (auto const& block : draw_epoch(4, 4, true, from)) { text += spelled(block) + "|"; }
    return text;
  };
  CHECK(spell(42) == spell(42));
  CHECK(spell(42) != spell(43));
  // From the algorithm's published reference: SplitMix64 seeded with 1234567.
  coins reference{1234567};
  CHECK(reference.next() == 6457827717110365317U);
  CHECK(reference.next() == 3203168211198807973U);
}

TEST_CASE("numbers below a bound are uniform and stay below it") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  std::vector<int> seen(7, 0);
  for (int i = 0; i < 70'000; ++i) { ++seen.at(static_cast<std::size_t>(from.below(7))); }
  for (int const count : seen) { CHECK(std::abs(count - 10'000) < 5 * 93); }  // sd = 92.6
}

TEST_CASE("carry-over accounts for what cells leave to the next, epoch by epoch") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  coins from{seed};
  struct traces {
    double of_a, of_b;
  };
  for (auto const& left : {traces{0.02, 0}, traces{0, 0.02}, traces{0.03, 0.01}, traces{0, 0}}) {
    ledger entries{2, {{"", contrast::kind::difference, {-1, 1}}}};
    double mean = 0;
    for (int round = 0; round < 200; ++round) {
      int last = -1;
      for (auto const& block : draw_epoch(2, 4, true, from)) {
        std::vector<cell> cells(block.slots.size());
        if (!block.lead_in.empty()) { last = block.lead_in.back().variant; }
        for (std::size_t i = 0; i < cells.size(); ++i) {
          int const now = block.slots[i].variant;
          cells[i][clock::wall] = std::exp(last == now ? 0 : last == 0 ? left.of_a : left.of_b);
          last = now;
        }
        entries.enter(block, cells);
      }
      entries.close_epoch();
      double const effect = entries.effects(clock::wall, 0).back();
      CHECK(entries.carry_over(clock::wall, 0).back() == Approx(effect).margin(1e-12));
      mean += effect / 200;
    }
    // A's trace falls on B's cells, nearly two in three of them.
    CHECK(mean == Approx(0.64 * (left.of_a - left.of_b)).margin(0.001));
  }
}

TEST_CASE("cells that leave nothing to the next have no carry-over") {
  coins from{3};
  ledger entries{3, {{"", contrast::kind::difference, {-1, 0, 1}}}};
  for (auto const& block : draw_epoch(3, 6, false, from)) {
    std::vector<cell> cells(block.slots.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i][clock::wall] = 1 + block.slots[i].variant;
    }
    entries.enter(block, cells);
  }
  entries.close_epoch();
  CHECK(entries.carry_over(clock::wall, 0).at(0) == 0);
  CHECK(entries.effects(clock::wall, 0).at(0) == Approx(std::log(3.0)));
}

TEST_CASE("fewer than two variants are refused by number") {
  coins from{1};
  auto const one = numbers(1);
  CHECK_THROWS_WITH(draw_super_block(one, draw_turns(one, 2, from), from),
                    assay::test::contains("not 1"));
}
