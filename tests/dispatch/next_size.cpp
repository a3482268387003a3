// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/dispatch/copy_factors.hpp>
#include <assay/dispatch/next_size.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

using namespace assay;
using dispatch::knot;

namespace {

/// Two paths of which the second takes over at `size`.
std::vector<std::vector<knot>> crossing_at(double size, double spread) {
  return {test::path_of(
              on::host{1}, [](double n) { return 1e-9 * n; }, spread)
              .knots,
          test::path_of(
              on::host{2}, [=](double n) { return 1e-9 * std::sqrt(size * n); }, spread)
              .knots};
}

}  // namespace

TEST_CASE("the next size lies where the paths cross", "[dispatch]") {
  for (double const size : {8.0, 128.0, 32768.0}) {  // between knots 4, 16 ... of path_of
    auto const plan = dispatch::plan_next(crossing_at(size, 0.02));
    CHECK(plan.size == static_cast<std::size_t>(size));
    CHECK(plan.expected_regret > 0);
  }
}

TEST_CASE("the expected regret grows with the noise and falls with the difference", "[dispatch]") {
  auto const little = dispatch::plan_next(crossing_at(128, 0.02)).expected_regret;
  auto const more = dispatch::plan_next(crossing_at(128, 0.2)).expected_regret;
  CHECK(more > 2 * little);
  auto far = crossing_at(128, 0.02);
  for (auto& each : far[1]) { each.seconds = 1e-3; }
  CHECK(dispatch::plan_next(far).expected_regret < 1e-9);
  // Of two equal paths, either is as good; the loss is what noise alone makes it.
  CHECK(dispatch::detail::expected_loss(0, 2) == Approx(2 / std::sqrt(2 * std::numbers::pi)));
  CHECK(dispatch::detail::expected_loss(10, 2) < 1e-6);
}

TEST_CASE("a bend makes a segment uncertain, on both of its sides", "[dispatch]") {
  auto const step =
      test::path_of(on::host{1}, [](double n) { return n > 1000 ? 4e-9 * n : 1e-9 * n; });
  auto const segments = dispatch::detail::segments_of(step.knots);  // 256 to 1024 has the step
  CHECK(dispatch::detail::bend(segments, 0) == Approx(0).margin(1e-9));
  CHECK(dispatch::detail::bend(segments, 3) == Approx(0.5));
  CHECK(dispatch::detail::bend(segments, 4) == Approx(0.5));
  CHECK(dispatch::detail::bend(segments, 5) == Approx(0.5));
  CHECK(dispatch::detail::bend(segments, segments.size() - 1) == Approx(0).margin(1e-9));
}

TEST_CASE("no size is left between neighbours, nor for one path a regret", "[dispatch]") {
  std::vector<knot> const close{{1, 1e-6, 0.1}, {2, 1e-6, 0.1}, {3, 1e-6, 0.1}};
  auto const none = dispatch::plan_next(std::vector{close, close});
  CHECK(none.size == 0);
  CHECK(none.expected_regret > 0);
  CHECK(dispatch::plan_next(std::vector<std::vector<knot>>{close}).expected_regret == 0);
}

TEST_CASE("paths that only noise tells apart are left alone", "[dispatch]") {
  auto const linear = [](double n) { return 1e-9 * n; };
  std::vector<std::vector<knot>> equal;
  for (int const threads : {1, 2}) {
    equal.push_back(test::path_of(on::host{threads}, linear, 0.2).knots);
  }
  auto const wide = dispatch::plan_next(equal);
  CHECK(wide.expected_regret > 0.01);
  CHECK(wide.avoidable < 0.1 * wide.expected_regret);
}

TEST_CASE("the shape is measured where a curve bends", "[dispatch]") {
  auto const step =
      test::path_of(on::host{1}, [](double n) { return n > 1000 ? 4e-9 * n : 1e-9 * n; }, 0.01);
  auto const far = test::path_of(on::host{2}, [](double n) { return 1e-6 * n; }, 0.01);
  auto const planned = dispatch::plan_shape(std::vector{far.knots, step.knots});
  CHECK(planned.size >= 128);  // beside or in the segment from 256 to 1024
  CHECK(planned.size <= 2048);
  CHECK(planned.avoidable > 0.005);
  auto const straight = dispatch::plan_shape(std::vector<std::vector<knot>>{far.knots});
  CHECK(straight.avoidable < 0.5 * planned.avoidable);
}

TEST_CASE("copies are measured at both ends first, and then in the middles", "[dispatch]") {
  using sizes = std::vector<std::size_t>;
  CHECK(dispatch::detail::coarse_first({1, 2, 3, 4, 5, 6, 7, 8, 9}) ==
        sizes{9, 1, 5, 3, 7, 2, 4, 6, 8});
  CHECK(dispatch::detail::coarse_first({1, 2, 3, 4, 5, 6}) == sizes{6, 1, 5, 3, 2, 4});
  CHECK(dispatch::detail::coarse_first({7}) == sizes{7});
}
