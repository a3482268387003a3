// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
#include "offload/tree.hpp"
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "dispatch/synthetic_machine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <vector>

using namespace assay;
using examples::tree_row;
using test::contains;
using test::message_of;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

dispatch::facts facts_in(std::size_t size, memory_type memory, double bytes) {
  auto known = dispatch::facts_of_size(size);
  known.arrays[known.count++] = {.bytes = bytes, .memory = memory};
  return known;
}

double cost_of(tree_row const& row, std::size_t path) {
  return row.seconds[path] / *std::min_element(row.seconds.begin(), row.seconds.end()) - 1;
}

double cost_of(examples::tree const& tree, dispatch::costs const& of,
               std::vector<tree_row> const& rows) {
  auto const pick = tree.bound(of);
  double sum = 0;
  for (auto const& each : rows) { sum += cost_of(each, pick(each.known)); }
  return sum;
}

/// The least cost of two levels of splits: every split at the value of a row, at every place, with
/// every path at every leaf.
double exhaustive(std::vector<tree_row> const& rows, std::size_t paths) {
  std::vector<std::vector<bool>> splits;  // for each row: true on one side
  for (auto const& at : rows) {
    auto const here = examples::tree_features{at.known}.values;
    for (std::size_t f = 0; f < here.size(); ++f) {
      std::vector<bool> sides;
      for (auto const& each : rows) {
        sides.push_back(examples::tree_features{each.known}.values[f] < here[f]);
      }
      splits.push_back(std::move(sides));
    }
  }
  auto const leaf = [&](auto const& holds) {
    double least = inf;
    for (std::size_t p = 0; p < paths; ++p) {
      double sum = 0;
      for (std::size_t r = 0; r < rows.size(); ++r) { sum += holds(r) ? cost_of(rows[r], p) : 0; }
      least = std::min(least, sum);
    }
    return least;
  };
  double least = inf;
  for (auto const& root : splits) {
    double sum = 0;
    for (bool const side : {false, true}) {
      double half = inf;
      for (auto const& next : splits) {
        half = std::min(half, leaf([&](std::size_t r) { return root[r] == side && next[r]; }) +
                                  leaf([&](std::size_t r) { return root[r] == side && !next[r]; }));
      }
      sum += half;
    }
    least = std::min(least, sum);
  }
  return least;
}

}  // namespace

TEST_CASE("two levels of a tree cost as little as those of an exhaustive search", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  test::draws draw{stats::random_source{seed}};
  dispatch::costs const of{test::saxpy_measurements()};
  std::vector<dispatch::path> const paths{on::host{1}, on::host{4}};
  int different = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<tree_row> rows;
    for (int i = 0; i < 9; ++i) {
      auto const size = dispatch::size_range{1, 64}.draw(draw.from);
      auto const memory =
          draw.from.next() % 2 == 0 ? memory_type::pageable : memory_type::page_locked;
      rows.push_back({facts_in(size, memory, static_cast<double>(draw.from.next() % 4)),
                      {std::exp(draw.normal()), std::exp(draw.normal())}});
    }
    auto const tree = examples::train_tree(paths, rows, {.depth = 2, .fewest = 1});
    CHECK(cost_of(tree, of, rows) == Approx(exhaustive(rows, 2)).margin(0.005 * 9));
    auto const stump = examples::train_tree(paths, rows, {.depth = 1, .fewest = 1});
    different += cost_of(stump, of, rows) > cost_of(tree, of, rows) + 0.1 ? 1 : 0;
  }
  CHECK(different > 50);  // else two levels would prove nothing
}

TEST_CASE("a tree learns the memory of the arrays beside the size", "[dispatch]") {
  // Only calls over page-locked arrays from 1000 elements on are faster on the second path.
  std::vector<tree_row> rows;
  for (std::size_t size = 1; size <= 1 << 20; size *= 2) {
    auto const bytes = 4.0 * static_cast<double>(size);
    rows.push_back({facts_in(size, memory_type::pageable, bytes), {1, 2}});
    rows.push_back(
        {facts_in(size, memory_type::page_locked, bytes), {1, size < 1000 ? 2.0 : 0.25}});
  }
  dispatch::costs const of{test::saxpy_measurements()};
  auto const tree = examples::train_tree({on::host{1}, on::host{4}}, rows);
  CHECK(cost_of(tree, of, rows) == 0);
  CHECK(tree.leaves() <= 4);
  CHECK_THAT(tree.describe(), contains("tree{leaves="));
  auto const pick = tree.bound(of);
  CHECK(pick(facts_in(5000, memory_type::page_locked, 20'000)) == 1);
  CHECK(pick(facts_in(100, memory_type::page_locked, 400)) == 0);
  CHECK(pick(facts_in(5000, memory_type::pageable, 20'000)) == 0);

  auto wrong = test::saxpy_measurements();
  wrong.paths[1] = {.where = on::host{4}, .wrong = "element 3"};
  CHECK_THAT(message_of([&] { tree.bound(dispatch::costs{wrong}); }), contains("wrong results"));
}

TEST_CASE("a tree tells calls of one size by their flops for each byte", "[dispatch]") {
  std::vector<tree_row> rows;
  for (std::size_t size = 1; size <= 1 << 20; size *= 2) {
    for (double const flops : {1.0, 100.0}) {  // for each copied byte
      auto known = facts_in(size, memory_type::pageable, 4.0 * static_cast<double>(size));
      known.amount.flops = flops * known.arrays[0].bytes;
      rows.push_back({known, {1, flops > 10 ? 0.5 : 2.0}});
    }
  }
  auto const tree = examples::train_tree({on::host{1}, on::host{4}}, rows);
  CHECK(tree.leaves() == 2);
  CHECK(cost_of(tree, dispatch::costs{test::saxpy_measurements()}, rows) == 0);
}

TEST_CASE("a leaf of a tree has several rows, and no impossible path", "[dispatch]") {
  std::vector<tree_row> rows;
  for (std::size_t size = 1; size <= 12; ++size) {  // the fifth call is an outlier
    rows.push_back({dispatch::facts_of_size(size), {1, size == 5 ? 0.1 : 2.0, inf}});
  }
  std::vector<dispatch::path> const paths{on::host{1}, on::host{4}, on::host{2}};
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::host{2}, [](double n) { return 1e-9 * n; }));
  dispatch::costs const of{all};
  auto const count = [&](std::size_t fewest, std::size_t path) {
    auto const pick = examples::train_tree(paths, rows, {.fewest = fewest}).bound(of);
    return std::count_if(rows.begin(), rows.end(),
                         [&](tree_row const& each) { return pick(each.known) == path; });
  };
  CHECK(count(1, 1) == 1);
  CHECK(count(3, 1) == 3);
  CHECK(count(3, 2) == 0);
  CHECK(examples::train_tree(paths, rows, {.fewest = 7}).leaves() == 1);
}

TEST_CASE("a tree is nearly as good as the best choice on simulated machines", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  double chosen = 0, best = 0;
  auto const begin = std::chrono::steady_clock::now();
  for (std::uint64_t m = 0; m < 20; ++m) {
    test::synthetic_machine machine{stats::derive_seed(seed, m)};
    test::draws draw{stats::random_source{seed + m}};
    auto const costs = machine.calibrated(seed + m);
    auto const row = [&] {
      auto const size = dispatch::size_range{16, 1 << 20}.draw(draw.from);
      tree_row made{dispatch::facts_of_size(size), {}};
      for (auto const& each : machine.truth) {
        made.seconds.push_back(each(static_cast<double>(size)));
      }
      return made;
    };
    std::vector<tree_row> rows;
    for (int i = 0; i < 200; ++i) { rows.push_back(row()); }
    std::vector<dispatch::path> paths;
    for (auto const& each : costs.paths()) { paths.push_back(each.where); }
    auto const pick = examples::train_tree(paths, rows).bound(costs);
    for (int i = 0; i < 200; ++i) {
      auto const held_out = row();
      auto const& seconds = held_out.seconds;
      double const least = *std::min_element(seconds.begin(), seconds.end());
      chosen += seconds[pick(held_out.known)] / least;
      best += 1;
    }
  }
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  std::cout << "mean regret of trees: " << 100 * (chosen / best - 1) << " %, " << took.count() / 20
            << " s a machine\n";
  CHECK(chosen / best - 1 < 0.02);
}

TEST_CASE("rows that no tree can learn from have one line", "[dispatch]") {
  std::vector<dispatch::path> const paths{on::host{1}, on::host{4}};
  std::vector<tree_row> rows;
  CHECK(message_of([&] { examples::train_tree(paths, rows); }) ==
        "a tree of 0 rows: give timed calls");
  rows.push_back({dispatch::facts_of_size(7), {1.0}});
  CHECK_THAT(message_of([&] { examples::train_tree(paths, rows); }),
             contains("a row of size 7 has 1 times for 2 paths"));
  for (auto const& bad : {std::vector{inf, inf}, {NAN, 1.0}, {0.0, 1.0}, {1.0, -1.0}}) {
    rows[0].seconds = bad;
    CHECK_THAT(message_of([&] { examples::train_tree(paths, rows); }),
               contains("one above 0 for each is needed, and one of them finite"));
  }
}

TEST_CASE("a tree that leads nowhere is refused before it chooses", "[dispatch]") {
  dispatch::costs const of{test::saxpy_measurements()};
  examples::tree tree{{on::host{1}, on::host{4}}, {}};
  for (auto const& nodes :
       std::vector<std::vector<examples::tree_node>>{{},
                                                     {{0, 10, 7}},
                                                     {{0, 10, 1}, {.other = 0}, {.other = 1}},
                                                     {{10, 10, 2}, {.other = 0}, {.other = 1}},
                                                     {{0, 10, 2}, {.other = 0}, {.other = 2}}}) {
    tree.nodes = nodes;
    CHECK_THAT(message_of([&] { tree.bound(of); }), contains("nodes leads nowhere: train one"));
  }
  tree.nodes = {{0, 10, 2}, {.other = 0}, {.other = 1}};
  CHECK(tree.bound(of)(dispatch::facts_of_size(10)) == 1);
  CHECK(tree.bound(of)(dispatch::facts_of_size(9)) == 0);
}
