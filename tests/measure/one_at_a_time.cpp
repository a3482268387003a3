// assay-test-alone: it tells times apart, which others would make as they like

// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variants that do not fit into memory together: callables and pipelines that hold memory of one
/// limited resource.

#include "catch.hpp"
#include "memory/limited.hpp"

#include <assay/compare.hpp>
#include <assay/core/units.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/report/short_text.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>

namespace {

using namespace assay;
using namespace assay::literals;
using assay::test::contains;

using budget = resource_of<test::limited<mr::heap>, on::host>;

budget budget_of(std::size_t bytes) { return test::limited{mr::heap{}, bytes}.open(on::host{}); }

/// A block that goes back to its resource with the last copy of the pointer.
template <class Resource>
std::shared_ptr<void> hold(Resource memory, std::size_t bytes) {
  host_stream const none{};
  return {memory.allocate(none, bytes),
          [memory, bytes, none](void* block) mutable { memory.deallocate(none, block, bytes); }};
}

void spin(double microseconds) {
  auto const end =
      std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(microseconds);
  while (std::chrono::steady_clock::now() < end) {}
}

/// Holds 2 MiB for each buffer set, and takes a temporary for each item.
struct holding {
  double microseconds = 100;
  std::size_t temporary = 64;
  static constexpr std::string_view name = "holding";
  std::string describe() const { return "holding{" + std::to_string(microseconds) + "}"; }
  bool operator==(holding const&) const = default;

  struct state {
    std::shared_ptr<void> held;
    int written = 0;
  };
  template <host_lane Lane>
  state prepare(Lane& where, int) const {
    return {hold(where.memory, 2_MiB)};
  }
  template <host_lane Lane>
  void enqueue(Lane& where, state& all) const {
    auto const scratch = hold(where.memory, temporary);
    spin(microseconds);
    all.written = 1;
  }
  void poison(state& all) const { all.written = 0; }
  mismatch verify(state const& all) const {
    return all.written == 1 ? mismatch{} : "the output was not written";
  }
  traffic item_traffic() const { return {100, 20, 3}; }
};

/// The same as a callable.
auto holding_callable(budget const& from, double microseconds) {
  return [=](setup& make) {
    auto const held = hold(from, 2_MiB);
    auto const written = make.output<int>(1);
    make.moves(120);
    make.expect(written, [](std::size_t) { return 1; });
    return [=] {
      (void)held;
      spin(microseconds);
      written.data()[0] = 1;
    };
  };
}

submit::sequential const one_item{.items = 1};

options quick() {
  options chosen;
  chosen.cell_seconds = 1e-4;
  chosen.warm_up_seconds = 0.01;
  chosen.profiled_batches = 1;
  return chosen;
}

/// A comparison of 100 us with 300 us, each of which holds 4 MiB in its two buffer sets.
using compare_within = comparison (*)(budget const&);
comparison callables(budget const& all) {
  return compare("short", holding_callable(all, 100), "long", holding_callable(all, 300), quick());
}
comparison pipelines(budget const& all) {
  pipeline const control{holding{}, on::host{}, all, one_item};
  return compare(control, control.with(holding{.microseconds = 300}), quick());
}
comparison pipelines_with_temporaries(budget const& all) {
  pipeline const control{holding{.temporary = 2_MiB}, on::host{}, all, one_item};
  return compare(control, control.with(holding{.microseconds = 300, .temporary = 2_MiB}), quick());
}

void check_result(comparison const& found) {
  INFO(report::short_text(found));
  REQUIRE(found.failure == "");
  CHECK(found.findings.front().effect.ratio > 1.3);  // on a busy machine
  CHECK(found.hidden_control);
  CHECK(found.variants[1].bytes == 120);
}

}  // namespace

TEST_CASE("variants that fit into memory together live together", "[compare]") {
  for (compare_within const compared : {callables, pipelines, pipelines_with_temporaries}) {
    auto const all = budget_of(14_MiB + 64);
    auto const found = compared(all);
    check_result(found);
    CHECK(found.caveats.empty());
    CHECK(all.live_bytes() == 0);
  }
}

TEST_CASE("variants that do not fit into memory together run one at a time", "[compare]") {
  struct expected {
    compare_within compared;
    std::size_t bytes;
    std::string step;
  };
  for (auto const& row :
       {expected{callables, 4_MiB, "building"}, expected{callables, 11_MiB, "building"},
        expected{pipelines, 5_MiB, "building"},
        expected{pipelines_with_temporaries, 13_MiB, "verifying"}}) {
    auto const all = budget_of(row.bytes);
    auto const found = row.compared(all);
    check_result(found);
    REQUIRE(found.caveats.size() == 1);
    CHECK_THAT(found.caveats.front(), contains("do not fit into memory together") &&
                                          contains("from epoch 1 on") && contains(row.step) &&
                                          contains("test::limited: no room for 2 MiB"));
    CHECK(all.live_bytes() == 0);
  }
}

TEST_CASE("a variant that does not fit into memory alone is named with the remedy", "[compare]") {
  for (compare_within const compared : {callables, pipelines, pipelines_with_temporaries}) {
    auto const all = budget_of(3_MiB);
    auto const found = compared(all);
    CHECK(found.findings.front().outcome == verdict::unproven);
    CHECK(found.cells.empty());
    CHECK_THAT(found.failure, contains("variant \"") && contains("epoch 1, building") &&
                                  contains("2 MiB of max_bytes 3 MiB are live") &&
                                  contains("make this variant smaller"));
    CHECK(all.live_bytes() == 0);
  }
}

namespace {

/// Verification runs out of memory where the timing of its epoch is over.
struct fails_late final : measure::subject {
  bool timed = false;
  void warm(int, int) override {}
  measure::cell time(int, int) override {
    timed = true;
    measure::cell made;
    made[measure::clock::wall] = 1e-3;
    return made;
  }
  std::optional<std::string> verify(int) override {
    if (timed) { throw std::bad_alloc{}; }
    return {};
  }
};

}  // namespace

TEST_CASE("memory that runs out after the last timing ends the comparison with the remedy",
          "[compare]") {
  auto const build = [](measure::epoch const&) -> std::unique_ptr<measure::subject> {
    return std::make_unique<fails_late>();
  };
  auto const found = measure::run({{"a", {}, build}, {"b", {}, build}},
                                  measure::against_first({"a", "b"}), quick());
  CHECK(found.findings.front().outcome == verdict::unproven);
  CHECK(found.caveats.empty());
  CHECK_THAT(found.failure, contains("verifying: std::bad_alloc") &&
                                contains("could not be verified: make the variants smaller"));
}
