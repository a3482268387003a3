// SPDX-License-Identifier: Apache-2.0
#include "dispatch/moments.hpp"
#include "catch.hpp"

#include <assay/stats/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace assay;

TEST_CASE("moments are exact on any number of threads", "[host]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source random{seed};
  for (std::size_t const count : {0U, 1U, 31U, 2'047U, 2'049U, 16'385U, 100'003U}) {
    std::vector<float> x;
    examples::moments wanted;
    for (std::size_t i = 0; i < count; ++i) {
      auto const steps = static_cast<std::int32_t>(random.below(1U << 18U)) - (1 << 17);
      x.push_back(0x1p-17F * static_cast<float>(steps));
      wanted = wanted + examples::moments{x.back(), x.back(), x.back()};
    }
    for (int const threads : {1, 2, 3}) {
      INFO(count << " elements, " << threads << " threads");
      CHECK(examples::moments_of(threads, x.data(), static_cast<std::int64_t>(count)) == wanted);
    }
  }
  CHECK(examples::moments{}.least == std::numeric_limits<float>::infinity());
  CHECK(examples::moments{12.5, -0.75F, 0.5F}.describe() == "12.5 in [-0.75, 0.5]");
}
