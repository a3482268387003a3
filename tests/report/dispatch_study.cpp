// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/report/dispatch_study.hpp>
#include <assay/report/dispatch_study_json.hpp>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// saxpy on host{1} and host{4}, with calls of two sizes that were timed as the knots say.
measure::dispatch_study saxpy_study() {
  measure::dispatch_study made{dispatch::costs{test::saxpy_measurements()}};
  measure::call_kind kind{"resident"};
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
  auto const lines = lines_of([](std::ostream& out) { report::crossovers(out, saxpy_study()); });
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
  auto const told = lines_of([&](std::ostream& out) { report::crossovers(out, wrong); });
  REQUIRE(told.size() == 3);
  CHECK(told[0] == "  fastest, resident: host{1}");
  CHECK(told[2] == "  host{4} is WRONG at size 7: element 3");
}

TEST_CASE("regrets are told for each chooser and each kind of calls", "[report]") {
  auto const lines = lines_of([](std::ostream& out) { report::regrets(out, saxpy_study()); });
  REQUIRE(lines.size() == 8);
  CHECK_THAT(lines[0], contains("resident  pageable    all  p95 from 2 us    max"));
  CHECK_THAT(lines[1], contains("by_model "));
  CHECK_THAT(lines[4], contains("threshold{1000000, host{1}, host{4}}"));
  // host{1} takes 1 ms and 1.5 ms where host{4} takes 0.256 ms, so 2.5 ms against 0.512 ms, and the
  // small calls add the same 2.5 us to both.
  auto const row = lines[5];
  CHECK_THAT(row, contains("always{host{1}}"));
  CHECK_THAT(
      row,
      contains("386.4     386.4  386.4          388.3  388.3"));  // from 2 us on: 2.5 / 0.512 - 1
  CHECK_THAT(lines[7], contains("noise floor"));
  auto nothing = saxpy_study();
  nothing.kinds.clear();
  CHECK(lines_of([&](std::ostream& out) { report::regrets(out, nothing); }).empty());
}

TEST_CASE("a record of CSV has the facts before a call and the times after it", "[report]") {
  auto const lines =
      lines_of([](std::ostream& out) { report::csv::timed_calls(out, saxpy_study()); });
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] ==
        "set,before_kind,before_memory,before_size,before_bytes,before_flops,before_bytes_in,"
        "before_bytes_out,after_first_host_1,after_second_host_1,after_first_host_4,"
        "after_second_host_4,after_best,chosen_by_model");
  CHECK_THAT(lines[1], contains("held_out,resident,none,1000,12000,0,0,0,1e-06,1.5e-06,"));
  CHECK(lines[1].ends_with(",host_1,host_1"));
  CHECK(lines[2].ends_with(",host_4,host_4"));
  CHECK_THAT(lines[3], contains("held_out,pageable,pageable,1000,12000,0,12000,8000,"));

  auto impossible = saxpy_study();
  for (auto& half : impossible.kinds[0].timed.calls[0].halves) { half[0] = INFINITY; }
  auto const told = lines_of([&](std::ostream& out) { report::csv::timed_calls(out, impossible); });
  CHECK_THAT(told[1], contains(",0,0,,,6.25e-06,6.25e-06,host_4,"));
  auto trained = saxpy_study();
  trained.kinds[0].training = trained.kinds[0].timed;
  for (int i = 0; i < 2; ++i) {
    for (auto const& call : trained.kinds[0].timed.calls) {
      trained.kinds[0].training.calls.push_back(call);
    }
  }
  auto const learned = lines_of([&](std::ostream& out) { report::csv::timed_calls(out, trained); });
  REQUIRE(learned.size() == 11);
  CHECK(learned[0].ends_with(",chosen_by_model,chosen_by_tree"));
  CHECK(learned[1].starts_with("training,resident,none,1000,"));
  CHECK(learned[7].starts_with("held_out,resident,none,1000,"));
  CHECK(learned[7].ends_with(",host_1,host_1,host_1"));
  CHECK(learned[8].ends_with(",host_4,host_4,host_4"));
  using report::csv::detail::column_of;
  CHECK(column_of(dispatch::path{on::device{0}, "staged"}) == "device_0_staged");
}

TEST_CASE("JSON has the knots, the crossovers, the calls and the regrets", "[report]") {
  auto const made = report::to_json(saxpy_study());
  CHECK(made["task"] == "saxpy");
  CHECK(made["paths"][1]["path"] == "host{4}");
  CHECK(made["paths"][1]["knots"][0][1] == 6e-6 + 0.25e-9);
  CHECK(made["forks"][0]["seconds"][0] == 5e-6);
  auto const& kind = made["kinds"][0];
  CHECK(kind["crossovers"][0]["sizes"][0][0] == Approx(8000).epsilon(0.1));
  CHECK(kind["fastest"][1]["path"] == "host{4}");
  CHECK(kind["calls"][1]["halves"][1][0] == Approx(1.5e-3));
  CHECK(made["regrets"][4]["chooser"] == "choose::always{host{1}}");
  CHECK(made["regrets"][4]["all"]["total"] == Approx(3.864).epsilon(1e-3));
  CHECK(made["regrets"][4]["from_2_us"]["max"] == Approx(3.883).epsilon(1e-3));
  auto brief = saxpy_study();
  for (auto& kind : brief.kinds) { kind.timed.calls.pop_back(); }
  CHECK(report::to_json(brief)["regrets"][0]["from_2_us"].is_null());
  CHECK(lines_of([&](std::ostream& out) { report::regrets(out, brief); })[1].ends_with("-    -"));
}
