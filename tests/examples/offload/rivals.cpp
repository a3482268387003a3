// SPDX-License-Identifier: Apache-2.0
#include "offload/rivals.hpp"
#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include <cmath>

using namespace assay;

TEST_CASE("the history picks what was fastest at the nearest size", "[dispatch]") {
  dispatch::costs const of{test::saxpy_measurements()};  // host{4} wins from 8,000 on
  // The nearest measured size of 7,000 is 4,096, and of 10,000 is 16,384.
  CHECK(examples::history{}.bound(of)(dispatch::facts_of_size(7000)) == 0);
  CHECK(examples::history{}.bound(of)(dispatch::facts_of_size(10'000)) == 1);
  CHECK(examples::history{}.bound(of)(dispatch::facts_of_size(0)) == 0);
}

TEST_CASE("a power law fits power laws, and misses two of them", "[dispatch]") {
  using law = examples::power_law;
  auto const fit = law::fitted(
      test::path_of(on::host{1}, [](double n) { return 3e-9 * std::pow(n, 0.8) + 5e-6; }).knots);
  for (double const n : {1.0, 100.0, 5e4, 1e6}) {
    CHECK(fit.seconds(n) == Approx(3e-9 * std::pow(n, 0.8) + 5e-6).epsilon(0.02));
  }
  auto all = test::saxpy_measurements();
  dispatch::costs const of{all};
  CHECK(law{}.bound(of)(dispatch::facts_of_size(100)) == 0);
  CHECK(law{}.bound(of)(dispatch::facts_of_size(1 << 20)) == 1);
  // A step at a cache: the curve knows it, and a power law does not.
  all.paths[0] =
      test::path_of(on::host{1}, [](double n) { return n < 3000 ? 1e-9 * n : 4e-9 * n; });
  dispatch::costs const stepped{all};
  CHECK(stepped.seconds(0, dispatch::facts_of_size(1024)) == Approx(1024e-9));
  CHECK(std::abs(law::fitted(all.paths[0].knots).seconds(1024) / 1024e-9 - 1) > 0.1);
  // A wrong path is not chosen, however the law looks.
  all.paths[1] = {.where = on::host{4}, .wrong = "element 3"};
  dispatch::costs const one{all};
  CHECK(law{}.bound(one)(dispatch::facts_of_size(1 << 20)) == 0);
  CHECK(examples::history{}.bound(one)(dispatch::facts_of_size(1 << 20)) == 0);
}

TEST_CASE("a power law pays for copies, as the model does", "[dispatch]") {
  auto all = test::device_measurements();
  for (auto& each : all.links) { each.latency_seconds = 1e-3; }
  dispatch::costs const of{all};
  auto const law = examples::power_law{}.bound(of);
  dispatch::work const amount{.size = 1 << 18};
  CHECK(law(dispatch::facts_of_size(amount.size)) == 1);
  CHECK(law(dispatch::facts_in(memory_type::pageable, amount, {{4e6}})) == 0);
}
