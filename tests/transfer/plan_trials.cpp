// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/transfer/plan_trials.hpp>

#include <random>
#include <vector>

using assay::transfer::plan_trials;

namespace {

/// Runs all that are wanted, with these true times and noise that only slows, and says how many.
int run(plan_trials& all, std::vector<double> const& truth, std::mt19937_64& random) {
  int runs = 0;
  std::exponential_distribution<double> late{1 / 0.002};
  for (auto next = all.wanted(); next; next = all.wanted()) {
    bool const disturbed = random() % 10 == 0;
    all.add(*next, truth[*next] * (1 + late(random) + (disturbed ? 1.0 : 0.0)));
    ++runs;
  }
  return runs;
}

}  // namespace

TEST_CASE("trials find the fastest plan, and each plan is run as often as asked", "[transfer]") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<double> truth{1.0, 1.03, 0.96, 1.02, 1.05};
    plan_trials all{truth.size(), 5};
    REQUIRE(run(all, truth, random) == 25);
    found += all.best() == 2;
  }
  CHECK(found > 190);  // five of which three are disturbed: once in a hundred
}

TEST_CASE("plans are run in turn, and those alike leave the first", "[transfer]") {
  plan_trials all{3, 2};
  std::vector<std::size_t> order;
  for (auto next = all.wanted(); next; next = all.wanted()) {
    order.push_back(*next);
    all.add(*next, *next == 1 ? 0.997 : 1.0);
  }
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
  CHECK(all.best() == 0);
  CHECK(all.median(1) == 0.997);

  plan_trials other{3, 1};
  CHECK(other.best() == 0);  // nothing is known
  other.add(0, 1.0);
  other.add(1, 0.98);
  CHECK(other.best() == 1);
  other.add(2, 0.979);
  CHECK(other.best() == 2);
  CHECK_FALSE(other.wanted());
  CHECK(other.plans() == 3);
}

TEST_CASE("there is nothing to try with one plan or none", "[transfer]") {
  CHECK_FALSE(plan_trials{}.wanted());
  CHECK_FALSE(plan_trials(1, 5).wanted());
  CHECK(plan_trials(1, 5).best() == 0);
  CHECK_THROWS(plan_trials(2, 1).add(2, 1.0));
}
