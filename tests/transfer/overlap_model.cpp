// SPDX-License-Identifier: Apache-2.0
/// @file
/// The closed form predicts the times of simulated engines.

#include "catch.hpp"
#include "transfer/simulated_link.hpp"

#include <assay/transfer/chunk_plan.hpp>

#include <cmath>
#include <random>

using namespace assay;
using transfer::job_size;
using transfer::link_costs;
using transfer::predicted_seconds;
using transfer::stage_seconds;

namespace {

int draws() { return test::small() ? 100 : 1000; }

}  // namespace

TEST_CASE("the formulas are those of the model, term by term", "[transfer]") {
  // H = 2, K = 1, D = 3 s alone; 2.5 and 4 s while both are busy.
  stage_seconds const all{2, 1, 3, 2.5, 4};
  CHECK(all.serial() == 6);
  // Both for 2.5 s, by when 2.5/4 of D is done; the other 3/8 alone take 9/8 s.
  CHECK(all.link() == Approx(2.5 + 3.0 * 3 / 8));
  CHECK(all.bound() == all.link());
  CHECK_FALSE(all.kernel_limits());
  CHECK(stage_seconds{2, 9, 3, 2.5, 4}.bound() == 9);
  CHECK(stage_seconds{2, 9, 3, 2.5, 4}.kernel_limits());
  CHECK(stage_seconds{2, 1, 0, 2.5, 0}.link() == 2);
  CHECK(stage_seconds{0, 1, 3, 0, 4}.link() == 3);
  CHECK(stage_seconds{}.bound() == 0);

  link_costs const costs{10, 20, 5, 8};
  auto const both = stages_of(costs, {100, 40, 7, 1, 1, 1, 3});
  CHECK(both.to_device == 10);
  CHECK(both.to_host == 2);
  CHECK(both.kernel == 3);
  CHECK(both.to_device_duplex == 20);
  CHECK(both.to_host_duplex == 5);
  // A direction without opposing traffic keeps its rate.
  CHECK(stages_of(costs, {100, 0, 7}).to_device_duplex == 10);
  CHECK(stages_of(costs, {0, 40, 7}).to_host_duplex == 2);
}

TEST_CASE("the prediction follows hand-made time lines", "[transfer]") {
  link_costs costs{1, 1, 1, 1};
  job_size const size{2, 2, 2, 1, 1, 1, 2};  // 2 s a stage
  // in [0,1], kernel [1,2], in [1,2], kernel [2,3], out [2,3], out [3,4].
  CHECK(predicted_seconds(costs, size, 2, 2) == Approx(4));
  CHECK(predicted_seconds(costs, size, 1, 1) == Approx(6));
  CHECK(predicted_seconds(costs, size, 2, 1) == Approx(6));  // one chunk after another
  costs.copy_overhead_seconds = 0.5;
  costs.kernel_overhead_seconds = 0.25;
  costs.start_seconds = 10;
  // in [0.5,1.5], kernel ..2.75, out [3.25,4.25]; in [2,3], kernel ..4.25, out [4.75,5.75]
  CHECK(predicted_seconds(costs, size, 2, 2) == Approx(15.75));
  costs.submit_seconds = 5;
  // The second chunk is there 10 s after the start.
  CHECK(predicted_seconds(costs, size, 2, 2) == Approx(10 + 10 + 1.5 + 1.25 + 1.5));
  // Two inputs are two copies.
  costs = {1, 1, 1, 1, 0.5};
  CHECK(predicted_seconds(costs, {2, 0, 2, 1, 2, 0, 0}, 1, 1) == Approx(3));
}

TEST_CASE("with one overhead for all stages the prediction is T(N)", "[transfer]") {
  // 1 GiB each way, 52.8 and 50.5 GB/s, a = 4 us: N* = 72, at 97.4 % of the bound.
  link_costs costs{52.8e9, 50.5e9, 52.8e9, 50.5e9, 4e-6, 4e-6};
  for (auto const& [bytes, share] :
       {std::pair{0x1p30, 0.974}, {0x1p28, 0.948}, {0x1p26, 0.902}, {0x1p24, 0.82}}) {
    job_size const size{bytes, bytes,           static_cast<std::int64_t>(bytes / 4), 1, 1,
                        1,     2 * bytes / 4e12};
    auto const all = stages_of(costs, size);
    auto const a = costs.copy_overhead_seconds;
    auto const t = [&](double n) { return all.serial() / n + (1 - 1 / n) * all.bound() + n * a; };
    for (int const n : {2, 7, 20, 72, 200}) {
      CHECK(predicted_seconds(costs, size, n, 6) == Approx(t(n) + 2 * a));
    }
    auto const best = std::sqrt((all.serial() - all.bound()) / a);
    CHECK(all.bound() / t(best) == Approx(share).margin(0.005));
    CHECK(predicted_seconds(costs, size, static_cast<int>(std::lround(best)), 6) ==
          Approx(transfer::plan_chunks(costs, size).seconds).epsilon(1e-4));
  }
}

TEST_CASE("without contention the prediction is the time of the simulated engines", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < draws(); ++i) {
    auto one =
        test::drawn_job(random, std::exp2(std::uniform_real_distribution{16.0, 32.0}(random)));
    auto& costs = one.costs;
    costs.to_device_duplex_bytes_per_second = costs.to_device_bytes_per_second;
    costs.to_host_duplex_bytes_per_second = costs.to_host_bytes_per_second;
    one.size.granularity = 1;
    auto const chunks = std::uniform_int_distribution{1, 100}(random);
    INFO("draw " << i << ", " << chunks << " chunks");
    REQUIRE(predicted_seconds(costs, one.size, chunks, 8) ==
            Approx(test::simulated_equal(one, chunks, 8)).epsilon(0.002));
  }
}

TEST_CASE("with contention the prediction is near", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  int near = 0;
  int far = 0;
  for (int i = 0; i < draws(); ++i) {
    auto one =
        test::drawn_job(random, std::exp2(std::uniform_real_distribution{24.0, 32.0}(random)));
    one.size.granularity = 1;
    auto const chunks = std::uniform_int_distribution{1, 100}(random);
    auto const said = predicted_seconds(one.costs, one.size, chunks, 6);
    auto const seen = test::simulated_equal(one, chunks, 6);
    INFO("draw " << i << ", " << chunks << " chunks");
    REQUIRE(said <= 1.5 * seen);
    REQUIRE(said >= 0.8 * seen);
    far += said > 1.3 * seen;
    near += std::abs(said - seen) < 0.05 * seen;
  }
  CHECK(near > 0.9 * draws());
  CHECK(far <= 2);  // 8 of 300,000 draws are beyond
}
