// SPDX-License-Identifier: Apache-2.0
#include "golden.hpp"

#include <assay/nsys/reports_nvtx.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/select.hpp>
#include <assay/trace/view.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
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

TEST_CASE("operations of several tables come in order of their begin, whatever order rows have") {
  builder b;
  for (auto const at : {500, 100, 300}) {
    b.kernel("kernel", {at, at + 50});
    b.launch_copy(copy_kind::host_to_device, 1, {at, at + 1}, {at - 20, at});
  }
  view const all{b.trace};
  REQUIRE(all.operations().size() == 6);
  CHECK(std::ranges::is_sorted(all.operations()));
}

TEST_CASE("an index of a view is made once, copies of the view share it, a part has its own") {
  struct kernels {
    std::size_t count;
    explicit kernels(view const& of) : count{of.of().kernels.size()} {}
  };
  auto const of = two_threads();
  view const all{of};
  auto const& made = all.index<kernels>();
  CHECK(made.count == of.kernels.size());
  CHECK(&all.index<kernels>() == &made);
  CHECK(&view{all}.index<kernels>() == &made);
  CHECK(select(of, {.kernel = "nobody"}).index<kernels>().count == 1);
}

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

TEST_CASE("a whole graph counts only where none of its nodes are in view") {
  builder b;
  auto const known = b.call("cudaGraphLaunch_v10000", {0, 10}).correlation;
  auto const closed = b.call("cudaGraphLaunch_v10000", {10, 20}).correlation;
  b.node("node", {20, 30}, known, 5);
  b.whole_graph({20, 40}, {}, known);
  b.whole_graph({50, 60}, {}, closed);
  view const rows{b.trace};
  auto const& work = rows.operations();
  REQUIRE(work.size() == 2);
  CHECK(work[0].kind == operation_kind::kernel);
  CHECK((work[1].kind == operation_kind::graph && work[1].row == 1));
}

TEST_CASE("calls are found by process and correlation, that of the runtime before the driver's") {
  builder b;
  b.call("cuLaunchKernel", {12, 18}, main_thread, 5);
  b.call("cudaLaunchKernel_v7000", {10, 20}, main_thread, 5);
  b.call("poll", {0, 1}, main_thread, 7);
  b.call("cudaLaunchKernel_v7000", {10, 20}, {200, 1}, 5);
  call_index const calls{b.trace};
  CHECK(calls.find({.correlation = 5, .process = 100}) == 1);
  CHECK(calls.find({.correlation = 5, .process = 100}) == 1);
  CHECK(calls.find({.correlation = 5, .process = 200}) == 3);
  CHECK(calls.find({.correlation = 5, .process = 300}) == no_row);
  CHECK(calls.find({.correlation = 5}) == no_row);  // of two processes, nobody knows which
  CHECK(calls.find({.correlation = 7, .process = 100}) == no_row);
  CHECK(calls.find({.correlation = 0, .process = 100}) == no_row);
  b.trace.calls.pop_back();
  CHECK(call_index{b.trace}.find({.correlation = 5}) == 1);
}

TEST_CASE("a range's parent is the latest begun one that holds it, of any domain") {
  builder b;
  b.range("late", {11, 14});                    // 0: only in b
  b.range("a", {0, 10});                        // 1
  b.range("b", {5, 15}, main_thread, "other");  // 2: overlaps a, so no kin of it
  b.range("c", {6, 8});                         // 3: in both; b began later
  b.range("same", {6, 8});                      // 4: equal to c: inside it
  b.range("elsewhere", {6, 7}, second_thread);  // 5
  b.range("empty", {15, 15});                   // 6: at the end of b: inside
  b.range("not this", {0, 20}, main_thread, "", range_style::start_end);
  b.mark("nor this", 3);
  b.range("clock set back", {12, 2});  // 9: neither a child nor a parent
  auto const all = nest(b.trace);
  REQUIRE(all.size() == 8);
  auto const of = [&](row_index row) {
    return *std::find_if(all.begin(), all.end(), [&](auto const& each) { return each.row == row; });
  };
  auto const parent = [&](row_index row) {
    return of(row).parent == no_row ? no_row : all[of(row).parent].row;
  };
  CHECK(parent(1) == no_row);
  CHECK(parent(2) == no_row);
  CHECK(parent(3) == 2);
  CHECK(parent(4) == 3);
  CHECK(parent(0) == 2);
  CHECK(parent(5) == no_row);
  CHECK(parent(6) == 2);
  CHECK((parent(9) == no_row && of(9).children == 0));
  CHECK((of(2).children == 3 && of(2).child_ns == 5 && of(2).level == 0));
  CHECK((of(4).level == 2 && of(4).children == 0));
  CHECK(std::is_sorted(all.begin(), all.end(), [&](auto const& x, auto const& y) {
    return b.trace.ranges[x.row].when.begin < b.trace.ranges[y.row].when.begin;
  }));
}

TEST_CASE("parents of random ranges are those of the definition") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 200; ++round) {
    builder b;
    auto const count = 1 + random() % 30;
    for (std::size_t i = 0; i < count; ++i) {
      auto const begin = static_cast<std::int64_t>(random() % 40);
      b.range("r", {begin, begin + static_cast<std::int64_t>(random() % 20)},
              random() % 3 == 0 ? second_thread : main_thread);
    }
    auto const all = nest(b.trace);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      auto const& inner = b.trace.ranges[all[i].row];
      std::uint32_t expected = no_row;
      for (std::uint32_t j = 0; j < i; ++j) {
        auto const& outer = b.trace.ranges[all[j].row];
        if (outer.thread == inner.thread && outer.when.end >= inner.when.end) { expected = j; }
      }
      REQUIRE(all[i].parent == expected);
    }
  }
}

TEST_CASE("work is inside a range when its whole call is, and never by another thread's range") {
  auto const trace = two_threads();
  view const all{trace};
  auto const inside = [&](range_record const& range) {
    std::vector<std::pair<operation_kind, row_index>> found;
    all.visit(range, [&](gpu_operation const& each) { found.emplace_back(each.kind, each.row); });
    return found;
  };
  using found = std::vector<std::pair<operation_kind, row_index>>;
  CHECK(inside(trace.ranges[0]) == found{{operation_kind::kernel, 0},
                                         {operation_kind::copy, 0},
                                         {operation_kind::kernel, 1},
                                         {operation_kind::kernel, 2}});
  CHECK(inside(trace.ranges[2]) == found{{operation_kind::kernel, 4}});
  auto crossing = trace.ranges[0];
  crossing.end_thread = second_thread;
  CHECK(inside(crossing).empty());
  auto backwards = trace.ranges[0];
  backwards.when = {1000, 0};  // a clock that was set back
  CHECK(inside(backwards).empty());
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
