// assay-uses: cupti

// SPDX-License-Identifier: Apache-2.0
// What explain says of null_cast: small columns, so that the host's time is what differs.
#include "catch.hpp"

#include <assay/cupti/explain.hpp>
#include <assay/measure/axes.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/experiment.hpp>
#include <assay/memory/async.hpp>
#include <assay/pool/pool.hpp>
#include <assay/report/explanation.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

#include <cmath>
#include <cstdint>
#include <string>

using namespace assay;
using assay::test::contains;

namespace {

// Under a sanitizer a launch takes a hundred times as long, and what is said of time means nothing.
int const threads = test::small() ? 2 : 4;
int const items = test::small() ? 3 : 50;
trace::explain_options const few{.batches = test::small() ? 1 : 5};

auto const control =
    pipeline{workloads::null_cast<std::int32_t>{.rows = test::small() ? 1'000 : 20'000},
             mr::pool{.initial_bytes = std::size_t{64} << 20U, .mapped = !test::small()},
             submit::concurrent{.threads = threads, .items = items}};

/// Explains two pipelines by the times and the profiles of a few batches, without a comparison.
template <class Control, class Variant>
trace::explanation explained(Control const& control, Variant const& variant) {
  auto const labels = measure::labels_of(control, variant);
  auto const side = [](std::string const& label, auto const& what) {
    auto const seen = measure::profile(what, 3);
    trace::variant_evidence made;
    made.label = label;
    made.submission = seen.submission;
    made.memory = seen.memory;
    auto const run = trace::runs_of(what, label).open();
    run();
    made.seconds = run();
    return made;
  };
  auto const first = side(labels[0], control);
  auto const second = side(labels[1], variant);
  trace::time_difference const time{.ns = (second.seconds - first.seconds) * 1e9};
  return trace::explain_runs(trace::runs_of(control, labels[0]), trace::runs_of(variant, labels[1]),
                             first, second, time, {}, few);
}

std::string printed(trace::explanation const& why) {
  std::string all;
  for (auto const& line : report::sentences(why)) { all += line + "\n"; }
  return all;
}

/// Whether there is a trace: not under a sanitizer or another tool, which has to be said then.
bool traced(trace::explanation const& why) {
  INFO(printed(why));
  if (why.untraced.empty()) { return true; }
  WARN("not traced: " << why.untraced);
  CHECK_THAT(printed(why), contains("No trace tells why: ") && contains("An item costs the host"));
  CHECK((assay::test::small() || why.untraced.find("tool") != std::string::npos ||
         why.untraced.find("profil") != std::string::npos));
  return false;
}

/// The time and the number of a kind's parts, while devices waited.
trace::breakdown_entry sum_of(trace::explanation const& why, trace::entry_kind kind, bool variant) {
  trace::breakdown_entry sum;
  for (auto const& each : why.changes.changes) {
    if (each.what == kind) { sum += variant ? each.variant : each.control; }
  }
  return sum;
}
double grown(trace::explanation const& why, trace::entry_kind kind) {
  return sum_of(why, kind, true).ns - sum_of(why, kind, false).ns;
}

void whole(trace::explanation const& why) {
  INFO(printed(why));
  for (auto const* side : {&why.control, &why.variant}) {
    CHECK(side->trace.kernels.size() % (threads * items) == 0);
    CHECK(!side->trace.kernels.empty());
    CHECK(side->trace.lost.dropped == 0);
    CHECK(side->seconds > 0);
    // Read, or said in a line why not.
    REQUIRE(side->counters.has_value());
    CHECK(static_cast<bool>(side->counters->status) == side->limits.has_value());
    CHECK((side->limits || !side->counters->status.line().empty()));
    if (side->limits) { CHECK(side->limits->dram_bytes >= 0); }
    if (!side->limits) { continue; }
    // Each kernel of an item by itself, under the names that the batch has.
    CHECK(side->kernels.size() == 3);
    for (auto const& run : side->trace.kernels) {
      auto const of = side->kernels.find(side->trace.strings[run.name]);
      REQUIRE(of != side->kernels.end());
      CHECK(of->second.launches == 1);
      CHECK(of->second.ns > 0);
      CHECK(of->second.active_ns <= of->second.ns * 1.01);
    }
  }
  for (auto const& each : why.kernels) {
    auto sum = each.unexplained_ns;
    for (auto const& cause : each.causes) { sum += cause.ns; }
    CHECK(sum == Approx(each.delta_ns()).epsilon(1e-6).margin(1));
  }
  CHECK(why.untraced.empty());
}

}  // namespace

TEST_CASE("The driver's allocator accounts for most of what mr::async costs more than a pool") {
  auto const why = explained(control, control.with(mr::async{}));
  INFO(printed(why));
  if (!traced(why)) { return; }
  whole(why);
  using trace::entry_kind;
  // Each item asks for its temporaries and gives them back; the pool asks the driver for nothing.
  CHECK(sum_of(why, entry_kind::allocation, true).count > 0);
  CHECK(sum_of(why, entry_kind::allocation, false).count == 0);
  if (assay::test::small()) { return; }
  CHECK(grown(why, entry_kind::allocation) > 0);
  CHECK(grown(why, entry_kind::allocation) > std::abs(grown(why, entry_kind::lock)));
  CHECK(why.changes.traced_ns() > 0);
  CHECK_THAT(printed(why), contains("cudaMallocAsync") || contains("cudaMallocFromPoolAsync"));
  CHECK(why.variant.submission->allocation.mean > 2 * why.control.submission->allocation.mean);
}

TEST_CASE("Waiting for the mutex accounts for most of what submission under one costs") {
  auto const why =
      explained(control, control.with(submit::serialized{.threads = threads, .items = items}));
  INFO(printed(why));
  if (!traced(why)) { return; }
  whole(why);
  using trace::entry_kind;
  CHECK(sum_of(why, entry_kind::lock, true).count > 0);
  CHECK(sum_of(why, entry_kind::lock, false).count == 0);
  CHECK(sum_of(why, entry_kind::allocation, true).count == 0);
  if (assay::test::small()) { return; }
  // Of four threads three wait while one submits.
  CHECK(sum_of(why, entry_kind::lock, true).ns > 0);
  CHECK_THAT(printed(why), contains("wait for the mutex"));
  CHECK(why.variant.submission->lock_wait.mean > 10 * why.control.submission->lock_wait.mean);
}

TEST_CASE("What one fused kernel saves over three is bytes, by the counters of both") {
  if (assay::test::small()) { return; }
  auto const three =
      pipeline{workloads::null_cast<std::int32_t>{.rows = 1 << 26},
               mr::pool{.initial_bytes = std::size_t{4} << 30U}, submit::sequential{.items = 5}};
  auto const fused = three.with(workloads::null_cast_fused<std::int32_t>{.rows = 1 << 26});
  auto const why = explained(three, fused);
  INFO(printed(why));
  if (!traced(why) || !why.control.limits || !why.variant.limits) { return; }
  REQUIRE(why.kernels.size() == 1);
  auto const& all = why.kernels[0];
  CHECK(all.name.empty());
  CHECK(all.by_memory);
  CHECK(all.delta_ns() < 0);
  REQUIRE(!all.causes.empty());
  auto bytes = 0.0;
  for (auto const& each : all.causes) {
    using trace::kernel_cause;
    bytes += each.what == kernel_cause::l2_bytes || each.what == kernel_cause::l2_misses ||
                     each.what == kernel_cause::dram_bytes
                 ? each.ns
                 : 0;
  }
  CHECK(bytes < 0.8 * all.delta_ns());  // at least that much of what it is less
  CHECK(std::abs(all.unexplained_ns) < 0.25 * std::abs(all.delta_ns()));
  CHECK_THAT(printed(why), contains("Kernels of one side only, together -"));
}

TEST_CASE("A comparison gives the time that is accounted for") {
  if (assay::test::small()) { return; }  // it takes its time, and runs what the others do
  measure::options quick;
  quick.max_epochs = 12;
  quick.profiled_batches = 1;
  auto const variant = control.with(mr::async{});
  auto const found = compare(control, variant, quick);
  REQUIRE(found.failure.empty());
  auto const why = explain(control, variant, found, {.batches = 1, .count = false});
  INFO(printed(why));
  if (!traced(why)) { return; }
  CHECK(why.changes.difference_ns == why.time.ns);
  CHECK(why.control.seconds == found.variants[0].on(measure::clock::wall).median);
  CHECK(!why.control.counters);
  CHECK(why.control.label == "mr::pool");
}

TEST_CASE("Two pipelines that are the same differ in little, and it says that it may be nothing") {
  if (assay::test::small()) { return; }
  auto found = compare(control, control.with(mr::async{}), {.max_epochs = 12});
  found.variants[1].axes = control.axes();
  found.findings.resize(1);
  found.findings[0].effect = {1.001, 0.99, 1.01};
  auto const why = explain(control, control, found, {.count = false});
  if (!traced(why)) { return; }
  CHECK(why.changes.pairs == 12);
  CHECK(why.changes.confidence > 0.9);
  for (auto const& each : why.changes.changes) {
    CHECK(each.delta.low <= each.delta_ns());
    CHECK(each.delta_ns() <= each.delta.high);
  }
  CHECK_THAT(printed(why), contains("not distinguishable from zero"));
  CHECK_THAT(printed(why), contains("That may be none at all"));
  CHECK(why.control.trace.kernels.size() == why.variant.trace.kernels.size());
}
