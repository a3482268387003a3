// SPDX-License-Identifier: Apache-2.0
/// @file
/// Contrasts ask what their names say.
#include <assay/measure/factorial.hpp>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace assay::measure;

namespace {

double applied(contrast const& what, std::vector<double> const& log_times) {
  return std::inner_product(what.weights.begin(), what.weights.end(), log_times.begin(), 0.0);
}

crossing two_by_two() {
  return {{"memory", {"pool", "async"}}, {"submit", {"concurrent", "serialized"}}};
}

}  // namespace

TEST_CASE("a 2x2 has one interaction and four simple effects, with their names") {
  auto const all = two_by_two().contrasts();
  REQUIRE(all.size() == 5);
  using weights = std::vector<double>;
  CHECK(all[0].name ==
        "memory x submit: (async against pool) with serialized against with concurrent");
  CHECK(all[0].what == contrast::kind::interaction);
  CHECK(all[0].weights == weights{1, -1, -1, 1});
  CHECK(all[1].name == "async against pool, with concurrent");
  CHECK(all[1].what == contrast::kind::difference);
  CHECK(all[1].weights == weights{-1, 0, 1, 0});
  CHECK(all[2].name == "async against pool, with serialized");
  CHECK(all[2].weights == weights{0, -1, 0, 1});
  CHECK(all[3].name == "serialized against concurrent, with pool");
  CHECK(all[3].weights == weights{-1, 1, 0, 0});
  CHECK(all[4].name == "serialized against concurrent, with async");
  CHECK(all[4].weights == weights{0, 0, -1, 1});
}

TEST_CASE("contrasts recover the effects of constructed log times") {
  crossing const axes{{"r", {"r0", "r1", "r2"}}, {"c", {"c0", "c1"}}};
  REQUIRE(axes.variants() == 6);
  std::vector<double> log_times(6);
  double const rows[] = {0, 0.1, 0.3};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 2; ++c) {
      log_times[axes.at(r, c)] =
          5 + rows[r] + 0.04 * static_cast<double>(c) + (r == 2 && c == 1 ? 0.02 : 0);
    }
  }
  auto const interactions = axes.interactions();
  REQUIRE(interactions.size() == 2);
  CHECK(applied(interactions[0], log_times) == Approx(0).margin(1e-12));
  CHECK(applied(interactions[1], log_times) == Approx(0.02));
  CHECK(axes.simple_effects().size() == 7);  // 2 at each of 2 columns, 1 at each of 3 rows
}

TEST_CASE("all weights sum to zero, and all names differ") {
  crossing const axes{{"r", {"r0", "r1", "r2"}}, {"c", {"c0", "c1", "c2", "c3"}}};
  std::set<std::string> names;
  for (auto const& each : axes.contrasts()) {
    CHECK(std::accumulate(each.weights.begin(), each.weights.end(), 0.0) ==
          Approx(0).margin(1e-15));
    CHECK(names.insert(each.name).second);
  }
}

TEST_CASE("each variant is compared with the first") {
  std::vector<std::string> const labels{"pool", "async", "cuda"};
  auto const all = against_first(labels);
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "async against pool");
  CHECK(all[0].weights == std::vector<double>{-1, 1, 0});
  CHECK(all[1].weights == std::vector<double>{-1, 0, 1});
  std::vector<std::string> const one{"pool"};
  CHECK_THROWS_WITH(against_first(one), assay::test::contains("not 1"));
}

TEST_CASE("a factor of one level is refused by name") {
  CHECK_THROWS_WITH((crossing{{"memory", {"pool"}}, {"submit", {"a", "b"}}}),
                    assay::test::contains("memory"));
}
