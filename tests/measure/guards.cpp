// SPDX-License-Identifier: Apache-2.0
/// @file
/// The guards object to unsound verdicts and to no others.
#include <assay/measure/guards.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace assay::measure;
using assay::stats::classification;
using assay::stats::classify;
using assay::stats::interval;

namespace {
classification slower_by(double low, double high) {
  return classify({low, 0.5 * (low + high), high}, 0.01);
}
}  // namespace

TEST_CASE("the hidden control differs when eight epochs agree that it does") {
  std::vector<double> const biased{.003, .002, .004, .003, .001, .002, .003, .005};
  auto const found = check_control(biased);
  CHECK(found.testable);
  CHECK(found.differs);
  auto honest = biased;
  honest[2] = -.001;
  CHECK_FALSE(check_control(honest).differs);
  CHECK(check_control(honest).effect.low == -.001);
  CHECK(check_control(honest).effect.high == .005);
}

TEST_CASE("a control with too few epochs is not tested, and its range is reported") {
  std::vector<double> const few{.01, .02, .03, .04, .05, .06, .07};
  auto const found = check_control(few);
  CHECK_FALSE(found.testable);
  CHECK_FALSE(found.differs);
  CHECK(found.effect.low == .01);
  CHECK(found.effect.high == .07);
  CHECK(found.effect.estimate == Approx(.04));
}

TEST_CASE("an effect is widened by the most that two instances of one variant may differ") {
  control_check control;
  control.effect = {-.03, -.02, -.01};
  CHECK(control.bias_bound() == .03);
  control.effect = {-.01, .0, .04};
  CHECK(control.bias_bound() == .04);
  auto const wide = widened_by_bias({.05, .06, .07}, .04);
  CHECK(wide.low == Approx(.01));
  CHECK(wide.estimate == .06);
  CHECK(wide.high == Approx(.11));
  CHECK(wide.excludes(0));
  CHECK_FALSE(widened_by_bias({.05, .06, .07}, .05).excludes(0));
  CHECK_FALSE(widened_by_bias({-.07, -.06, -.05}, .05).excludes(0));
}

TEST_CASE("the carry-over guard objects to a verdict that changes without the carry-over") {
  std::vector<double> const carried{.004, .004, .005, .004, .003, .004, .004, .004};
  auto const refused = carry_over_objection(slower_by(0.002, 0.006), carried, 0.01);
  REQUIRE(refused);
  CHECK(refused->outcome == verdict::unproven);
  CHECK_THAT(refused->reason, assay::test::contains("carry-over") &&
                                  assay::test::contains("+0.40 %") &&
                                  assay::test::contains("EQUIVALENT"));
  // A difference of 5 % does not hang on 0.4 %.
  CHECK_FALSE(carry_over_objection(slower_by(0.049, 0.051), carried, 0.01));
  // Nor does carry-over that is not resolved forbid anything.
  auto vague = carried;
  vague[0] = -.002;
  CHECK_FALSE(carry_over_objection(slower_by(0.002, 0.006), vague, 0.01));
  // The explained part is known to 0.1 %, so a rest of 0.05 % proves nothing.
  std::vector<double> const most{.003, .003, .0045, .0045, .004, .0045, .003, .004};
  CHECK(carry_over_objection(slower_by(0.0044, 0.0046), most, 0.01));
  CHECK_FALSE(carry_over_objection(slower_by(0.0094, 0.0096), most, 0.01));
  // It also forbids an equivalence that it may have made.
  std::vector<double> const masking{-.02, -.02, -.021, -.02, -.02, -.019, -.02, -.02};
  auto const masked = carry_over_objection(slower_by(-0.001, 0.001), masking, 0.01);
  REQUIRE(masked);
  CHECK(masked->outcome == verdict::unproven);
  // An equivalence that it only makes less certain is open again.
  auto const opened = carry_over_objection(slower_by(-0.008, 0.006), carried, 0.01);
  REQUIRE(opened);
  CHECK(opened->outcome == verdict::inconclusive);
  CHECK_FALSE(carry_over_objection(slower_by(-0.1, 0.1), masking, 0.01));
  // An equivalence that becomes a sign within the margin stays one, and UNPROVEN has its reason.
  std::vector<double> const slight{-.002, -.002, -.0021, -.002, -.002, -.0019, -.002, -.002};
  CHECK_FALSE(carry_over_objection(slower_by(-0.001, 0.001), slight, 0.01));
  auto placed = slower_by(0.015, 0.02);
  placed.outcome = verdict::unproven;
  CHECK_FALSE(carry_over_objection(placed, carried, 0.01));
  // The level of several contrasts is shared: eight values prove nothing at 1 / 500.
  CHECK_FALSE(carry_over_objection(slower_by(0.002, 0.006), carried, 0.01, guard_alpha / 5));
}

TEST_CASE("a sign below the clock's resolution is refused") {
  // 0.1 % of 10 us is 10 ns; a tick of 500 ns over 5 launches is 100 ns.
  auto const refused = resolution_veto(slower_by(0.0009, 0.0011), 10e-6, 0.5e-6, 5);
  REQUIRE(refused);
  CHECK_THAT(*refused, assay::test::contains("10 ns") && assay::test::contains("100 ns"));
  CHECK_FALSE(resolution_veto(slower_by(0.0009, 0.0011), 10e-6, 0.5e-6, 200));
  CHECK_FALSE(resolution_veto(slower_by(0.019, 0.021), 10e-6, 0.5e-6, 5));
  CHECK(resolution_veto(slower_by(-0.0011, -0.0009), 10e-6, 0.5e-6, 5));
  CHECK_FALSE(resolution_veto(slower_by(-0.001, 0.001), 10e-6, 0.5e-6, 5));  // no sign claimed
  auto const whole_tick = slower_by(0.0009, 0.0011);
  double const difference = std::abs(std::expm1(whole_tick.effect.estimate));
  CHECK_FALSE(resolution_veto(whole_tick, 1, difference, 1));  // one tick is enough
}

TEST_CASE(
    "work that takes as long as an empty call gets advice for its kind and a unit for its size") {
  CHECK(
      empty_call_veto("a", 2.1e-9, 2e-9, true) ==
      "\"a\" takes 2.1 ns, no longer than an empty call (2 ns); the compiler may have removed its "
      "work: return a result, or pass it to assay::keep");
  CHECK(
      empty_call_veto("a", 5.04e-6, 4.53e-6, false) ==
      "\"a\" takes 5.04 us, no longer than an empty call (4.53 us); its kernels do too little, or "
      "the host's part of a launch hides them: do more work in a call, and let all callables only "
      "enqueue");
  CHECK_FALSE(empty_call_veto("a", 6e-6, 4.53e-6, false));
}

TEST_CASE("an effect is split into cycles and clocks where SM clocks differ") {
  interval const effect{0.018, std::log(1.021), 0.024};
  auto const split = clock_split("b against a", effect, std::log(0.982));
  REQUIRE(split);
  CHECK_THAT(*split, assay::test::contains("time +2.10 %") &&
                         assay::test::contains("cycles +0.26 %") &&
                         assay::test::contains("clock -1.80 %"));
  CHECK_FALSE(clock_split("b against a", effect, 0.004));
  CHECK_FALSE(clock_split("b against a", effect, 0.005));
  CHECK(clock_split("b against a", effect, 0.00501));
  CHECK_FALSE(clock_split("b against a", effect, std::numeric_limits<double>::quiet_NaN()));
}
