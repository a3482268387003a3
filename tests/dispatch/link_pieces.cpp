// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/link_pieces.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace assay;
using dispatch::to;
using test::contains;
using test::message_of;

namespace {

/// The predicted time of one copy to the device.
double copied(std::vector<dispatch::link> const& links, double bytes) {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double) { return 1.0; }));
  all.machine.links = links;
  dispatch::costs const of{all};
  dispatch::facts known = dispatch::facts_of_size(1);
  known.count = 1;
  known.arrays[0] = {.bytes = bytes, .way = dispatch::direction::in};
  return of.copies_of(2, known).before.seconds;
}

}  // namespace

TEST_CASE("links go through all measured copies, and on beyond them", "[dispatch]") {
  auto const made = dispatch::links_through(
      "", to::device, memory_type::pageable,
      {{1000, 2e-6, 0.1}, {10'000, 3e-6, 0.2}, {1'000'000, 103e-6, 0.05}, {2'000'000, 303e-6, 0}});
  REQUIRE(made.size() == 3);
  CHECK(made[0].spread == 0.2);
  CHECK(copied(made, 1000) == Approx(2e-6));
  CHECK(copied(made, 10'000) == Approx(3e-6));
  CHECK(copied(made, 1'000'000) == Approx(103e-6));
  CHECK(copied(made, 2'000'000) == Approx(303e-6));
  CHECK(copied(made, 505'000) == Approx(53e-6));     // half of the way
  CHECK(copied(made, 4'000'000) == Approx(703e-6));  // the last slope
  CHECK(copied(made, 0) == Approx(2e-6 - 1e-6 / 9));
  for (double bytes = 1; bytes < 1e8; bytes *= 1.1) {
    CHECK(copied(made, bytes * 1.01) > copied(made, bytes));
  }
}

TEST_CASE("no copy is slower than a larger one", "[dispatch]") {
  auto const made = dispatch::links_through(
      "", to::device, memory_type::pageable,
      {{1000, 2.2e-6, 0}, {16'000, 2e-6, 0}, {64'000, 2.1e-6, 0}, {1'000'000, 20e-6, 0}});
  CHECK(copied(made, 1000) == Approx(2e-6).epsilon(0.01));
  CHECK(copied(made, 16'000) == Approx(2e-6).epsilon(0.01));
  CHECK(copied(made, 64'000) == Approx(2.1e-6).epsilon(0.01));
  CHECK(copied(made, 1'000'000) == Approx(20e-6).epsilon(0.01));
  // The first size is no smaller than a copy without bytes can be.
  CHECK(copied(dispatch::links_through("", to::device, memory_type::pageable,
                                       {{1000, 1e-6, 0}, {2000, 3e-6, 0}}),
               0) == 0);
}

TEST_CASE("times that are no measurement of a link are refused", "[dispatch]") {
  using times = std::vector<dispatch::timed_copy>;
  for (auto const& bad : {times{}, times{{1, 1, 0}}, times{{2, 1, 0}, {2, 1, 0}},
                          times{{1, 0, 0}, {2, 1, 0}}, times{{1, 1, 0}, {2, 0.0 / 0.0, 0}}}) {
    CHECK_THAT(
        message_of([&] { dispatch::links_through("", to::device, memory_type::pageable, bad); }),
        contains("timed copies: 2 or more are needed"));
  }
}
