// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
/// @file
/// The schedule of interim analyses, and the level that each spends.
#include <assay/stats/group_sequential.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace assay::stats;

TEST_CASE("by default there are analyses at 8, 12, 16, 24, 48 and 96 epochs, at known levels") {
  auto const all = alpha_schedule(96, 0.05, 1);
  REQUIRE(all.size() == 6);
  std::vector<int> const epochs{8, 12, 16, 24, 48, 96};
  std::vector<int> const critical{0, 7, 18, 60, 334, 1607};
  double share = 0.01;
  double unused = 0;
  double spent = 0;
  for (std::size_t k = 0; k < 6; ++k) {
    INFO("analysis " << k);
    CHECK(all[k].epochs == epochs[k]);
    CHECK(all[k].alpha == Approx(share + unused).epsilon(1e-12));
    CHECK(all[k].critical_value == critical[k]);
    double const attained =
        2 * signed_rank_distribution(epochs[k])[static_cast<std::size_t>(all[k].critical_value)];
    CHECK(attained <= all[k].alpha);
    unused = all[k].alpha - attained;
    spent += attained;
    share = 0.008;  // four fifths of the level over five analyses
  }
  CHECK(spent <= 0.05);
  CHECK(spent > 0.0499);  // the unused part of a discrete level is carried on
}

TEST_CASE("analyses double after 24 epochs, and the last is the largest number allowed") {
  auto const when = [](int most) {
    std::vector<int> epochs;
    for (auto const& at : alpha_schedule(most, 0.05, 1)) { epochs.push_back(at.epochs); }
    return epochs;
  };
  CHECK(when(8) == std::vector<int>{8});
  CHECK(when(10) == std::vector<int>{8, 10});
  CHECK(when(24) == std::vector<int>{8, 12, 16, 24});
  CHECK(when(25) == std::vector<int>{8, 12, 16, 24, 25});
  CHECK(when(200) == std::vector<int>{8, 12, 16, 24, 48, 96, 192, 200});
}

TEST_CASE("analyses never spend more than their contrast's share of alpha, and nearly all of it") {
  for (int const epochs : {6, 8, 10, 12, 24, 48, 96, 100, 1000}) {
    for (double const alpha : {0.05, 0.01, 0.2}) {
      for (std::size_t const family : {1U, 3U, 7U}) {
        double const own = alpha / static_cast<double>(family);
        std::vector<interim_analysis> all;
        try {
          all = alpha_schedule(epochs, alpha, family);
        } catch (std::invalid_argument const&) {
          CHECK(signed_rank_critical_value(epochs, own) == -1);
          continue;
        }
        double spent = 0;
        double last = 0;
        int before = 0;
        for (auto const& at : all) {
          CHECK(at.epochs > before);
          before = at.epochs;
          CHECK(at.critical_value >= 0);
          CHECK(at.critical_value == signed_rank_critical_value(at.epochs, at.alpha));
          last =
              2 * signed_rank_distribution(at.epochs)[static_cast<std::size_t>(at.critical_value)];
          spent += last;
          CHECK(spent <= own * (1 + 1e-12));
        }
        CHECK(before == epochs);
        // All that is left to the last analysis is less than its next attainable level costs. An
        // analysis without the exact law counts as if it had spent all of its level.
        double const close = epochs <= most_exact_signed_ranks ? 1e-9 : 5e-3;
        CHECK(all.back().alpha == Approx(own - (spent - last)).epsilon(close));
      }
    }
  }
}

TEST_CASE("an analysis at which nothing can be proven is left out, and the next spends its share") {
  // Seven contrasts: 0.010 / 7 is below the 0.0078 that 8 unanimous epochs attain.
  auto const all = alpha_schedule(24, 0.05, 7);
  REQUIRE(all.size() == 3);
  CHECK(all[0].epochs == 12);
  CHECK(all[0].alpha == Approx(0.010 / 7 + 0.04 / 3 / 7));
  auto const quick = alpha_schedule(8, 0.05, 1);
  REQUIRE(quick.size() == 1);
  CHECK(quick[0].critical_value == 3);  // all of alpha at once
}

TEST_CASE("impossible schedules are refused, and the error says what is possible") {
  CHECK_THROWS_WITH(alpha_schedule(4, 0.05, 1),
                    assay::test::contains("at most 4 epochs can prove nothing at a false-alarm "
                                          "rate of 5 % over 1 contrast:") &&
                        assay::test::contains("allow 6 epochs or more"));
  for (std::size_t const family : {1U, 4U, 28U}) {
    for (double const alpha : {0.05, 0.01, 0.05 / 7}) {
      auto const text = assay::test::message_of([&] { alpha_schedule(1, alpha, family); });
      auto const least = std::stoi(text.substr(text.find("allow ") + 6));
      INFO(text);
      CHECK_THROWS(alpha_schedule(least - 1, alpha, family));
      CHECK_NOTHROW(alpha_schedule(least, alpha, family));
    }
  }
  CHECK_THROWS_WITH(alpha_schedule(0, 0.05, 1), assay::test::contains("not 0"));
  CHECK_THROWS_WITH(alpha_schedule(1001, 0.05, 1),
                    assay::test::contains("between 1 and 1000, not 1001"));
  CHECK_THROWS_WITH(alpha_schedule(24, 1.0, 1), assay::test::contains("alpha"));
  CHECK_THROWS_WITH(alpha_schedule(24, 0.0, 1), assay::test::contains("alpha"));
  CHECK_THROWS_WITH(alpha_schedule(24, 0.05, 0), assay::test::contains("contrast"));
}

TEST_CASE("next_analysis is the first analysis with enough epochs") {
  CHECK(next_analysis(1) == 8);
  for (int const exact : {8, 12, 16, 48}) { CHECK(next_analysis(exact) == exact); }
  CHECK(next_analysis(9) == 12);
  CHECK(next_analysis(13) == 16);
  CHECK(next_analysis(24) == 24);
  CHECK(next_analysis(25) == 48);
  CHECK(next_analysis(97) == 192);
}
