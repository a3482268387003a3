// SPDX-License-Identifier: Apache-2.0
/// @file
/// When one may look, and what it costs.
#include <assay/stats/group_sequential.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

using namespace assay::measure;

TEST_CASE("by default there are looks at 8, 12, 16 and 24 epochs with the known critical values") {
  auto const looks = draw_up_looks(24, 0.05, 1);
  REQUIRE(looks.size() == 4);
  std::vector<int> const epochs{8, 12, 16, 24};
  std::vector<double> const alpha{0.010, 0.010, 0.015, 0.015};
  std::vector<int> const critical{0, 7, 21, 65};
  std::vector<double> const attained{0.0078, 0.0093, 0.0131, 0.0138};
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(looks[k].epochs == epochs[k]);
    CHECK(looks[k].alpha == Approx(alpha[k]));
    CHECK(looks[k].critical_value == critical[k]);
    auto const law = signed_rank_distribution(epochs[k]);
    CHECK(2 * law[static_cast<std::size_t>(critical[k])] == Approx(attained[k]).margin(6e-5));
  }
}

TEST_CASE("looks never spend more than their contrast's share of alpha") {
  for (int const epochs : {6, 8, 10, 12, 24, 48, 100, 1000}) {
    for (double const alpha : {0.05, 0.01, 0.2}) {
      for (std::size_t const family : {1U, 3U, 7U}) {
        std::vector<look> looks;
        try {
          looks = draw_up_looks(epochs, alpha, family);
        } catch (std::invalid_argument const&) {
          CHECK(signed_rank_critical_value(epochs, alpha / static_cast<double>(family)) == -1);
          continue;
        }
        double allowed = 0;
        double spent = 0;
        int before = 0;
        for (auto const& at : looks) {
          CHECK(at.epochs > before);
          before = at.epochs;
          CHECK(at.critical_value >= 0);
          allowed += at.alpha;
          spent +=
              2 * signed_rank_distribution(at.epochs)[static_cast<std::size_t>(at.critical_value)];
        }
        CHECK(before == epochs);
        CHECK(allowed == Approx(alpha / static_cast<double>(family)));
        CHECK(spent <= alpha / static_cast<double>(family) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE(
    "a look at which nothing can be proven is passed over, and the next one spends its share") {
  // Seven contrasts: 0.010 / 7 is below the 0.0078 that 8 unanimous epochs attain.
  auto const looks = draw_up_looks(24, 0.05, 7);
  REQUIRE(looks.size() == 3);
  CHECK(looks[0].epochs == 12);
  CHECK(looks[0].alpha == Approx(0.020 / 7));
  auto const quick = draw_up_looks(8, 0.05, 1);
  REQUIRE(quick.size() == 1);
  CHECK(quick[0].critical_value == 3);  // all of alpha at once
}

TEST_CASE("looks that cannot be are refused, saying what would do") {
  CHECK_THROWS_WITH(draw_up_looks(4, 0.05, 1),
                    assay::test::contains("max_epochs = 4 can prove nothing") &&
                        assay::test::contains("allow 6 epochs or more"));
  for (std::size_t const family : {1U, 4U, 28U}) {
    for (double const alpha : {0.05, 0.01, 0.05 / 7}) {
      auto const text = assay::test::message_of([&] { draw_up_looks(1, alpha, family); });
      auto const least = std::stoi(text.substr(text.find("allow ") + 6));
      INFO(text);
      CHECK_THROWS(draw_up_looks(least - 1, alpha, family));
      CHECK_NOTHROW(draw_up_looks(least, alpha, family));
    }
  }
  CHECK_THROWS_WITH(draw_up_looks(0, 0.05, 1), assay::test::contains("not 0"));
  CHECK_THROWS_WITH(draw_up_looks(1001, 0.05, 1), assay::test::contains("1001"));
  CHECK_THROWS_WITH(draw_up_looks(24, 1.0, 1), assay::test::contains("alpha"));
  CHECK_THROWS_WITH(draw_up_looks(24, 0.05, 0), assay::test::contains("contrast"));
}
