// SPDX-License-Identifier: Apache-2.0
/// @file
/// Effects, carry-over and variances from cells, and the number of blocks that follows from them.
#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/stats/randomised_blocks.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include "catch.hpp"

using namespace assay;
using namespace assay::measure;

namespace {

contrast const b_against_a{"b against a", contrast::kind::difference, {-1, 1}};

/// Adds a block of two variants. B takes exp(effect) times as long as A.
void add(epoch_effects& to, stats::random_source& from, double effect) {
  auto const block = stats::draw_epoch(2, 1, from).front();
  std::vector<cell> cells(block.slots.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i][clock::wall] = std::exp(block.slots[i].variant == 1 ? effect : 0);
  }
  to.add_block(block, cells);
}

}  // namespace

TEST_CASE("carry-over is the effect of one cell on the next, in each epoch") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source from{seed};
  struct traces {
    double of_a, of_b;
  };
  for (auto const& left : {traces{0.02, 0}, traces{0, 0.02}, traces{0.03, 0.01}, traces{0, 0}}) {
    epoch_effects effects{2, {b_against_a}, false};
    double mean = 0;
    for (int round = 0; round < 200; ++round) {
      int last = -1;
      for (auto const& each : stats::draw_epoch(2, 4, from)) {
        std::vector<cell> cells(each.slots.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
          int const now = each.slots[i].variant;
          // An epoch begins after the warm-up of any variant; here, of the other one.
          if (last < 0) { last = 1 - now; }
          cells[i][clock::wall] = std::exp(last == now ? 0 : last == 0 ? left.of_a : left.of_b);
          last = now;
        }
        effects.add_block(each, cells);
      }
      effects.close_epoch();
      // A leaves its effect on the first cells of B's repeat pairs, and B on those of A. The effect
      // of the contrast contains at most their sum.
      CHECK(effects.carry_over(clock::wall, 0).back() ==
            Approx(left.of_a - left.of_b).margin(1e-12));
      double const share = effects.effects(clock::wall, 0).back() / (left.of_a - left.of_b);
      if (left.of_a != left.of_b) { CHECK((share > 0.2 && share < 1 + 1e-9)); }
      mean += effects.effects(clock::wall, 0).back() / 200;
    }
    // Nearly two in three of B's cells follow one of A.
    CHECK(mean == Approx(0.64 * (left.of_a - left.of_b)).margin(0.002));
  }
}

TEST_CASE("an epoch without a repeat pair of a variant takes carry-over from those before") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source from{seed};
  // Three instances and one block: each epoch has no repeat pair of one of them. The second
  // instance of variant 0 speaks for variant 0.
  epoch_effects effects{2, {b_against_a}, true};
  for (int round = 0; round < 50; ++round) {
    for (auto const& each : stats::draw_epoch(3, round == 0 ? 2 : 1, from)) {
      std::vector<cell> cells(each.slots.size());
      int last = -1;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        int const now = each.slots[i].variant;
        cells[i][clock::wall] = std::exp(now == 1 && last != 1 ? 0.03 : 0.0);
        last = now;
      }
      effects.add_block(each, cells);
    }
    effects.close_epoch();
    CHECK(effects.carry_over(clock::wall, 0).back() == Approx(0.03).margin(1e-12));
  }
}

TEST_CASE("each variant without a repeat pair has its median carry-over of the epochs before") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source from{seed};
  epoch_effects effects{3, {{"", contrast::kind::difference, {-1, 0, 1}}}, false};
  for (int round = 0; round < 30; ++round) {
    // The first epoch has a repeat pair of each variant, and each later one of two of them.
    for (auto const& block : stats::draw_epoch(3, round == 0 ? 2 : 1, from)) {
      std::vector<cell> cells(block.slots.size());
      int last = -1;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        int const now = block.slots[i].variant;
        cells[i][clock::wall] = std::exp(now == last ? 0 : 0.01 * (1 + now));
        last = now;
      }
      effects.add_block(block, cells);
    }
    effects.close_epoch();
    CHECK(effects.carry_over(clock::wall, 0).back() == Approx(0.02));
  }
}

TEST_CASE("independent cells have no carry-over") {
  stats::random_source from{3};
  epoch_effects effects{3, {{"", contrast::kind::difference, {-1, 0, 1}}}, false};
  for (auto const& each : stats::draw_epoch(3, 6, from)) {
    std::vector<cell> cells(each.slots.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i][clock::wall] = 1 + each.slots[i].variant;
    }
    effects.add_block(each, cells);
  }
  effects.close_epoch();
  CHECK(effects.carry_over(clock::wall, 0).at(0) == 0);
  CHECK(effects.effects(clock::wall, 0).at(0) == Approx(std::log(3.0)));
}

TEST_CASE("cells that were not timed in the order of their block have no carry-over") {
  stats::random_source from{1};
  epoch_effects effects{2, {b_against_a}, false};
  auto const add_epoch = [&](bool in_order) {
    auto const block = stats::draw_epoch(2, 1, from).front();
    std::vector<cell> cells(block.slots.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      bool const first_of_pair = i == block.repeat_pair(0) || i == block.repeat_pair(1);
      bool const b = block.slots[i].variant == 1;
      cells[i][clock::wall] = std::exp(first_of_pair && b ? 0.03 : 0);
    }
    effects.add_block(block, cells, in_order);
    effects.close_epoch();
    return effects.carry_over(clock::wall, 0).back();
  };
  CHECK(add_epoch(false) == 0);
  CHECK(add_epoch(true) == Approx(0.03));
  CHECK(add_epoch(false) == 0);
}

TEST_CASE("the rule for blocks sees variances and no labels") {
  // The two blocks of each epoch differ by 2 `within`, and epochs by 2 `between`.
  auto const filled = [](int epochs, double within, double between, bool exchanged) {
    stats::random_source from{1};
    epoch_effects effects{2, {b_against_a}, false};
    for (int epoch = 0; epoch < epochs; ++epoch) {
      double sign = 1;
      for (auto const& block : stats::draw_epoch(2, 2, from)) {
        std::vector<cell> cells(block.slots.size());
        auto shown = block;
        for (std::size_t i = 0; i < cells.size(); ++i) {
          bool const b = block.slots[i].variant == 1;
          double const own = (epoch % 2 == 0 ? between : -between) + sign * within;
          cells[i][clock::wall] = std::exp(b ? own : 0);
          if (exchanged) { shown.slots[i].variant = b ? 0 : 1; }
        }
        sign = -sign;
        effects.add_block(shown, cells);
      }
      effects.close_epoch();
    }
    return effects;
  };
  auto const rule = [](epoch_effects const& so_far, double margin, double affordable) {
    return blocks_for(so_far, clock::wall, 1, margin, affordable);
  };
  // A variance of 2 * 0.4 %^2 within an epoch needs 5.1 blocks to get below (0.25 %)^2.
  auto const within = filled(20, 0.004, 0, false);
  CHECK(within.block_variance(clock::wall, 0) == Approx(2 * 0.004 * 0.004));
  CHECK(rule(within, 0.0101, 100) == 6);
  CHECK(rule(within, 0.0051, 100) == 8);
  CHECK(rule(within, 0.0226, 100) == 2);
  CHECK(rule(within, 0.024, 100) == 1);
  CHECK(rule(within, 0.0101, 2.5) == 3);
  CHECK(rule(within, 0.0101, 0.1) == 1);
  // Epochs that differ anyway, beyond the noise of their blocks, need no more blocks, as soon as
  // four of them tell: 3.2e-5 / (1.053 * 0.6 %^2 - 1.6e-5) is 1.5.
  CHECK(rule(filled(20, 0.004, 0.006, false), 0.0101, 100) == 2);
  CHECK(rule(filled(20, 0.004, 0.1, false), 0.0101, 100) == 1);
  CHECK(rule(filled(3, 0.004, 0.1, false), 0.0101, 100) == 6);
  CHECK(rule(filled(1, 0.004, 0, false), 0.0101, 0.1) == 2);
  CHECK(rule(epoch_effects{2, {b_against_a}, false}, 0.01, 0.1) == 2);
  CHECK(rule(filled(20, 0.004, 0, true), 0.0101, 100) == 6);
  CHECK(rule(filled(20, 0.004, 0.006, true), 0.0101, 100) == 2);
}

TEST_CASE("the effect of an epoch is the ratio of mean times, and a slow cell counts in full") {
  stats::random_source from{1};
  auto const effect = [&](double slow, int cells_that_are) {
    epoch_effects effects{2, {b_against_a}, false};
    int of_b = 0;
    for (auto const& block : stats::draw_epoch(2, 4, from)) {
      std::vector<cell> cells(block.slots.size());
      for (std::size_t i = 0; i < cells.size(); ++i) {
        bool const b = block.slots[i].variant == 1;
        cells[i][clock::wall] = b && of_b++ < cells_that_are ? slow : 1;
      }
      effects.add_block(block, cells);
    }
    effects.close_epoch();
    return effects.effects(clock::wall, 0).at(0);
  };
  CHECK(effect(1, 0) == 0);
  CHECK(effect(3, 1) == Approx(std::log((15 + 3) / 16.0)));
  CHECK(effect(100, 4) == Approx(std::log((12 + 400) / 16.0)));
}

TEST_CASE("the noisiest variant of a contrast differs most from epoch to epoch") {
  stats::random_source from{1};
  epoch_effects effects{2, {b_against_a}, false};
  for (double const ratio : {1.0, 1.1, 1.0, 1.1}) {
    for (int blocks = ratio > 1 ? 2 : 1; blocks > 0; --blocks) {
      add(effects, from, std::log(ratio));
    }
    effects.close_epoch();
  }
  CHECK(effects.noisiest(clock::wall, 0) == 1);
  CHECK(effects.deviation(clock::wall, 0) == 0);  // whatever the number of blocks
  CHECK(effects.deviation(clock::wall, 1) == Approx(std::log(1.1) / std::sqrt(3.0)));
}

TEST_CASE("groups of epochs have the ratio of the means of all their launches") {
  stats::random_source from{1};
  epoch_effects effects{2, {b_against_a}, false};
  for (double const ratio : {1.0, 1.0, 4.0, 1.0, 2.0, 3.0, 1.0}) {
    add(effects, from, std::log(ratio));
    effects.close_epoch();
  }
  auto const grouped = [&](int epochs, int groups) {
    return effects.grouped(clock::wall, 0, epochs, groups);
  };
  CHECK(grouped(7, 7) == effects.effects(clock::wall, 0));
  auto const three = grouped(7, 3);  // 2, 2 and 3 epochs
  REQUIRE(three.size() == 3);
  CHECK(three[0] == Approx(0).margin(1e-12));
  CHECK(three[1] == Approx(std::log(2.5)));
  CHECK(three[2] == Approx(std::log(2.0)));
  CHECK(grouped(4, 1).at(0) == Approx(std::log(7 / 4.0)));
}

TEST_CASE("the variance of blocks is the mean over the epochs that have two or more") {
  stats::random_source from{1};
  epoch_effects effects{2, {b_against_a}, false};
  CHECK(effects.mean_blocks() == 0);
  add(effects, from, 0.5);
  effects.close_epoch();
  CHECK(std::isnan(effects.block_variance(clock::wall, 0)));
  for (double const effect : {0.01, 0.02, 0.06}) { add(effects, from, effect); }
  effects.close_epoch();
  CHECK(effects.block_variance(clock::wall, 0) == Approx(7e-4));  // (4 + 1 + 9) / 2 * 1e-4
  for (double const effect : {0.02, 0.04}) { add(effects, from, effect); }
  effects.close_epoch();
  CHECK(effects.block_variance(clock::wall, 0) == Approx((7e-4 + 2e-4) / 2));
  CHECK(effects.mean_blocks() == 2);
  CHECK(effects.epochs() == 3);
}

TEST_CASE("a clock is complete where each cell has it, and seen where one has it") {
  stats::random_source from{1};
  epoch_effects effects{2, {b_against_a}, false};
  add(effects, from, 0.01);
  auto const block = stats::draw_epoch(2, 1, from).front();
  std::vector<cell> cells(block.slots.size());
  for (auto& each : cells) { each[clock::wall] = 1; }
  cells[3][clock::gpu] = 1;
  cells[5][clock::wall] = 0;  // no time
  effects.add_block(block, cells);
  effects.close_epoch();
  CHECK_FALSE(effects.complete(clock::wall));
  CHECK(effects.seen(clock::wall));
  CHECK_FALSE(effects.complete(clock::gpu));
  CHECK(effects.seen(clock::gpu));
  CHECK_FALSE(effects.seen(clock::submit));
  CHECK(std::isnan(effects.effects(clock::wall, 0)[0]));
}

TEST_CASE("the hidden control is the ratio of the second to the first instance of variant 0") {
  stats::random_source from{2};
  epoch_effects effects{2, {b_against_a}, true};
  auto const block = stats::draw_epoch(3, 1, from).front();
  std::vector<cell> cells(block.slots.size());
  constexpr double log_time[] = {0.1, 0.4, 0.15};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i][clock::gpu] = std::exp(log_time[block.slots[i].variant]);
  }
  effects.add_block(block, cells);
  effects.close_epoch();
  CHECK(effects.control(clock::gpu).at(0) == Approx(0.05));
  CHECK(effects.effects(clock::gpu, 0).at(0) == Approx(0.3));
}

TEST_CASE("each half of a block has a repeat pair of its own") {
  stats::random_source from{4};
  for (int round = 0; round < 20; ++round) {
    epoch_effects effects{2, {b_against_a}, false};
    auto const block = stats::draw_epoch(2, 1, from).front();
    std::vector<cell> cells(block.slots.size());
    for (auto& each : cells) { each[clock::wall] = 1; }
    // Only the first cell of B's pair pays for the variant before it.
    for (std::size_t const half : {0U, 1U}) {
      auto const at = block.repeat_pair(half);
      cells[at][clock::wall] = std::exp(block.slots[at].variant == 1 ? 0.04 : 0.01);
    }
    effects.add_block(block, cells);
    effects.close_epoch();
    CHECK(effects.carry_over(clock::wall, 0).at(0) == Approx(0.03));
  }
}
