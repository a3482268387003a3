// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "trace/golden.hpp"

#include <assay/nsys/what_if.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>

using namespace assay::test::golden;

namespace {

work_bounds bounds(builder const& of) { return bounds_of(view{of.trace}).value(); }

}  // namespace

TEST_CASE("without waits for the host, a stream runs back to back") {
  builder b;
  b.launch("a", {0, 10}, {20, 120});
  b.launch("b", {200, 210}, {220, 300});
  b.launch("c", {205, 215}, {320, 330}, {0, 9});
  auto const found = bounds(b);
  CHECK(found.recorded_ns == 310);
  CHECK(found.without_host_ns == 180);  // stream 7; stream 9 runs beside it
  CHECK(found.copies_hidden_ns == 310);
  CHECK(found.both_ns == 180);
}

TEST_CASE("a wait of the host orders streams, and a wait for nothing does not") {
  for (bool const waits : {true, false}) {
    builder b;
    b.launch("a", {0, 10}, {20, 120});
    auto const call = b.call("cudaDeviceSynchronize", {20, 130}).correlation;
    if (waits) { b.sync(sync_kind::context, {20, 130}, {0, 0, 1}, call); }
    b.launch("b", {200, 210}, {220, 300}, {0, 9});
    CHECK(bounds(b).without_host_ns == (waits ? 180 : 100));
  }
  builder other;  // waits for another stream than that of the kernel before
  other.launch("a", {0, 10}, {20, 120});
  other.sync(sync_kind::stream, {20, 30}, {0, 8, 1},
             other.call("cudaStreamSynchronize", {20, 30}).correlation);
  other.launch("b", {200, 210}, {220, 300}, {0, 9});
  CHECK(bounds(other).without_host_ns == 100);
}

TEST_CASE("kernels of one stream that overlap count their common time once") {
  builder b;
  b.launch("a", {0, 1}, {10, 110});
  b.launch("b", {1, 2}, {90, 190});
  CHECK(bounds(b).without_host_ns == 180);
}

TEST_CASE("hidden copies take no time but that of their engine") {
  builder b;
  b.launch_copy(copy_kind::host_to_device, 1000, {0, 10}, {20, 120});
  b.launch("a", {0, 10}, {120, 170});
  auto found = bounds(b);
  CHECK(found.recorded_ns == 150);
  CHECK(found.copies_hidden_ns == 100);  // the engine takes longer than the kernel
  CHECK(found.both_ns == 100);
  b.launch("b", {300, 310}, {400, 500});
  found = bounds(b);
  CHECK(found.recorded_ns == 480);
  CHECK(found.copies_hidden_ns == 380);
  CHECK(found.without_host_ns == 250);
  CHECK(found.both_ns == 150);
}

TEST_CASE("no operations, no bounds; instances have a row for each question") {
  model const none;
  CHECK(!bounds_of(none));
  CHECK(what_if({none}).rows() == 0);
  builder b, c;
  b.launch("a", {0, 10}, {20, 120});
  c.launch("a", {0, 10}, {20, 320});
  auto const made = what_if({b.trace, c.trace});
  REQUIRE(made.rows() == 4);
  CHECK(made.integer(0, 0) == 2);
  CHECK(made.number(1, 1) == 200);
}

// The truth is a schedule that launches everything at once: a graph of the same operations, in the
// same order of streams, on a device with room for all. A bound must never be longer.
TEST_CASE("no schedule without launches is shorter than the bound") {
  std::mt19937_64 random{11};  // fixed: what is constructed holds for each seed
  for (int program = 0; program < 200; ++program) {
    builder b;
    std::int64_t host = 0;
    std::array<std::int64_t, 3> recorded{}, graph{};
    for (int i = 0; i < 30; ++i) {
      auto const s = random() % 3;
      auto const length = 1 + static_cast<std::int64_t>(random() % 50);
      host += static_cast<std::int64_t>(random() % 40);
      auto const begin = std::max(recorded[s], host + 5);
      b.launch("k" + std::to_string(i), {host, host + 3}, {begin, begin + length},
               {0, static_cast<std::uint32_t>(s), 1});
      recorded[s] = begin + length;
      graph[s] += length;
    }
    auto const truth = *std::ranges::max_element(graph);
    auto const found = bounds(b);
    CHECK(found.without_host_ns <= truth);
    CHECK(found.without_host_ns == truth);  // nothing else delays these programs
    CHECK(found.without_host_ns <= found.recorded_ns);
  }
}
