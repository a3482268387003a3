// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/cli/variants.hpp>
#include <assay/workload/null_cast.hpp>

#include <sstream>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

auto const control =
    pipeline{workloads::null_cast<int>{.rows = 100}, on::host{1}, submit::sequential{.items = 1}};
auto const fused = control.with(workloads::null_cast_fused<int>{.rows = 100});

/// A heap that is exhausted once `*exhausted`.
struct finite_heap {
  static constexpr std::string_view name = "finite_heap";
  bool const* exhausted = nullptr;
  mr::heap_resource open(on::host) const {
    if (*exhausted) { throw mr::out_of_memory("the heap is exhausted"); }
    return {};
  }
  bool operator==(finite_heap const&) const = default;
};

/// Few and short epochs.
measure::options quick() {
  measure::options chosen;
  chosen.max_epochs = 8;
  chosen.cell_seconds = 1e-6;
  chosen.warm_up_seconds = 1e-6;
  return chosen;
}

}  // namespace

TEST_CASE("variants are listed by name, and nothing is compared") {
  cli::options given;
  given.list = true;
  std::ostringstream out;
  CHECK_FALSE(cli::list_or_compare(given, cli::variants_of(control, fused), {}, out));
  CHECK(out.str() == "null_cast<int32>\nnull_cast_fused<int32>\n");
}

TEST_CASE("each variant is compared with the first, and the notes are in the report") {
  cli::variants all;
  all.add(control, "a");
  all.add(fused, "b");
  all.add(fused, "c");
  all.notes = {"d was left out"};
  auto const found = cli::list_or_compare({}, all, quick());
  REQUIRE(found);
  CHECK(found->failure == "");
  CHECK(found->variants.size() == 3);
  CHECK(found->effect("a", "c").ratio > 0);
  CHECK(found->notes.back() == "d was left out");

  all.compare_by([&](measure::options const& chosen) {
    return all.compare({{"c against b", measure::contrast::kind::difference, {0, -1, 1}}}, chosen);
  });
  CHECK(all.compare(quick()).effect("b", "c").ratio > 0);
}

TEST_CASE("one variant runs alone, as often as it is asked for") {
  cli::variants all;
  all.add(control, "a");
  std::ostringstream out;
  CHECK(cli::run_alone(all, "a", 3, out).label == "a");
  CHECK_THAT(out.str(), contains("a: 3 batches, "));
  CHECK_THAT(message_of([&] { cli::run_alone(all, "x", 3, out); }),
             contains("--variant: unknown variant 'x': choose one of a"));
}

TEST_CASE("profiles that fail, or are cancelled, leave the comparison as it is") {
  bool profiling = false;
  bool exhausted = false;
  cli::variants all;
  all.add(control.with(finite_heap{&exhausted}), "a");
  all.add(fused.with(finite_heap{&exhausted}), "b");
  auto chosen = quick();
  chosen.profiled_batches = 1;
  chosen.progress = [&](int, int, std::string_view what) {
    profiling = exhausted = what.starts_with("profiling");
  };
  auto const failed = all.compare(chosen);
  CHECK(failed.failure == "");
  CHECK(failed.effect("a", "b").ratio > 0);
  REQUIRE(failed.notes.size() >= 2);
  CHECK(failed.notes.back() == "b was not profiled: the heap is exhausted");

  exhausted = profiling = false;
  chosen.progress = [&](int, int, std::string_view what) {
    profiling = what.starts_with("profiling");
  };
  chosen.cancelled = [&] { return profiling; };
  auto const cancelled = all.compare(chosen);
  CHECK(cancelled.failure == "");
  CHECK(cancelled.variants[0].submission);
  CHECK_FALSE(cancelled.variants[1].submission);
  CHECK(cancelled.notes.back() == "cancelled before b was profiled");
}
