// SPDX-License-Identifier: Apache-2.0
/// @file
/// Comparisons on a device: a known difference is found, equal pipelines are not told apart, and
/// the report has what only a device can tell.

#include "catch.hpp"
#include "memory/limited.hpp"

#include <assay/core/units.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/options.hpp>
#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>
#include <assay/pool/pool.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/vector_add.cuh>

#include <cmath>

namespace {

using namespace assay;
using namespace assay::literals;

/// Of each thread.
int items() { return test::small() ? 1 : 10; }

std::int64_t rows() { return test::small() ? 20'000 : 1'000'000; }

measure::options quick() {
  measure::options chosen;
  chosen.clock = measure::clock::gpu;
  if (test::small()) {
    chosen.cell_seconds = 1e-6;
    chosen.warm_up_seconds = 1e-3;
    chosen.max_epochs = 8;
  }
  chosen.profiled_batches = 2;
  return chosen;
}

}  // namespace

TEST_CASE("one pass is faster than three, and the report says on what", "[compare]") {
  pipeline const control{workloads::null_cast<std::int32_t>{.rows = rows()}, mr::pool{64_MiB},
                         submit::concurrent{.threads = 2, .items = items()}};
  auto const found = compare(
      control, control.with(workloads::null_cast_fused<std::int32_t>{.rows = rows()}), quick());
  REQUIRE(found.failure == "");
  CHECK(found.changed == "workload");
  if (!test::small()) {
    CHECK(found.findings.front().outcome == measure::verdict::faster);
    CHECK(found.findings.front().effect.high < 0.9);
  }
  CHECK_THAT(found.where.device, assay::test::contains("compute capability"));
  CHECK(found.where.toolkit != "");
  REQUIRE(found.ceilings.size() == 1);
  CHECK(found.ceilings[0].per_second > 1e9);
  REQUIRE(found.variants.size() == 2);
  CHECK(found.variants[0].bytes == 2 * items() * 22.625 * static_cast<double>(rows()));
  CHECK(found.variants[1].bytes == 2 * items() * 12.125 * static_cast<double>(rows()));
  for (auto const& each : found.variants) {
    for (auto const clock : measure::all_clocks) { CHECK(each.on(clock).median > 0); }
    CHECK((test::small() ||
           each.on(measure::clock::gpu).median <= each.on(measure::clock::wall).median * 1.5));
    REQUIRE(each.submission.has_value());
    CHECK(each.submission->items == 4U * static_cast<unsigned>(items()));
  }
  CHECK(found.variants[0].memory->allocations == static_cast<std::uint64_t>(6 * items()));
  CHECK(found.variants[0].memory->upstream_calls == 0U);
  CHECK(found.variants[1].memory->allocations == 0);
}

TEST_CASE("equal pipelines are not told apart", "[compare]") {
  if (test::small()) { return; }
  pipeline const control{workloads::null_cast<std::int32_t>{.rows = rows()}, mr::pool{64_MiB},
                         submit::concurrent{.threads = 2, .items = items()}};
  auto chosen = quick();
  chosen.margin = 0.2;
  chosen.profiled_batches = 0;
  int alarms = 0;
  for (int i = 0; i < 3; ++i) {
    auto const found = compare(control, control, chosen);
    REQUIRE(found.failure == "");
    auto const& first = found.findings.front();
    alarms += first.exceeds_margin && (first.outcome == measure::verdict::faster ||
                                       first.outcome == measure::verdict::slower);
  }
  CHECK(alarms <= 1);  // two of three by chance: 0.75 % at a level of 5 %
}

TEST_CASE("a variant whose memory runs out ends the comparison with its reason", "[compare]") {
  pipeline const control{workloads::null_cast<std::int32_t>{.rows = rows()}, mr::async{},
                         submit::concurrent{.threads = 2, .items = items()}};
  auto const found = compare(control, control.with(test::limited{mr::async{}, 1024}), quick());
  CHECK(found.findings.front().outcome == measure::verdict::unproven);
  CHECK_THAT(found.failure, assay::test::contains("1024") || assay::test::contains("1 KiB") ||
                                assay::test::contains("memory"));
}

TEST_CASE("transfers that want other host memory do not share their arrays", "[compare]") {
  pipeline const control{workloads::vector_add<float>{.elements = rows()}, transfer::mapped{}};
  auto const pageable = control.with(transfer::pageable{});
  auto chosen = quick();
  chosen.profiled_batches = 0;
  if (test::small()) {
    CHECK(compare(control, pageable, chosen).failure == "");
    return;
  }
  chosen.max_epochs = 12;  // the first analysis of three contrasts
  auto const found = compare_all(chosen, control, pageable, control.with(transfer::pinned{}),
                                 control.with(no_transfer{}));
  CHECK(found.failure == "");
}
