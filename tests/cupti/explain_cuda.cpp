// assay-uses: cupti

// SPDX-License-Identifier: Apache-2.0
// What explain says where there is nothing to trace; with a GPU, see explain.cu.
#include "catch.hpp"

#include "report/sample.hpp"
#include "trace/golden.hpp"

#include <assay/cupti/explain.hpp>
#include <assay/cupti/explain_definitions.hpp>
#include <assay/report/explanation.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.hpp>

#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) { all += line + "\n"; }
  return all;
}

auto const control = pipeline{workloads::null_cast<std::int32_t>{.rows = 2000}, on::host{1},
                              submit::concurrent{.threads = 2, .items = 5}};
auto const variant = control.with(submit::serialized{.threads = 2, .items = 5});

/// What `compare(control, variant)` may say of these two.
measure::comparison found() {
  auto all = test::sample();
  all.variants.resize(2);
  all.variants[0].axes = control.axes();
  all.variants[1].axes = variant.axes();
  all.findings = {test::found("c", measure::verdict::slower, {1.1, 1.05, 1.2}, {-1, 1})};
  all.variants[0].submission = all.variants[1].submission = measure::submission_profile{};
  return all;
}

trace::variant_runs counted(int& runs) {
  return {"x", [&runs] {
            return [&runs] {
              ++runs;
              return 1e-3 * runs;
            };
          }};
}

}  // namespace

TEST_CASE("host pipelines have no trace; the host's split says why they differ") {
  auto const why = explain(control, variant, found());
  CHECK(!why.untraced.empty());
  auto const lines = joined(report::sentences(why));
  CHECK_THAT(lines, contains("No trace tells why: ") && contains("An item costs the host ") &&
                        contains("lock waiting"));
}

TEST_CASE("a comparison gives the difference, its interval and the variants' labels") {
  auto const why = explain(control, variant, found());
  CHECK(why.variant.label == "pool{10 GiB} + serialized");
  CHECK(why.time.ns == Approx(0.1e6));
  CHECK(why.control.seconds == 1.0e-3);
  CHECK(why.time.resolved());
  CHECK_THAT(message_of([&] { explain(control, control, found()); }),
             contains("the comparison has no variant with null_cast"));
}

TEST_CASE("a comparison that ended early, or has no times, explains nothing and runs nothing") {
  auto all = found();
  all.failure = "out of memory";
  CHECK_THAT(joined(report::sentences(explain(control, variant, all))),
             contains("No trace tells why: the comparison ended early: out of memory."));
  all.failure.clear();
  all.variants[0].seconds = {};
  auto const why = explain(control, variant, all);
  CHECK(why.untraced == "these two were not both timed");
  CHECK(joined(report::sentences(why)).starts_with("No trace tells why: "));
}

TEST_CASE("runs that fail are told, and the rest goes on") {
  int runs = 0;
  trace::variant_runs const failing{
      "y", [] { return []() -> double { throw std::runtime_error("the device fell off"); }; }};
  trace::variant_evidence first, second;
  auto const why =
      trace::explain_runs(counted(runs), failing, first, second, trace::time_difference{5});
  CHECK(why.untraced == "the runs to be traced failed: the device fell off");
  CHECK(why.time.ns == 5);
}

TEST_CASE("one variant is open at a time, for one batch, and a limit of time ends it") {
  std::string opened;
  int alive = 0, pairs = 0;
  auto const side = [&](char name) {
    return trace::variant_runs{std::string{name}, [&, name] {
                                 opened += name;
                                 CHECK(++alive == 1);
                                 std::shared_ptr<int> const held{&alive, [](int* of) { --*of; }};
                                 return [held] { return 1e-3; };
                               }};
  };
  auto const explained = [&](trace::explain_options chosen) {
    opened.clear();
    pairs = 0;
    chosen.after_pair = [&] {
      CHECK(alive == 0);
      ++pairs;
    };
    trace::variant_evidence first, second;
    auto why = trace::explain_runs(side('A'), side('B'), first, second, trace::time_difference{5},
                                   {}, chosen);
    CHECK(alive == 0);
    CHECK(why.variant.batches.size() == why.control.batches.size());
    CHECK(why.control.batches.size() == static_cast<std::size_t>(pairs));
    return joined(why.notes);
  };
  CHECK_THAT(explained({}), !contains("limit"));
  CHECK(pairs == 12);
  CHECK_THAT(explained({.batches = 1}), !contains("limit"));
  CHECK((opened == "AB" || opened == "BA"));
  CHECK_THAT(explained({.max_seconds = 0}),
             contains("the limit of 0 s ended the explanation after 1 of 12 pairs of batches"));
  CHECK(opened.size() == 2);
  CHECK(pairs == 1);
  // Each pair has both, and either may begin: that one always does has a chance of 1 in 2^39.
  CHECK_THAT(explained({.batches = 40}), !contains("limit"));
  REQUIRE(opened.size() == 80);
  int begins = 0;
  for (std::size_t i = 0; i < opened.size(); i += 2) {
    CHECK(opened[i] != opened[i + 1]);
    begins += opened[i] == 'A';
  }
  CHECK(begins > 0);
  CHECK(begins < 40);
}

TEST_CASE("both sides run in turn as often as asked") {
  int a = 0;
  int b = 100;
  (void)trace::explain_runs(counted(a), counted(b), {}, {}, {}, {}, {.batches = 3});
  CHECK(a == 3 * (1 + 4));  // opened each time; traced and untraced, each warm
  CHECK(b == 100 + a);
  CHECK_THAT(message_of([&] {
               trace::explain_runs(counted(a), counted(b), {}, {}, {}, {}, {.batches = 0});
             }),
             contains("explain: 0 batches"));
}
