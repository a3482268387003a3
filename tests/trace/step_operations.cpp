// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
/// @file
/// The operations of a step, from traces by hand.
#include "catch.hpp"
#include "trace/golden.hpp"

#include <assay/trace/step_operations.hpp>

#include <cstdint>
#include <string>
#include <string_view>

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
