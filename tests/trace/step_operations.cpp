// SPDX-License-Identifier: Apache-2.0
/// @file
/// The operations of a step, from traces by hand.
#include "catch.hpp"
#include "trace/golden.hpp"

#include <assay/trace/graph_replays.hpp>
#include <assay/trace/step_operations.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using test::contains;
using test::message_of;

namespace {

void range(builder& made, std::string_view name, span when, std::uint64_t number = 0) {
  auto& row = made.range(name, when, main_thread, "assay");
  row.category = static_cast<std::uint32_t>(category::gpu);
  row.payload = number;
}

/// A step of two operations at `at`: three kernels and a copy. `softmax` is called by the name of a
/// product, as a fused kernel of a library may be.
void add_step(builder& made, std::int64_t at, bool second_kernel = true) {
  range(made, "nn::step", {at, at + 100});
  made.launch_copy(copy_kind::host_to_device, 64, {at + 1, at + 2}, {at + 200, at + 205});
  range(made, "q", {at + 10, at + 30}, 0);
  made.launch("gemm", {at + 11, at + 12}, {at + 210, at + 240});
  if (second_kernel) { made.launch("splitK", {at + 13, at + 14}, {at + 240, at + 250}); }
  range(made, "softmax", {at + 40, at + 60}, 1);
  made.launch("gemm", {at + 41, at + 42}, {at + 250, at + 257});
}

}  // namespace

TEST_CASE("each kernel of a step belongs to the operation that launched it", "[trace]") {
  builder made;
  add_step(made, 0);
  add_step(made, 1000);
  made.launch("warm up", {500, 501}, {600, 650});  // in no step
  auto& other = made.range("nn::step", {500, 600}, main_thread, "another domain");
  other.category = static_cast<std::uint32_t>(category::gpu);
  auto const found = trace::step_operations(made.trace, "nn::step");
  REQUIRE(found.size() == 2);
  for (auto const& each : found) {
    CHECK(each.host_ns == 100);
    CHECK(each.device.length() == 57);
    CHECK(each.total == trace::device_work{4, 52});
    CHECK(each.outside == trace::device_work{1, 5});
    CHECK(each.busy_ns + each.idle_ns() == each.device.length());
    CHECK(each.idle_ns() == 5);
    CHECK(each.overlap_ns() == 0);
    REQUIRE(each.operations.size() == 2);
    CHECK(each.operations[0].part == "q");
    CHECK(each.operations[0].total() == trace::device_work{2, 40});
    CHECK(each.operations[0].work.at("gemm") == trace::device_work{1, 30});
    CHECK(each.operations[1].part == "softmax");
    CHECK(each.operations[1].total() == trace::device_work{1, 7});
  }
}

TEST_CASE("traces that do not count one step are refused", "[trace]") {
  builder made;
  CHECK_THAT(message_of([&] { trace::step_operations(made.trace, "nn::step"); }),
             contains("the trace has no range `nn::step` of the domain assay"));
  add_step(made, 0);
  add_step(made, 1000, false);
  CHECK_THAT(message_of([&] { trace::step_operations(made.trace, "nn::step"); }),
             contains("repetition 1 of `nn::step` launches other operations than the first one"));
  builder gap;
  range(gap, "nn::step", {0, 100});
  range(gap, "q", {10, 20}, 1);
  CHECK_THAT(message_of([&] { trace::step_operations(gap.trace, "nn::step"); }),
             contains("operation 1 of a step, `q`, comes after 0 operations"));
}

namespace {

using enum operation_kind;

/// A product in two kernels, a set and a copy of one operation, and a copy of none.
std::vector<trace::graph_node> const nodes{
    {kernel, 0, "q"},      {kernel, 0, "q"},       {memset, 1, "gradient"},
    {copy, 1, "gradient"}, {kernel, 2, "softmax"}, {copy, trace::graph_node::no_operation, {}}};

constexpr std::uint64_t node_of(std::uint64_t graph, std::uint64_t number) {
  return graph << 32U | number;
}

/// A replay at `at` of the graph of that number, with these nodes. The last two overlap, and the
/// kernel of the softmax is called by the name of a product. The correlation is a wrong one.
void add_replay(builder& made, std::int64_t at, std::uint64_t graph = 5) {
  range(made, "nn::step", {at, at + 100});
  made.call("cudaGraphLaunch_v10000", {at + 10, at + 20});
  made.node("gemm", {at + 200, at + 230}, 77, node_of(graph, 3));
  made.node("splitK", {at + 230, at + 240}, 77, node_of(graph, 4));
  made.set(64, {at + 250, at + 252}).where.graph_node = node_of(graph, 6);
  made.copy(copy_kind::device_to_device, 64, {at + 252, at + 255}).where.graph_node =
      node_of(graph, 7);
  made.node("gemm", {at + 260, at + 270}, 77, node_of(graph, 9));
  made.copy(copy_kind::device_to_device, 64, {at + 265, at + 275}).where.graph_node =
      node_of(graph, 11);
}

}  // namespace

TEST_CASE("each node of a replay belongs to the operation that captured it", "[trace]") {
  builder made;
  add_replay(made, 1000);
  made.launch_copy(copy_kind::host_to_device, 64, {1001, 1002}, {1190, 1195});  // of its inputs
  add_replay(made, 0, 9);  // another graph of the same nodes, earlier
  add_replay(made, 2000);
  auto const found = trace::replayed_operations(made.trace, "nn::step", nodes);
  REQUIRE(found.size() == 3);
  for (auto const& each : found) {
    CHECK(each.host_ns == 100);
    REQUIRE(each.operations.size() == 3);
    CHECK(each.operations[0].part == "q");
    CHECK(each.operations[0].work.at("gemm") == trace::device_work{1, 30});
    CHECK(each.operations[0].work.at("splitK") == trace::device_work{1, 10});
    CHECK(each.operations[1].total() == trace::device_work{2, 5});
    CHECK(each.operations[2].part == "softmax");
    CHECK(each.operations[2].work.at("gemm") == trace::device_work{1, 10});
    // Every row has an owner, and none has two.
    auto owned = each.outside;
    for (auto const& operation : each.operations) { owned += operation.total(); }
    CHECK(owned == each.total);
    CHECK(each.busy_ns + each.idle_ns() == each.device.length());
    CHECK(each.overlap_ns() == 5);
  }
  CHECK(found[0].device == span{200, 275});
  CHECK(found[0].idle_ns() == 10 + 5);
  CHECK(found[0].outside == trace::device_work{1, 10});
  CHECK(found[1].device == span{1190, 1275});
  CHECK(found[1].outside == trace::device_work{2, 15});
  CHECK(found[1].idle_ns() == 5 + 10 + 5);
}

TEST_CASE("a trace of another graph, or of a part of a replay, is refused", "[trace]") {
  auto const why = [](builder const& made, std::vector<trace::graph_node> const& captured) {
    return message_of([&] { trace::replayed_operations(made.trace, "nn::step", captured); });
  };
  builder made;
  add_replay(made, 0);
  auto other = nodes;
  other.pop_back();
  CHECK_THAT(why(made, other), contains("graph 5 has 6 nodes in the trace, and 5 were captured"));
  other = nodes;
  other[2].kind = kernel;
  CHECK_THAT(why(made, other), contains("node 2 of graph 5 is `gradient`, a kernel, and a copy"));
  other[2].kind = operation_kind::memset;
  other[4].kind = copy;  // the driver runs a copy as a kernel
  CHECK(why(made, other) == "nothing was thrown");
  made.node("gemm", {900, 910}, 77, node_of(5, 9));
  CHECK_THAT(why(made, nodes), contains("node 4 of graph 5 ran 2 times, and its first node 1"));
  builder twice;
  add_replay(twice, 0);
  range(twice, "nn::step", {500, 600});
  CHECK_THAT(why(twice, nodes), contains("2 ranges `nn::step`") && contains("1 replays"));
}
