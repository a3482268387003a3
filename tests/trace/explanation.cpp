// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "golden.hpp"
#include "report/sample.hpp"

#include <assay/report/explanation.hpp>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;
using assay::test::message_of;

namespace {

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) { all += line + "\n"; }
  return all;
}

/// Two launches 1000 ns apart; a variant waits for a mutex and allocates before its second.
model batch(std::int64_t waits, std::int64_t allocates) {
  builder b;
  b.device(0);
  b.launch("k", {0, 1000}, {1000, 2000});
  b.range("wait for the mutex", {2000, 2000 + waits}, main_thread, "assay");
  auto const begin = 2000 + waits;
  if (allocates > 0) { b.call("cudaMallocAsync_v11020", {begin, begin + allocates}); }
  b.launch("k", {begin + allocates, begin + allocates + 100},
           {begin + allocates + 100, begin + allocates + 1100});
  return b.trace;
}

measure::submission_profile split(double allocation, double lock, double launching) {
  auto const all = [](double mean) { return measure::latency{mean, mean, mean, mean}; };
  return {all(allocation + lock + launching), all(allocation), all(lock), all(launching), 400};
}

variant_evidence evidence_of(std::string label, model trace, double seconds,
                             measure::submission_profile const& host) {
  variant_evidence made;
  made.label = std::move(label);
  made.trace = std::move(trace);
  made.seconds = seconds;
  made.submission = host;
  return made;
}

variant_evidence free_variant() {
  return evidence_of("free", batch(0, 0), 3.1e-6, split(100, 0, 1000));
}
variant_evidence locked_variant() {
  return evidence_of("locked", batch(600, 300), 4.0e-6, split(400, 600, 1000));
}

constexpr auto nobody = std::size_t(-1);

}  // namespace

TEST_CASE("an explanation names what accounts for the difference, most first, in numbers") {
  auto const why =
      explain_traces(free_variant(), locked_variant(), {900, 850, 950, "the comparison"});
  CHECK(why.untraced.empty());
  CHECK(joined(report::sentences(why)) ==
        "A batch takes 900.0 ns more with locked than with free [+850.0 ns, +950.0 ns], by the "
        "comparison.\n"
        "Traced, they differ by +900.0 ns; tracing itself adds +0 s. Its parts:\n"
        "Waits: waiting for a lock, wait for the mutex: +600.0 ns, 0 -> 1 times; give each thread "
        "its own stream and memory.\n"
        "Waits: cudaMallocAsync: +300.0 ns, 0 -> 1 times; keep buffers, or take them from a "
        "pool.\n");
  std::ostringstream out;
  out << why;
  CHECK_THAT(out.str(), contains("Why does locked differ from free?\n  - A batch takes 900.0 ns") &&
                            contains("batch, untraced        3.100 us  4.000 us  +29.0 %\n") &&
                            contains("calls                         2         3  +50.0 %\n") &&
                            contains("of it allocation       100.0 ns  400.0 ns    4.00x\n") &&
                            contains("kernels                       2         2\n"));
}

TEST_CASE("without CUDA in the traces, why is said in a line and the host's split stays") {
  auto control = free_variant();
  auto variant = locked_variant();
  control.trace = {};
  variant.trace = {};
  auto const idle = explain_traces(control, variant, {900});
  CHECK_THAT(joined(report::sentences(idle)),
             contains("No trace tells why: neither did anything in CUDA") &&
                 contains("An item costs the host 1.100 us -> 2.000 us"));
  variant.trace.notes.emplace_back(std::string{cuda_is_missing}, "another tool traces: Nsight");
  auto const why = explain_traces(control, variant, {900});
  CHECK(why.untraced == "another tool traces: Nsight");
  CHECK(why.changes.difference_ns == 900);
  CHECK(why.changes.changes.empty());
  CHECK(why.notes.empty());
  CHECK(joined(report::sentences(why)) ==
        "A batch takes 900.0 ns more with locked than with free.\n"
        "No trace tells why: another tool traces: Nsight.\n"
        "An item costs the host 1.100 us -> 2.000 us (+900.0 ns): allocation 100.0 ns -> 400.0 ns "
        "(+300.0 ns, 33 %), lock waiting 0 s -> 600.0 ns (+600.0 ns, 67 %), launching 1.000 us -> "
        "1.000 us (+0 s, 0 %).\n");
}

TEST_CASE("what tracing adds is told for each side, and whose shares it distorts") {
  auto control = free_variant();
  auto variant = locked_variant();
  auto const told = [&] {
    return joined(report::sentences(explain_traces(control, variant, {900})));
  };
  CHECK_THAT(told(), !contains("untraced with"));
  auto const add = [](variant_evidence& to, double untraced_ns, double added_ns) {
    auto& batch = to.batches.emplace_back();
    batch.ns = untraced_ns + added_ns;
    batch.tracing_ns = added_ns;
  };
  for (double const added : {300.0, 310.0, 290.0}) {
    add(control, 1500, added);
    add(variant, 4000, added / 10);
  }
  CHECK_THAT(told(), contains("\nA batch takes 1.800 us traced and 1.500 us untraced with free, "
                              "4.030 us traced and 4.000 us untraced with locked.\n"));
  for (auto& each : control.batches) { each.tracing_ns = 301; }
  CHECK_THAT(told(), contains("tracing adds more than 20 % to free, so shares are those of traced "
                              "runs, and no bound is read from them.\n"));
  for (auto& each : variant.batches) { each.tracing_ns = 3000; }
  CHECK_THAT(told(), contains("to free and locked, so"));
}

TEST_CASE("batches that take another time than in the comparison are named") {
  auto control = free_variant();
  auto variant = locked_variant();
  for (int i = 0; i < 3; ++i) {
    control.batches.emplace_back().ns = 1500;
    variant.batches.emplace_back().ns = 4000;
    for (auto* const side : {&control, &variant}) { side->batches.back().tracing_ns = 0; }
  }
  auto const told = [&](double control_seconds, double variant_seconds) {
    control.seconds = control_seconds;
    variant.seconds = variant_seconds;
    return joined(report::sentences(explain_traces(control, variant, {900})));
  };
  CHECK_THAT(told(1.5e-6, 3.4e-6), !contains("Between traced batches"));
  CHECK_THAT(
      told(0.9e-6, 4.1e-6),
      contains("\nBetween traced batches, untraced ones take 1.67 times as long "
               "with free as in the comparison: the reasons are those of such batches, and no "
               "bound is read from their shares.\n"));
  CHECK_THAT(told(2e-6, 2e-6), contains("take 0.75 times as long with free, and 2.00 times as long "
                                        "with locked as in the comparison"));
}

TEST_CASE("traced batches alone that take another time than in the comparison are named") {
  auto control = free_variant();
  auto variant = locked_variant();
  for (auto* const side : {&control, &variant}) {
    side->batches.emplace_back().ns = 1150;  // 15 % more than untraced
    side->batches.back().tracing_ns = 150;
  }
  control.seconds = 0.87e-6;  // that take 15 % more than in the comparison
  variant.seconds = 1e-6;
  CHECK_THAT(
      joined(report::sentences(explain_traces(control, variant, {900}))),
      contains("\nTraced batches take 1.32 times as long with free as in the comparison: the "
               "reasons are those of such batches, and no bound is read from their shares.\n"));
}

TEST_CASE("a trace tells how long the host was late, and copies were without a kernel") {
  builder b;
  b.copy(copy_kind::host_to_device, 10, {0, 50});
  b.kernel("run", {40, 60});
  b.copy(copy_kind::device_to_host, 10, {60, 80});
  auto const told = [](model trace) {
    return facts_of(evidence_of("x", std::move(trace), 1e-6, {}), {.bytes_read = 8});
  };
  auto const facts = told(b.trace);
  CHECK(facts.copies_exposed == Approx(60.0 / 80));
  CHECK(facts.host_bound == 0);
  CHECK(facts.launches == 1);
  CHECK(facts.seconds == 1e-6);
  CHECK(facts.required.bytes_read == 8);
  auto const nothing = told({});
  CHECK(std::isnan(nothing.copies_exposed));
  CHECK(std::isnan(nothing.host_bound));
  CHECK(told(batch(600, 300)).host_bound == Approx(1000.0 / 3000));
}

TEST_CASE("no bound is read from shares of batches that take another time than the compared") {
  // The device waits for the host for 900 of 4000 ns.
  auto side = locked_variant();
  auto const bound_at = [&](double compared_ns, double untraced_ns, double traced_ns) {
    auto& batch = side.batches.emplace_back();
    batch.ns = traced_ns;
    batch.tracing_ns = traced_ns - untraced_ns;
    side.seconds = compared_ns * 1e-9;
    auto const facts = facts_of(side, {});
    side.batches.clear();
    auto const found = find_bound({}, facts);
    CHECK(facts.host_waits_known == (found.limit == bound::launch));
    CHECK(std::isnan(facts.host_bound) == !facts.host_waits_known);
    return found.limit;
  };
  auto const unknown = ceilings::unknown;
  CHECK(bound_at(1000, 1100, 1190) == bound::launch);
  CHECK(bound_at(unknown, 1000, 1190) == bound::launch);  // nothing was compared
  CHECK(bound_at(1000, 1000, 1210) == bound::unclear);    // the tracer
  CHECK(bound_at(1000, 1500, 1500) == bound::unclear);    // something else
  CHECK(bound_at(1000, 800, 900) == bound::unclear);
  CHECK(bound_at(1000, 1100, 1300) == bound::unclear);  // both, of which neither would do
  CHECK(facts_of(side, {}).host_waits_known);           // no batch tells
}

TEST_CASE("a difference that may be none is said to be so") {
  auto const lines = joined(report::sentences(
      explain_traces(free_variant(), locked_variant(), {-20, -100, 60, "the comparison"})));
  CHECK_THAT(lines, contains("A batch takes 20.00 ns less with locked") &&
                        contains("That may be none at all"));
  CHECK_THAT(
      joined(report::sentences(explain_traces(free_variant(), locked_variant(), {-20, -30, -10}))),
      !contains("none at all"));
}

TEST_CASE("what traces and counters lack is told") {
  auto control = free_variant();
  control.trace.lost = {1, 2, 3, 4, 5};
  control.trace.notes = {{"buffers", "of no interest"}, {"clock", "was set"}};
  control.counters.emplace();
  control.counters->dropped = {{"a_metric", "nobody has it"}};
  auto variant = locked_variant();
  variant.counters.emplace();
  variant.counters->status = {counter_status::state::no_permission, 1, "no permission", "ask root"};
  auto const why = explain_traces(control, variant, {900});
  CHECK(why.notes ==
        std::vector<std::string>{"free: 1 records lost, as the tracer had no room for them",
                                 "free: 2 records left out, as they have no time",
                                 "free: 3 records left out, as their times lie outside the trace",
                                 "free: 4 pieces of device work whose call is not in the trace",
                                 "free: 5 names that could not be resolved", "free: clock: was set",
                                 "free: not counted: a_metric: nobody has it"});
  control.memory.emplace().upstream_calls = 5;
  std::ostringstream one_sided;
  one_sided << explain_traces(control, variant, {900});
  CHECK_THAT(one_sided.str(), contains("calls of the allocator to the driver         5         -"));
  auto const lines = joined(report::sentences(why));
  CHECK_THAT(lines, contains("No hardware counters of locked: no permission: ask root.\n") &&
                        contains("Lacking: free: clock: was set.\n"));
  control.counters = variant.counters;
  CHECK_THAT(joined(report::sentences(explain_traces(control, variant, {900}))),
             contains("\nNo hardware counters: no permission: ask root.\n"));
}

TEST_CASE("counters give each side a bound and metrics") {
  auto control = free_variant();
  control.limits.emplace();
  control.limits->limit = bound::memory;
  control.limits->reason = "DRAM is busy";
  control.limits->dram_share = 0.8;
  control.limits->dram_bytes = 1024;
  auto variant = locked_variant();
  variant.limits = control.limits;
  variant.limits->dram_share = 0.7;
  auto const why = explain_traces(control, variant, {900});
  CHECK_THAT(joined(report::sentences(why)), contains("free is memory bound: DRAM is busy."));
  control.limits->limit = bound::unclear;
  CHECK_THAT(joined(report::sentences(explain_traces(control, variant, {900}))),
             contains("free has no clear bound: DRAM is busy."));
  std::ostringstream out;
  out << why;
  CHECK_THAT(out.str(), contains("80.0 %") && contains("-10.0 points") && contains("1.00 KiB"));
}

TEST_CASE("one batch of each side has changes, and no intervals") {
  auto const why = explain_traces(free_variant(), locked_variant(), {900, 850, 950, "x"});
  auto const& found = why.changes;
  CHECK(found.traced_ns() == 900);
  CHECK(found.confidence == 0);
  REQUIRE(found.changes.size() == 2);
  CHECK(found.changes[0].what == entry_kind::lock);
  CHECK(std::isinf(found.changes[0].delta.low));
  CHECK(is_of_host(found.changes[1].what));
  CHECK(found.changes[1].delta_ns() == 300);
  CHECK(why.untraced.empty());
  CHECK(why.metrics.at(0).control == 3.1e-6);
  CHECK(why.time.high_ns == 950);
}

TEST_CASE("the difference is that of the contrast between just these two, either way round") {
  auto all = test::sample();  // medians of 1.0, 1.1, 1.2, 1.4 ms
  all.findings = {
      test::found("main", measure::verdict::slower, {1.5, 1.4, 1.6}, {-.5, -.5, .5, .5}),
      test::found("b / a", measure::verdict::slower, {1.1, 1.05, 1.2}, {-1, 1, 0, 0}),
      test::found("a / c", measure::verdict::faster, {0.8, 0.5, 0.9}, {1, 0, -1, 0})};
  auto const forth = difference_between(all, 0, 1);
  CHECK(forth.ns == Approx(0.1e6));
  CHECK(forth.low_ns == Approx(0.05e6));
  CHECK(forth.high_ns == Approx(0.2e6));
  CHECK(forth.from == "the comparison (wall clock)");
  CHECK(forth.resolved());
  auto const back = difference_between(all, 1, 0);
  CHECK(back.ns == Approx(1.1e6 * (1 / 1.1 - 1)));
  CHECK((back.low_ns < back.ns && back.ns < back.high_ns && back.high_ns < 0));
  auto const inverse = difference_between(all, 0, 2);
  CHECK(inverse.ns == Approx(0.25e6));
  CHECK(inverse.high_ns == Approx(1e6));
  auto const diagonal = difference_between(all, 0, 3);
  CHECK(diagonal.ns == Approx(0.4e6));
  CHECK(std::isnan(diagonal.low_ns));
  CHECK_THAT(diagonal.from, contains("medians"));
  CHECK(!diagonal.resolved());
  all.findings[1].on = measure::clock::gpu;
  CHECK_THAT(difference_between(all, 0, 1).from, contains("medians"));
}

TEST_CASE("variants are found by their choices, and one that was not compared is refused") {
  auto const all = test::sample();
  CHECK(variant_with(all.variants[2].axes, all) == 2);
  CHECK(variant_with(all.variants[0].axes, all, nobody) == 0);
  CHECK_THAT(message_of([&] { variant_with(all.variants[2].axes, all, 2); }),
             contains("async, concurrent") && contains("pool{10 GiB} + serialized"));
}
