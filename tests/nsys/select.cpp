// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"

#include <assay/nsys/select.hpp>

#include <vector>

using namespace assay::trace;
using namespace assay::test::golden;

namespace {

/// Two threads that work in the same time: each launches a kernel inside "step" and one after it;
/// the main thread also copies inside, and launches a graph of two nodes.
model two_threads() {
  builder b;
  b.range("step", {0, 1000});
  b.range("inner", {100, 400});
  b.range("step", {0, 1000}, second_thread, "other");
  b.launch("gemm", {110, 120}, {200, 300});                                       // call 0
  b.launch_copy(copy_kind::host_to_device, 64, {500, 510}, {600, 700}, {0, 13});  // call 1
  auto const graph = b.call("cudaGraphLaunch_v10000", {800, 850}).correlation;    // call 2
  b.node("node a", {900, 950}, graph, 1);
  b.node("node b", {950, 1200}, graph, 2);
  b.launch("softmax", {1100, 1110}, {1300, 1400});                      // call 3
  b.launch("gemm", {120, 130}, {220, 320}, {1, 9}, second_thread);      // call 4
  b.launch("gemm", {1500, 1510}, {1600, 1700}, {1, 9}, second_thread);  // call 5
  b.call("cudaStreamSynchronize_v3020", {900, 990});                    // call 6
  b.kernel("nobody asked", {210, 220});
  return b.trace;
}

using rows = std::vector<row_index>;

/// The numbers that rows of a part have in the whole.
template <class Row>
rows numbers(std::vector<Row> const& part, std::vector<Row> const& whole) {
  rows found;
  for (row_index row = 0; row < whole.size() && found.size() < part.size(); ++row) {
    if (whole[row] == part[found.size()]) { found.push_back(row); }
  }
  return found;
}
rows kernels(view const& of) { return numbers(of.of().kernels, of.whole().kernels); }
rows copies(view const& of) { return numbers(of.of().copies, of.whole().copies); }
rows calls(view const& of) { return numbers(of.of().calls, of.whole().calls); }
rows ranges(view const& of) { return numbers(of.of().ranges, of.whole().ranges); }

}  // namespace

TEST_CASE("an empty filter leaves everything") {
  auto const trace = everything();
  CHECK(&select(trace, {}).of() == &trace);
}

TEST_CASE("a range keeps what its thread launched inside, wherever and whenever that ran") {
  auto const trace = two_threads();
  auto const inner = select(trace, {.range = "inner"});
  CHECK(kernels(inner) == rows{0});
  CHECK(copies(inner).empty());
  CHECK(calls(inner) == rows{0});
  CHECK(ranges(inner) == rows{1});
  auto const step = select(trace, {.range = "step"});
  CHECK(kernels(step) == rows{0, 1, 2, 4});  // both nodes of the graph, and of both threads
  CHECK(copies(step) == rows{0});
  CHECK(calls(step) == rows{0, 1, 2, 4, 6});
  CHECK(kernels(select(trace, {.range = "step", .domain = "other"})) == rows{4});
  CHECK(kernels(select(trace, {.range = "step", .domain = ""})) == rows{0, 1, 2});
  CHECK(kernels(select(trace, {.domain = "o*"})) == rows{4});
  CHECK(kernels(select(trace, {.range = "ste"})).empty());
  CHECK(kernels(select(trace, {.range = "ste*|inner"})) == rows{0, 1, 2, 4});
}

TEST_CASE("a kernel stays in view of a range that only overlaps others, whichever holds its call") {
  builder b;
  b.range("r", {0, 100});
  b.range("r", {10, 20});  // inside the first: what follows it is still in the first
  b.range("r", {50, 200});
  b.launch("k", {30, 40}, {1000, 1001});
  b.launch("k", {90, 150}, {1001, 1002});
  b.launch("k", {190, 210}, {1002, 1003});  // its call ends outside
  CHECK(kernels(select(b.trace, {.range = "r"})) == rows{0, 1});
}

TEST_CASE("device, stream and kernel name narrow device work and the calls that launched it") {
  auto const trace = two_threads();
  auto const second = select(trace, {.device = 1});
  CHECK(kernels(second) == rows{4, 5});
  CHECK(copies(second).empty());
  CHECK(calls(second) == rows{4, 5, 6});  // the synchronisation launched nothing, so it stays
  auto const stream = select(trace, {.stream = 13});
  CHECK(kernels(stream).empty());
  CHECK(copies(stream) == rows{0});
  auto const gemm = select(trace, {.kernel = "ge?m|nothing"});
  CHECK(kernels(gemm) == rows{0, 4, 5});
  CHECK(copies(gemm).empty());
  CHECK(kernels(select(trace, {.range = "step", .device = 0, .kernel = "gemm"})) == rows{0});
}

TEST_CASE("a part is a trace of its own, with the facts of the whole") {
  auto const trace = everything();
  auto const part = select(trace, {.device = 1}).of();
  CHECK(part.kernels.size() == 1);
  CHECK(part.memory.size() == 1);
  CHECK((part.window == trace.window && part.epoch_ns == trace.epoch_ns));
  CHECK((part.devices == trace.devices && part.threads == trace.threads));
  CHECK((part.notes == trace.notes && part.lost == trace.lost && part.source == trace.source));
  CHECK(select(trace, {.range = "forward"}).of().overheads.size() == 0);
}

TEST_CASE("page faults go by their device, and a filter by range takes none") {
  builder b;
  b.range("r", {0, 100});
  b.trace.host_faults = {{5, 100, 1, 2}};
  b.trace.device_faults = {{5, 100, 0, 1, 3}, {6, 100, 1, 1, 4}};
  auto const on_one = select(b.trace, {.device = 1});
  CHECK(on_one.of().host_faults.size() == 1);
  REQUIRE(on_one.of().device_faults.size() == 1);
  CHECK(on_one.of().device_faults[0].count == 4);
  auto const in_range = select(b.trace, {.range = "r"});
  CHECK(in_range.of().host_faults.empty());
  CHECK(in_range.of().device_faults.empty());
}

TEST_CASE("each instance of a range is a part, in order of begin over threads, up to a number") {
  builder b;
  b.range("r", {0, 100});
  b.range("r", {200, 300}, second_thread);
  b.range("r", {400, 500});
  b.range("inner", {410, 420});
  b.launch("k", {10, 20}, {1000, 1010});
  b.launch("k", {210, 220}, {1100, 1110}, {}, second_thread);
  b.launch("k", {230, 240}, {1200, 1210}, {}, second_thread);
  b.launch("k", {250, 260}, {1300, 1310});  // of the thread that has no range then
  b.launch("k", {410, 420}, {1400, 1410});
  auto const all = instances(b.trace, {.range = "r"}, 9);
  REQUIRE(all.size() == 3);
  CHECK(kernels(all[0]) == rows{0});
  CHECK(kernels(all[1]) == rows{1, 2});
  CHECK(kernels(all[2]) == rows{4});
  CHECK(calls(all[1]) == rows{1, 2});
  CHECK(ranges(all[2]) == rows{2, 3});
  CHECK(instances(b.trace, {.range = "r"}, 2).size() == 2);
  CHECK(instances(b.trace, {.range = "none"}, 2).empty());
}
