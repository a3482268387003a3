// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
#include "workload/element_wise_battery.hpp"

#include <assay/memory/heap.hpp>

#include <cmath>
#include <span>

using namespace assay;
using assay::test::contains;

namespace {

using host_lane_type = lane<on::host, host_stream, mr::heap_resource>;

host_lane_type make_lane(int index, int threads = 1) {
  return {on::host{threads}, host_stream{}, mr::heap_resource{}, index};
}

}  // namespace

TEMPLATE_TEST_CASE("iterated_map is right on host lanes", "[workload]", float, double) {
  using work = workloads::iterated_map<TestType>;
  static_assert(workload_on<work, host_lane_type>);
  for (int const flops : {0, 2, 64, 258}) {
    test::check_elements_battery<work>(make_lane(0, 2), make_lane(1, 1),
                                       [&](work& each) { each.flops_per_element = flops; });
  }
}

TEMPLATE_TEST_CASE("a result that no rounding explains is caught and named", "[workload]", float,
                   double) {
  test::check_elements_corruption<workloads::iterated_map<TestType>>(
      make_lane(0), make_lane(1), [](auto& state, int lane, std::int64_t at) {
        // 64 FLOPs are 32 steps of 4 units for values below 3: less than 400 epsilons.
        state.arrays(lane).output[at] += 400 * std::numeric_limits<TestType>::epsilon();
      });
}

TEST_CASE("a chain halves distances, and one step too few is told apart", "[workload]") {
  for (int const steps : {1, 2, 7, 100, 4096}) {
    INFO(steps);
    auto const step = workloads::step_for<double>(steps);
    double const x[2] = {-0.75, 0.5};
    double full[2], allowed[2], fewer[2];
    using map = workloads::iterated_map<double>;
    map::reference({x}, full, allowed, step, steps);
    CHECK(std::abs(full[1] - full[0]) == Approx(1.25 / 2));
    map::reference({x}, fewer, allowed, step, steps - 1);
    CHECK(std::abs(full[0] - fewer[0]) > 1000 * allowed[0]);
  }
}

TEST_CASE("results in float stray by the order of the bound, and not beyond it", "[workload]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (int const steps : {1, 10, 1000}) {
    auto const step = workloads::step_for<float>(steps);
    double worst = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      auto const x = random_value(uniform<float>{}, seed, i);
      double expected = 0;
      double allowed = 0;
      workloads::iterated_map<float>::reference({&x}, std::span{&expected, 1},
                                                std::span{&allowed, 1}, step, steps);
      float twice = x;
      float once = x;
      for (int k = 0; k < steps; ++k) {
        float const product = step.factor * twice;
        twice = product + step.offset;
        once = std::fma(step.factor, once, step.offset);
      }
      worst = std::max(
          {worst, std::abs(twice - expected) / allowed, std::abs(once - expected) / allowed});
    }
    INFO(steps << " steps: worst " << worst << " of the bound");
    CHECK(worst <= 1);
    CHECK(worst > 0.1 / steps);
  }
}

TEST_CASE("iterated_map counts its FLOPs and refuses half steps", "[workload]") {
  using work = workloads::iterated_map<float>;
  CHECK(work{.elements = 10, .flops_per_element = 6}.item_traffic() == traffic{40, 40, 60, 40, 40});
  auto where = make_lane(0);
  for (int const bad : {-2, 3, work::max_flops + 2}) {
    CHECK_THROWS_WITH((workloads::prepare(work{.flops_per_element = bad}, where, 1)),
                      contains("flops_per_element = " + std::to_string(bad)));
  }
  CHECK(describe(work{.elements = 7, .flops_per_element = 2}) ==
        "iterated_map<float>{elements=7, flops_per_element=2}");
}
