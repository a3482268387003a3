// SPDX-License-Identifier: Apache-2.0
#include "offload/study_text.hpp"
#include "catch.hpp"
#include "dispatch/fake_device.hpp"
#include "offload/study_json.hpp"

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// saxpy on host{1} and host{4}, with calls of two sizes that were timed as the knots say.
examples::dispatch_study saxpy_study() {
  examples::dispatch_study made{dispatch::costs{test::saxpy_measurements()}};
  examples::call_kind kind{"resident"};
  for (std::size_t const size : {1'000U, 1'000'000U}) {
    auto const n = static_cast<double>(size);
    auto& call = kind.timed.calls.emplace_back();
    call.known = dispatch::facts_of_size(size);
    call.known.amount.bytes = 12 * n;
    call.halves = {std::vector{n / 1e9, 6e-6 + n / 4e9}, {1.5 * n / 1e9, 6e-6 + n / 4e9}};
  }
  made.kinds = {kind, kind};
  made.kinds[1].name = "pageable";
  auto& call = made.kinds[1].timed.calls[0].known;
  call.arrays[call.count++] = {.bytes = 4000};
  call.arrays[call.count++] = {.bytes = 8000, .way = dispatch::direction::inout};
  return made;
}

template <class Print>
std::vector<std::string> lines_of(Print const& print) {
  std::stringstream text;
  print(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(text, line);) { all.push_back(line); }
  return all;
}

}  // namespace

TEST_CASE("crossovers are told for each path and each kind of calls", "[report]") {
  auto const lines = lines_of([](std::ostream& out) { examples::crossovers(out, saxpy_study()); });
  REQUIRE(lines.size() == 5);
  CHECK_THAT(lines[0], contains("host{4} is faster"));
  CHECK_THAT(lines[1], contains("resident  than host{1}  from 8"));
  CHECK_THAT(lines[2], contains("pageable  than host{1}  from 8"));
  CHECK_THAT(lines[3], contains("fastest, resident: host{1}, from 8"));
  CHECK(lines[3].ends_with("] host{4}"));

  auto all = test::saxpy_measurements();
  all.paths[1] = {.where = on::host{4}, .wrong = "at size 7: element 3"};
  auto wrong = saxpy_study();
  wrong.of = dispatch::costs{all};
  auto const told = lines_of([&](std::ostream& out) { examples::crossovers(out, wrong); });
  REQUIRE(told.size() == 3);
  CHECK(told[0] == "  fastest, resident: host{1}");
  CHECK(told[2] == "  host{4} is WRONG at size 7: element 3");
}

TEST_CASE("regrets are told for each chooser and each kind of calls", "[report]") {
  auto const lines = lines_of([](std::ostream& out) { examples::regrets(out, saxpy_study()); });
  REQUIRE(lines.size() == 9);
  CHECK_THAT(lines[0], contains("resident  pageable    all  mean from 5 us    p95    max"));
  CHECK_THAT(lines[1], contains("by_model "));
  CHECK_THAT(lines[4], contains("threshold{1000000, host{1}, host{4}}"));
  // host{1} takes 1 ms and 1.5 ms where host{4} takes 0.256 ms, so 2.5 ms against 0.512 ms, and the
  // small calls add the same 2.5 us to both.
  auto const row = lines[5];
  CHECK_THAT(row, contains("always{host{1}}"));
  CHECK_THAT(row, contains("386.4     386.4  386.4           388.3  388.3  388.3"));
  CHECK_THAT(lines[7], contains("noise floor"));
  CHECK(lines[8].starts_with("  the best rival is "));
  auto nothing = saxpy_study();
  nothing.kinds.clear();
  CHECK(lines_of([&](std::ostream& out) { examples::regrets(out, nothing); }).empty());
}

TEST_CASE("a record of CSV has the facts before a call and the times after it", "[report]") {
  auto const lines =
      lines_of([](std::ostream& out) { examples::csv::timed_calls(out, saxpy_study()); });
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] ==
        "set,before_kind,before_memory,before_size,before_bytes,before_flops,before_bytes_in,"
        "before_bytes_out,before_pageable_bytes_in,before_pageable_bytes_out,after_first_host_1,"
        "after_second_host_1,after_first_host_4,"
        "after_second_host_4,after_best,chosen_by_model");
  CHECK_THAT(lines[1], contains("held_out,resident,none,1000,12000,0,0,0,0,0,1e-06,1.5e-06,"));
  CHECK(lines[1].ends_with(",host_1,host_1"));
  CHECK(lines[2].ends_with(",host_4,host_4"));
  CHECK_THAT(lines[3], contains("held_out,pageable,pageable,1000,12000,0,12000,8000,12000,8000,"));
  auto mixed = saxpy_study();
  mixed.kinds[1].timed.calls[0].known.arrays[1].memory = memory_type::page_locked;
  auto const both = lines_of([&](std::ostream& out) { examples::csv::timed_calls(out, mixed); });
  CHECK_THAT(both[3], contains("held_out,pageable,mixed,1000,12000,0,12000,8000,4000,0,"));

  auto impossible = saxpy_study();
  for (auto& half : impossible.kinds[0].timed.calls[0].halves) { half[0] = INFINITY; }
  auto const told =
      lines_of([&](std::ostream& out) { examples::csv::timed_calls(out, impossible); });
  CHECK_THAT(told[1], contains(",0,0,0,0,,,6.25e-06,6.25e-06,host_4,"));
  auto trained = saxpy_study();
  trained.kinds[0].training = trained.kinds[0].timed;
  for (int i = 0; i < 2; ++i) {
    for (auto const& call : trained.kinds[0].timed.calls) {
      trained.kinds[0].training.calls.push_back(call);
    }
  }
  auto const learned =
      lines_of([&](std::ostream& out) { examples::csv::timed_calls(out, trained); });
  REQUIRE(learned.size() == 11);
  CHECK(learned[0].ends_with(",chosen_by_model,chosen_by_tree"));
  CHECK(learned[1].starts_with("training,resident,none,1000,"));
  CHECK(learned[7].starts_with("held_out,resident,none,1000,"));
  CHECK(learned[7].ends_with(",host_1,host_1,host_1"));
  CHECK(learned[8].ends_with(",host_4,host_4,host_4"));
  using examples::csv::detail::column_of;
  CHECK(column_of(dispatch::path{on::device{0}}) == "device_0");
}

TEST_CASE("JSON has the knots, the crossovers, the calls and the regrets", "[report]") {
  auto const made = examples::to_json(saxpy_study());
  CHECK(made["task"] == "saxpy");
  CHECK(made["paths"][1]["path"] == "host{4}");
  CHECK(made["paths"][1]["knots"][0][1] == 6e-6 + 0.25e-9);
  auto const& kind = made["kinds"][0];
  CHECK(kind["crossovers"][0]["sizes"][0][0] == Approx(8000).epsilon(0.1));
  CHECK(kind["fastest"][1]["path"] == "host{4}");
  CHECK(kind["calls"][1]["halves"][1][0] == Approx(1.5e-3));
  CHECK(made["regrets"][4]["chooser"] == "choose::always{host{1}}");
  CHECK(made["regrets"][4]["all"]["total"] == Approx(3.864).epsilon(1e-3));
  CHECK(made["regrets"][4]["all"]["max"] == Approx(3.883).epsilon(1e-3));
  CHECK(made["regrets"][4]["all"]["mean"] == Approx(3.883).epsilon(1e-3));
  auto brief = saxpy_study();
  for (auto& each : brief.kinds) { each.timed.calls.pop_back(); }
  CHECK(lines_of([&](std::ostream& out) { examples::regrets(out, brief); })[1].ends_with(
      "-    -    -"));
}

TEST_CASE("bisected crossovers stand beside the predicted ones", "[report]") {
  auto study = saxpy_study();
  examples::crossover_check found{{on::host{1}, on::host{4}, true}};
  found.crossings = {
      {.predicted = {8'000, 7'000, 9'000}, .measured = 8'100, .low = 8'000, .high = 8'200}};
  study.kinds[0].checks = {found};
  found.crossings.clear();
  study.kinds[1].checks = {found};
  auto const print = [&](std::ostream& out) { examples::crossovers(out, study); };
  CHECK(lines_of(print)[0].ends_with("bisected"));
  CHECK(lines_of(print)[1].ends_with("8100, 1.2 % off"));
  CHECK(lines_of(print)[2].ends_with("confirmed"));
  study.kinds[1].checks[0].right = false;
  study.kinds[0].checks[0].crossings[0].measured = 0;
  CHECK(lines_of(print)[1].ends_with("none there"));
  CHECK(lines_of(print)[2].ends_with("WRONG"));
  study.kinds[0].at = nullptr;  // mixed memory
  study.kinds[0].name = "mixed";
  CHECK(lines_of(print).size() == 3);
  auto const made = examples::to_json(study);
  CHECK_FALSE(made["kinds"][0].contains("crossovers"));
  CHECK(made["kinds"][0]["calls"].size() == 2);
  CHECK(made["kinds"][1]["bisected"][0]["right"] == false);
}

TEST_CASE("thresholds of a sweep, with its time beside that of calibration", "[report]") {
  auto study = saxpy_study();
  auto const print = [&](std::ostream& out) { examples::offload_thresholds(out, study); };
  CHECK(lines_of(print).empty());
  study.calibration_seconds = 2;
  study.kinds[1].sweep = examples::offload_sweep{{{0, 1, 350, 361}, {1, 1, 0, 7}}, 1000, 90};
  auto const lines = lines_of(print);
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[1], contains("pageable"));
  CHECK_THAT(lines[1], contains("host{1}      350        361"));
  CHECK_THAT(lines[2], contains("none          7"));
  CHECK_THAT(lines[3],
             contains("calls of the sweep: 90.0 s; calibration with its arrays: 2.0 s, 1/45"));
  CHECK(examples::to_json(study)["kinds"][1]["sweep"]["thresholds"][0]["swept"] == 350);
}

TEST_CASE("errors of predictions by kind and path, and of traced stages", "[report]") {
  auto study = saxpy_study();
  auto const print = [&](std::ostream& out) { examples::prediction_errors(out, study); };
  auto const lines = lines_of(print);
  REQUIRE(lines.size() == 5);
  // host{1}: 1 us predicted and 1.25 us measured, 20 % off; the halves are 20 % from their mean.
  CHECK_THAT(
      lines[1],
      contains("resident    host{1}      2     0      -20.0    20.0  20.0           20.0  20.0"));
  CHECK_THAT(lines[2], contains("resident    host{4}      2     2 "));

  study.of = dispatch::costs{test::device_measurements()};
  study.kinds.resize(1);
  auto& traced = study.kinds[0].traced.calls;
  traced.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    traced[i].known = dispatch::facts_of_size(1'000'000);  // 100.9 us on the device
    traced[i].traced = {{"work_seconds", i == 0 ? 80.72e-6 : 10e-6}};
    traced[i].halves = study.kinds[0].timed.calls[0].halves;
  }
  auto const told = lines_of(print);
  REQUIRE(told.size() == 5);
  CHECK_THAT(told[4], contains("work"));
  CHECK_THAT(told[4], contains("resident "));
  CHECK_THAT(told[4], contains("  1    25.1  25.1"));  // the stage of 10 us does not count

  auto const rows = lines_of([&](std::ostream& out) { examples::csv::timed_calls(out, study); });
  CHECK_THAT(rows[0], contains(",after_work_seconds,after_best"));
  CHECK(rows[1].starts_with("held_out,"));
  CHECK_THAT(rows[1], contains(",,"));  // no trace, so an empty field
  CHECK(rows[3].starts_with("traced,"));
  CHECK_THAT(rows[3], contains("8.072e-05,"));
}

TEST_CASE("totals of all tasks", "[report]") {
  auto study = saxpy_study();
  examples::crossover_check found{{on::host{1}, on::host{4}, true}};
  for (double const measured : {8'100.0, 9'500.0}) {
    found.crossings.push_back({.predicted = {8'000, 7'000, 9'000}, .measured = measured});
  }
  found.crossings.push_back({.predicted = {8'000, 0, 9'000}});  // the paths are nearly equal
  study.kinds[0].checks = {found};
  found.crossings.clear();
  study.kinds[1].checks = {found, found};
  study.kinds[1].checks[1].right = false;
  auto const lines = lines_of([&](std::ostream& out) { examples::totals(out, {study, study}); });
  CHECK_THAT(lines[1], contains("model "));
  CHECK_THAT(lines[4], contains("tuned threshold"));
  CHECK_THAT(lines[5], contains("always host{1}"));
  CHECK_THAT(lines[5], contains("386.4     386.4  386.4           388.3  388.3  388.3"));
  CHECK_THAT(lines[8], contains("the best rival is "));
  CHECK_THAT(lines[9], contains("errors of predictions, host paths: median 10.1 %, p90 20.0 %"));
  CHECK(lines[10] ==
        "  of 4 crossovers bisection found 2 within 5 %, and 2 within their intervals; "
        "\"never\" and \"always\" confirmed: 2 of 4");
  CHECK(lines_of([](std::ostream& out) { examples::totals(out, {}); }).empty());

  auto more = study;
  more.kinds.push_back(more.kinds.back());
  more.kinds.back().name = "other shapes";
  auto const named = lines_of([&](std::ostream& out) { examples::totals(out, {study, more}); });
  REQUIRE(named.size() == lines.size() + 1);
  CHECK(named[9] == "  \"all\" also has the calls of saxpy, other shapes");
}

TEST_CASE("a rule that others published is told by its name", "[report]") {
  auto study = saxpy_study();
  study.rules = {{"cbrt(m n k) > 500", {501, on::host{1}, on::host{4}}}};
  auto const lines = lines_of([&](std::ostream& out) { examples::regrets(out, study); });
  REQUIRE(lines.size() == 10);
  CHECK_THAT(lines[5], contains("cbrt(m n k) > 500 "));
}
