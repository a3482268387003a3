// assay-test-alone: it tells times apart, which others would make as they like

// SPDX-License-Identifier: Apache-2.0
/// @file
/// Comparisons of pipelines: labels, axes, shared buffer sets, profiles, verdicts.

#include "catch.hpp"

#include <assay/measure/compare_pipelines.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/array_workload.hpp>

#include <atomic>
#include <chrono>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace assay;

/// Spins for a while, takes a temporary, and remembers where its buffer sets were made.
struct spinning {
  double microseconds = 50;
  bool wrong = false;
  static constexpr std::string_view name = "spinning";
  std::string describe() const { return "spinning{" + std::to_string(microseconds) + "}"; }
  bool operator==(spinning const&) const = default;

  inline static std::atomic<int> prepared{0};

  struct state {
    std::vector<int> outputs;
  };
  template <host_lane Lane>
  state prepare(Lane&, int lanes) const {
    ++prepared;
    return {std::vector<int>(static_cast<std::size_t>(lanes), 0)};
  }
  template <host_lane Lane>
  void enqueue(Lane& where, state& all) const {
    auto* const scratch = where.memory.allocate(where.stream, 4096, 64);
    auto const end =
        std::chrono::steady_clock::now() + std::chrono::duration<double, std::micro>(microseconds);
    while (std::chrono::steady_clock::now() < end) {}
    all.outputs[static_cast<std::size_t>(where.index)] = 1;
    where.memory.deallocate(where.stream, scratch, 4096, 64);
  }
  void poison(state& all) const { std::ranges::fill(all.outputs, 0); }
  mismatch verify(state const& all) const {
    if (wrong) { return "the result is wrong on purpose"; }
    for (int const each : all.outputs) {
      if (each != 1) { return "an output was not written"; }
    }
    return {};
  }
  traffic item_traffic() const { return {100, 20, 3}; }
};

/// Adds one to each element in place.
struct incrementing {
  static constexpr std::string_view name = "incrementing";
  std::uint64_t seed = 1;
  bool operator==(incrementing const&) const = default;
  traffic item_traffic() const { return {}; }
  std::span<int> arrays(setup& make) const {
    auto const all = make.inout<int>(1000, {0, 9});
    make.expect(all, [all](std::size_t i) { return all.seeded(i) + 1; });
    return {all.data(), all.size()};
  }
};
template <host_lane Lane>
void run_on(Lane&, incrementing const&, std::span<int> all) {
  for (auto& each : all) { ++each; }
}

measure::options quick() {
  measure::options chosen;
  chosen.cell_seconds = 1e-4;
  chosen.warm_up_seconds = 0.01;
  chosen.profiled_batches = 2;
  return chosen;
}

measure::finding const& primary(measure::comparison const& of) { return of.findings.front(); }

/// Repeats `compare_once` up to three times until no guard objects. The hidden control objects to
/// one of a hundred sound comparisons, and to more on a loaded machine.
template <class Compare>
measure::comparison unopposed(Compare const& compare_once) {
  auto found = compare_once();
  for (int more = 2; more > 0 && primary(found).outcome == measure::verdict::unproven; --more) {
    WARN("compared again: " << primary(found).reason);
    found = compare_once();
  }
  return found;
}

}  // namespace

TEST_CASE("a variant that does four times the work is slower", "[compare]") {
  pipeline const control{spinning{}, on::host{}, submit::sequential{.items = 2}};
  auto const found = unopposed(
      [&] { return compare(control, control.with(spinning{.microseconds = 200}), quick()); });
  REQUIRE(found.failure == "");
  CHECK(primary(found).outcome == measure::verdict::slower);
  CHECK(primary(found).effect.low > 2);
  CHECK(found.changed == "workload");
  REQUIRE(found.variants.size() == 2);
  CHECK(found.variants[0].bytes == 240);
  CHECK(found.variants[0].flops == 6);
  CHECK(found.variants[1].label == "spinning{200.000000}");
  CHECK(found.where.host_threads > 0);
  REQUIRE(found.ceilings.size() == 1);
  CHECK(found.ceilings[0].per_second > 1e8);
}

TEST_CASE("each variant is profiled in batches of its own", "[compare]") {
  pipeline const control{spinning{}, on::host{}, submit::serialized{.threads = 3, .items = 30}};
  auto const found =
      compare(control, control.with(submit::concurrent{.threads = 3, .items = 30}), quick());
  REQUIRE(found.failure == "");
  for (auto const& each : found.variants) {
    REQUIRE(each.submission.has_value());
    CHECK(each.submission->items == 180);
    CHECK(each.submission->total.p50 >= 50e3);
    CHECK(each.submission->allocation.p50 > 0);
    CHECK(each.submission->allocation.p50 < 50e3);
    CHECK(each.submission->launching.mean >= 49e3);
    REQUIRE(each.memory.has_value());
    CHECK(each.memory->allocations == 90);
    CHECK(each.memory->deallocations == 90);
    CHECK(each.memory->bytes == 90 * 4096);
    CHECK(each.memory->peak_bytes >= 4096);
    CHECK(each.memory->peak_bytes <= 3 * 4096);
  }
  CHECK(found.variants[0].memory->peak_bytes == 4096);  // one item at a time under the mutex
  CHECK(found.variants[0].submission->lock_wait.max >
        0);  // at least the cost of taking a free mutex
  CHECK(found.variants[1].submission->lock_wait.max == 0);
  auto none = quick();
  none.profiled_batches = 0;
  CHECK_FALSE(compare(control, control, none).variants[0].submission.has_value());
}

TEST_CASE("variants of equal work share their buffer sets, and the second instance has its own",
          "[compare]") {
  pipeline const control{spinning{.microseconds = 5}, on::host{},
                         submit::serialized{.threads = 2, .items = 3}};
  auto chosen = quick();
  chosen.profiled_batches = 0;
  spinning::prepared = 0;
  auto const same =
      compare(control, control.with(submit::concurrent{.threads = 2, .items = 3}), chosen);
  CHECK(spinning::prepared == 2 * 2 * same.epochs);
  spinning::prepared = 0;
  auto const other = compare(control, control.with(spinning{.microseconds = 20}), chosen);
  CHECK(spinning::prepared == 2 * 3 * other.epochs);
}

TEST_CASE("a wrong answer is never timed", "[compare]") {
  pipeline const control{spinning{}, on::host{}};
  auto const found = compare(control, control.with(spinning{.wrong = true}), quick());
  CHECK(primary(found).outcome == measure::verdict::wrong_answer);
  CHECK_THAT(primary(found).reason, assay::test::contains("wrong on purpose"));
  CHECK(found.variants[0].cells[0].empty());
  CHECK_FALSE(found.variants[0].submission.has_value());
}

TEST_CASE("items that change their input are timed one to a lane, or not at all", "[compare]") {
  auto const with = [](int items) {
    return pipeline{incrementing{}, on::host{}, submit::sequential{.items = items}};
  };
  auto const several = compare(with(3), with(3), quick());
  CHECK(primary(several).outcome == measure::verdict::unproven);
  CHECK_THAT(primary(several).reason, assay::test::contains("incrementing changes its input") &&
                                          assay::test::contains("3 items on 1 lanes") &&
                                          assay::test::contains(".items = 1"));
  auto const one = compare(with(1), with(1), quick());
  CHECK(one.failure == "");
}

TEST_CASE("two changed axes are confounded", "[compare]") {
  pipeline const control{spinning{.microseconds = 5}, on::host{}};
  auto const found =
      compare(control, control.with(spinning{.microseconds = 6}).with(on::host{2}), quick());
  CHECK_THAT(found.changed, assay::test::contains("confounded"));
}

TEST_CASE("a factorial names its variants and finds all simple effects", "[compare]") {
  pipeline const control{spinning{.microseconds = 20}, on::host{}};
  // Other work on this machine may hide an effect in one comparison, and not in each of five.
  std::set<std::string> slower;
  for (int i = 0; i < 5 && slower.size() < 4; ++i) {
    auto const found =
        factorial(control, levels{spinning{.microseconds = 20}, spinning{.microseconds = 40}},
                  levels{submit::sequential{.items = 2}, submit::sequential{.items = 4}}, quick());
    REQUIRE(found.failure == "");
    REQUIRE(found.variants.size() == 4);
    std::set<std::string> labels;
    for (auto const& each : found.variants) { labels.insert(each.label); }
    CHECK(labels.size() == 4);
    int simple_effects = 0;
    for (auto const& each : found.findings) {
      CHECK(each.what != measure::contrast::kind::main_effect);
      if (each.on != measure::clock::wall || each.what != measure::contrast::kind::difference) {
        continue;
      }
      ++simple_effects;
      bool const is_slower = each.outcome == measure::verdict::slower && each.effect.low > 1.2;
      if (is_slower) { slower.insert(each.contrast_name); }
    }
    CHECK(simple_effects == 4);
  }
  CHECK(slower.size() == 4);
}
