// SPDX-License-Identifier: Apache-2.0
#include "golden.hpp"

#include <assay/nsys/reports_nvtx.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/view.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

using namespace assay::trace;
using namespace assay::test::golden;

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
  builder b;
  b.kernel("in the part", {0, 10});
  auto const part = b.trace;
  b.kernel("outside", {10, 20});
  auto const of = b.trace;
  view const all{of};
  auto const& made = all.index<kernels>();
  CHECK(made.count == of.kernels.size());
  CHECK(&all.index<kernels>() == &made);
  CHECK(&view{all}.index<kernels>() == &made);
  CHECK(view{part, of}.index<kernels>().count == 1);
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
  builder b;
  b.range("step", {0, 1000});
  b.range("step", {0, 1000}, second_thread);
  b.launch("gemm", {110, 120}, {200, 300});
  b.launch_copy(copy_kind::host_to_device, 64, {500, 510}, {600, 700}, {0, 13});
  auto const graph = b.call("cudaGraphLaunch_v10000", {800, 850}).correlation;
  b.node("node a", {900, 950}, graph, 1);
  b.node("node b", {950, 1200}, graph, 2);
  b.launch("softmax", {1100, 1110}, {1300, 1400});
  b.launch("gemm", {120, 130}, {220, 320}, {1, 9}, second_thread);
  auto const trace = b.trace;
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
  CHECK(inside(trace.ranges[1]) == found{{operation_kind::kernel, 4}});
  auto crossing = trace.ranges[0];
  crossing.end_thread = second_thread;
  CHECK(inside(crossing).empty());
  auto backwards = trace.ranges[0];
  backwards.when = {1000, 0};  // a clock that was set back
  CHECK(inside(backwards).empty());
}
