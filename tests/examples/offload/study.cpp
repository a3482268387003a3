// SPDX-License-Identifier: Apache-2.0
#include "offload/study.hpp"
#include "catch.hpp"
#include "dispatch/fake_device_paths.hpp"

#include <assay/measure/calibrate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::device_saxpy;
using test::message_of;

namespace {

device_saxpy make(setup& arrays, std::size_t size) { return {test::make_saxpy(arrays, size), 0}; }

std::vector<dispatch::path> const host_and_device{on::host{1}, on::device{0}};

/// 400 calls on two paths that take `seconds(path, size)`.
template <class F>
measure::timed_calls timed_with(F seconds, std::uint64_t seed) {
  test::draws draw{stats::random_source{seed}};
  measure::timed_calls all;
  for (int i = 0; i < 400; ++i) {
    auto& call = all.calls.emplace_back();
    call.known = dispatch::facts_of_size(dispatch::size_range{16, 1 << 20}.draw(draw.from));
    auto const n = static_cast<double>(call.known.amount.size);
    for (auto& half : call.halves) { half = {seconds(0, n), seconds(1, n)}; }
  }
  return all;
}

}  // namespace

TEST_CASE("a study times calls of each kind, checks crossovers and sweeps", "[examples]") {
  int traced = 0;
  std::vector<std::string> said;
  examples::study_options<device_saxpy> options{
      .calibrated = {.sizes = {1, 2000}, .budget_seconds = 1, .make = make, .seed = 7},
      .facts_at =
          [](std::size_t n, memory_type memory) {
            auto known = dispatch::facts_of_size(n);
            auto const bytes = 4.0 * static_cast<double>(n);
            known.arrays[0] = {.bytes = bytes, .memory = memory};
            known.arrays[1] = {.bytes = bytes, .way = dispatch::direction::inout, .memory = memory};
            known.count = 2;
            return known;
          },
      .calls = 4,
      .training = 3,
      .sweep_to = 5,
      .rules = {{"a > 500", {501, on::host{1}, on::device{0}}}},
      .make_other = [](setup& arrays, std::size_t n) { return make(arrays, n + 1); },
      .traced = 2,
      .trace =
          [&](std::function<void()> const& call) {
            call();
            ++traced;
            return dispatch::traced_values{{"work_seconds", 1e-6}};
          },
      .say = [&](std::string const& what) { said.push_back(what); }};
  auto const found = examples::study_dispatch(host_and_device, options);
  REQUIRE(found.kinds.size() == 5);
  CHECK(found.kinds[4].name == "other shapes");
  CHECK(found.calibration_seconds > 0);
  for (std::size_t k = 0; k < 5; ++k) {
    auto const& each = found.kinds[k];
    CHECK(each.timed.calls.size() == 4);
    CHECK(each.training.calls.size() == 3);
    REQUIRE(each.traced.calls.size() == 2);
    CHECK(each.traced.calls[1].traced.front().first == "work_seconds");
    CHECK(each.timed.calls[1].traced.empty());
    for (auto const& call : each.timed.calls) {
      CHECK(std::isfinite(call.halves[0][0]));
      CHECK(std::isfinite(call.halves[0][1]));
      CHECK(std::isfinite(found.of.seconds(1, call.known)));
    }
    bool const mixed = each.name == "mixed" || each.name == "other shapes";
    CHECK(mixed == (k >= 3));
    CHECK(static_cast<bool>(each.at) == !mixed);
    CHECK(each.checks.size() == (mixed ? 0 : 1));
    CHECK(each.sweep.has_value() == !mixed);
    if (!mixed) { CHECK(each.sweep->last == 5); }
  }
  CHECK(traced == 10);
  CHECK_THAT(said.front(), contains("calibration, 1 s"));
  CHECK(found.kinds[1].at(10).arrays[0].memory == memory_type::page_locked);
  auto const rows = judge_choosers(found);
  CHECK(std::ranges::count(rows, "a > 500", &examples::regret_row::name) == 1);

  auto wrong_size = options;
  wrong_size.make_other = nullptr;
  wrong_size.calibrated.make = options.make_other;
  CHECK_THAT(message_of([&] { examples::study_dispatch(host_and_device, wrong_size); }),
             contains("return the size asked for"));

  options.bisects = false;
  options.sweep_to = 0;
  options.traced = 0;
  auto const brief = examples::study_dispatch(host_and_device, options);
  CHECK(brief.kinds[1].checks.empty());
  CHECK_FALSE(brief.kinds[1].sweep);
  CHECK(brief.kinds[1].traced.calls.empty());
  CHECK(traced == 10);
}

TEST_CASE("rows of several tasks are added by the names of their choosers", "[examples]") {
  auto const times = [](std::size_t p, double n) { return p == 0 ? 1e-9 * n : 6e-6 + 2.5e-10 * n; };
  examples::dispatch_study first{dispatch::costs{test::saxpy_measurements()}};
  first.kinds = {{"resident", dispatch::facts_of_size, timed_with(times, 1)}};
  auto second = first;
  second.kinds[0].timed = timed_with(times, 2);
  second.rules = {{"a > 500", {501, on::host{1}, on::host{4}}}};
  auto const one = judge_choosers(first), two = judge_choosers(second);
  CHECK(two.size() == one.size() + 1);
  auto const sums = examples::added_rows({one, two});
  REQUIRE(sums.size() == one.size());  // the rule is of one task alone
  for (std::size_t i = 0; i < sums.size(); ++i) {
    CHECK(sums[i].name == one[i].name);
    CHECK(sums[i].all.single.size() ==
          one[i].all.single.size() + judge_choosers(second)[0].all.single.size());
    CHECK(sums[i].all.single.size() > 100);
    CHECK(sums[i].kinds[0].single == sums[i].all.single);
  }
  auto const* const rival = examples::best_rival(sums);
  REQUIRE(rival != nullptr);
  CHECK(rival->is_rival);
  for (auto const& each : sums) { CHECK((!each.is_rival || each.all.total >= rival->all.total)); }
  CHECK_FALSE(sums[0].is_rival);
  CHECK(examples::best_rival({sums[0]}) == nullptr);
  CHECK(examples::added_rows({}).empty());
}
