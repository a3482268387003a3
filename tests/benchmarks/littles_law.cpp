// SPDX-License-Identifier: Apache-2.0
#include "support/littles_law.hpp"
#include "catch.hpp"

#include <string>
#include <utility>

using namespace assay::benchmark;

namespace {

std::string bound(little_rate const& of) { return std::string{to_string(of.by)}; }

}  // namespace

TEST_CASE("the rate is the least of what latency, SMs and memory allow", "[machine]") {
  little_terms const terms{500e-9, 1e-6, 4e12, 1e11};
  CHECK(terms.bytes_needed() == Approx(2e6));

  // 10 KB on each of 100 SMs, which could take in 1e13.
  CHECK(terms.predicted(1e6, 100).bytes_per_second == Approx(2e12));
  CHECK(bound(terms.predicted(1e6, 100)) == "latency");
  CHECK(terms.predicted(9e6, 100).bytes_per_second == Approx(4e12));
  CHECK(bound(terms.predicted(9e6, 100)) == "memory");
  // 100 KB on each of 4 SMs is twice the demand of their full rate.
  CHECK(terms.predicted(4e5, 4).bytes_per_second == Approx(4e11));
  CHECK(bound(terms.predicted(4e5, 4)) == "SM");
  CHECK(terms.predicted(9e6, 4).bytes_per_second == Approx(4e11));
  CHECK(terms.predicted(1e5, 4).bytes_per_second == Approx(2e11));
  CHECK(bound(terms.predicted(1e5, 4)) == "latency");

  CHECK(terms.predicted_random(1e6, 100).bytes_per_second == Approx(1e12));
  CHECK(terms.predicted_random(9e6, 100).bytes_per_second == Approx(4e12));
  CHECK(bound(terms.predicted_random(6e5, 4)) == "SM");
}

TEST_CASE("writes move bytes beside those that are read, up to the limit of both", "[machine]") {
  little_terms const terms{500e-9, 1e-6, 4e12, 1e11};
  auto const most = [&](int sms, double in_flight, double limit, double mix, bool random) {
    auto const found = terms.most(in_flight, sms, mix, limit, random);
    return std::pair{found.bytes_per_second, bound(found)};
  };
  CHECK(most(4, 1e5, 4e12, 1, false) == std::pair{2e11, std::string{"latency"}});
  CHECK(most(4, 1e5, 4e12, 1, true) == std::pair{1e11, std::string{"latency"}});
  CHECK(most(4, 9e5, 4e12, 1, false) == std::pair{4e11, std::string{"SM"}});
  CHECK(most(4, 9e5, 4e12, 2, false) == std::pair{8e11, std::string{"SM"}});
  CHECK(most(100, 9e6, 4e12, 1, false) == std::pair{4e12, std::string{"memory"}});
  // Half of what is moved is read: the limit of a copy ends it.
  CHECK(most(100, 9e5, 3e12, 2, false) == std::pair{3e12, std::string{"memory"}});
}
