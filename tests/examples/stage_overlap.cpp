// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "support/stage_overlap.hpp"

using namespace assay;
using trace::overlap_of;

TEST_CASE("stages that follow each other do not overlap", "[trace]") {
  auto const found = overlap_of({{{{0, 10}}, {{10, 30}}, {{30, 60}}}});
  CHECK(found.extent_ns == 60);
  CHECK(found.busy_ns == std::array<std::int64_t, 3>{10, 20, 30});
  CHECK(found.at_once_ns == std::array<std::int64_t, 4>{0, 60, 0, 0});
  CHECK(found.fraction() == 0);
  CHECK(found.duplex_ns == 0);
}

TEST_CASE("two and three stages at once are told apart, and gaps are no overlap", "[trace]") {
  // in  [0,40)    [50,60)
  // run    [10,20)          [70,80)
  // out       [15,35)
  auto const found = overlap_of({{{{0, 40}, {50, 60}}, {{10, 20}, {70, 80}}, {{15, 35}}}});
  CHECK(found.extent_ns == 80);
  CHECK(found.at_once_ns == std::array<std::int64_t, 4>{20, 35, 20, 5});
  CHECK(found.duplex_ns == 20);
  CHECK(found.duplex_share() == Approx(0.25));
  CHECK(found.fraction() == Approx(25.0 / 60));
}

TEST_CASE("a stage's own intervals may overlap, as several streams queue for one engine",
          "[trace]") {
  auto const found = overlap_of({{{{0, 10}, {0, 20}, {5, 30}}, {}, {{0, 30}}}});
  CHECK(found.busy_ns == std::array<std::int64_t, 3>{30, 0, 30});
  CHECK(found.at_once_ns == std::array<std::int64_t, 4>{0, 0, 30, 0});
  CHECK(found.fraction() == 1);
}

TEST_CASE("an engine's copies begin where it is free, and move bytes after their overhead",
          "[trace]") {
  using spans = std::vector<trace::span>;
  // The second one's stream reaches it while the first is under way, and its event comes first.
  CHECK(trace::engine_spans({{2, 30}, {5, 20}}, 0) == spans{{5, 20}, {20, 30}});
  CHECK(trace::engine_spans({{2, 30}, {5, 20}, {50, 60}}, 3) == spans{{8, 20}, {23, 30}, {53, 60}});
  CHECK(trace::engine_spans({{0, 2}, {1, 4}}, 3) == spans{{2, 2}, {4, 4}});  // nothing is left
  CHECK(trace::engine_spans({}, 3).empty());
}

TEST_CASE("nothing has no overlap", "[trace]") {
  auto const found = overlap_of({});
  CHECK(found == trace::stage_overlap{});
  CHECK(found.fraction() == 0);
  CHECK(found.duplex_share() == 0);
}

TEST_CASE("the stages of a trace are its kernels and its copies over the link", "[trace]") {
  trace::model of;
  auto const kernel = [&](std::int32_t device, trace::span when) {
    of.kernels.emplace_back().when = when;
    of.kernels.back().where.device = device;
  };
  auto const copy = [&](std::int32_t device, trace::copy_kind kind, trace::span when) {
    of.copies.emplace_back().when = when;
    of.copies.back().where.device = device;
    of.copies.back().kind = kind;
  };
  kernel(0, {10, 20});
  kernel(1, {0, 100});
  copy(0, trace::copy_kind::host_to_device, {0, 15});
  copy(0, trace::copy_kind::device_to_host, {18, 30});
  copy(0, trace::copy_kind::device_to_device, {0, 100});
  copy(1, trace::copy_kind::host_to_device, {0, 100});
  CHECK(trace::stages_of(of, 0) == trace::stage_spans{{{{0, 15}}, {{10, 20}}, {{18, 30}}}});
}
