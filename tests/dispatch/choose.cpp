// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/dispatch/choose.hpp>

#include <cstddef>

using namespace assay;
namespace choose = dispatch::choose;
using test::contains;
using test::message_of;

TEST_CASE("each chooser picks as it says", "[dispatch]") {
  dispatch::costs const of{test::saxpy_measurements()};  // host{4} wins from 8,000 on
  for (std::size_t const size : {0U, 1U, 1000U, 7000U, 10'000U, 1U << 20U}) {
    CHECK(choose::by_model{}.bound(of)(dispatch::facts_of_size(size)) ==
          of.best(dispatch::facts_of_size(size)));
    CHECK(choose::always{on::host{4}}.bound(of)(dispatch::facts_of_size(size)) == 1);
  }
  auto const threshold = choose::threshold{500, on::host{1}, on::host{4}};
  CHECK(threshold.bound(of)(dispatch::facts_of_size(499)) == 0);
  CHECK(threshold.bound(of)(dispatch::facts_of_size(500)) == 1);
  CHECK(describe(threshold) == "choose::threshold{500, host{1}, host{4}}");
  CHECK(describe(choose::always{on::host{4}}) == "choose::always{host{4}}");
}

TEST_CASE("a chooser of a path that is not there is refused", "[dispatch]") {
  dispatch::costs const of{test::saxpy_measurements()};
  CHECK_THAT(message_of([&] { choose::always{on::device{0}}.bound(of); }),
             contains("no path device{0}: there are host{1}, host{4}"));
  CHECK_THAT(message_of([&] { choose::threshold{5, on::host{1}, on::host{2}}.bound(of); }),
             contains("no path host{2}"));
}
