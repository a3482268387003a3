// SPDX-License-Identifier: Apache-2.0
/// @file
/// Axes are compared by value, and texts tell all fields: policies and workloads on the host.

#include "catch.hpp"
#include "measure/each_field.hpp"
#include "memory/limited.hpp"
#include "workloads/iterated_map.hpp"
#include "workloads/matmul.hpp"
#include "workloads/row_gather.hpp"
#include "workloads/scale_add.hpp"
#include "workloads/streaming_sum.hpp"
#include "workloads/transpose.hpp"

#include <assay/core/units.hpp>
#include <assay/measure/axes.hpp>
#include <assay/memory/counted.hpp>
#include <assay/pipeline.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.hpp>
#include <assay/workload/vector_add.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace assay;
using namespace assay::literals;
using measure::changed_axes;
using measure::labels_of;
using test::require_each_field_told;
using strings = std::vector<std::string>;

/// A user's memory policy with a field that no text tells.
struct silent {
  int field = 0;
  static constexpr std::string_view name = "user::silent";
  mr::heap_resource open(on::host) const { return {}; }
  bool operator==(silent const&) const = default;
};

/// The same with a text.
struct loud : silent {
  static constexpr std::string_view name = "user::loud";
  loud altered() const { return {{field + 1}}; }
  std::string describe() const { return "user::loud{" + std::to_string(field) + "}"; }
  bool operator==(loud const&) const = default;
};

/// Another policy with the name of `silent`.
struct silent_too {
  static constexpr std::string_view name = "user::silent";
  mr::heap_resource open(on::host) const { return {}; }
  bool operator==(silent_too const&) const = default;
};

workloads::vector_add<float> const add{.elements = 7};
pipeline const control{add, on::host{}, silent{}};

}  // namespace

TEST_CASE("describe() shows each field of a submission mode", "[axes]") {
  require_each_field_told<2>(submit::sequential{});
  require_each_field_told<3>(submit::serialized{});
  require_each_field_told<3>(submit::concurrent{});
}

TEST_CASE("describe() shows each field of a place", "[axes]") {
  require_each_field_told<1>(on::host{});
  require_each_field_told<1>(on::device{});
}

TEST_CASE("describe() shows each field of a memory adaptor", "[axes]") {
  require_each_field_told<1>(mr::counted{loud{}});
  require_each_field_told<3>(test::limited{loud{}});
  CHECK(describe(mr::counted<mr::heap>{}) == "mr::counted{mr::heap}");
}

TEST_CASE("describe() shows each field of a workload", "[axes]") {
  require_each_field_told<3>(workloads::vector_add<float>{});
  require_each_field_told<4>(workloads::iterated_map<double>{});
  require_each_field_told<6>(workloads::scale_add<float>{});
  require_each_field_told<4>(workloads::streaming_sum<float>{});
  require_each_field_told<5>(workloads::transpose{});
  require_each_field_told<6>(workloads::row_gather{});
  require_each_field_told<5>(workloads::matmul<float>{});
  require_each_field_told<4>(workloads::null_cast<std::int32_t>{});
  require_each_field_told<4>(workloads::null_cast_fused<float>{});
}

TEST_CASE("a workload at its defaults has a short text", "[axes]") {
  CHECK(describe(workloads::vector_add<float>{}) == "vector_add<float>{elements=16777216}");
  CHECK(describe(workloads::iterated_map<double>{}) ==
        "iterated_map<double>{elements=16777216, flops_per_element=64}");
  CHECK(describe(workloads::scale_add<float>{}) ==
        "scale_add<float>{elements=67108864, threads=256}");
  CHECK(describe(workloads::scale_add<float>{.scale = 1.1F, .max_sms = 2, .seed = 5}) ==
        "scale_add<float>{elements=67108864, scale=1.1, max_sms=2, threads=256, seed=5}");
  CHECK(describe(workloads::streaming_sum<double>{}) ==
        "streaming_sum<double>{elements=268435456, threads=256}");
  CHECK(describe(workloads::transpose{}) == "transpose{rows=8192, columns=8192, threads=256}");
  CHECK(describe(workloads::row_gather{}) ==
        "row_gather{rows=262144, table_rows=524288, row_bytes=1024, threads=256}");
  CHECK(describe(workloads::matmul<float>{.exact = true}) ==
        "matmul<float>{4096 x 4096 x 4096, exact}");
}

TEST_CASE("numbers that differ have texts that differ", "[axes]") {
  auto const text = [](auto value) { return parameter_list{}.show("x", value).after("p"); };
  CHECK(text(0.1) == "p{x=0.1}");
  CHECK(text(0.5F) == "p{x=0.5}");
  CHECK(text(1e12) == "p{x=1e+12}");
  CHECK(text(1.0 / 3) == "p{x=0.3333333333333333}");
  CHECK(text(1.0F / 3) == "p{x=0.33333334}");
  double const next = 0.1 + 0x1p-56;
  REQUIRE(next != 0.1);
  CHECK(text(next) != text(0.1));
  CHECK(text(std::numeric_limits<double>::quiet_NaN()) == "p{x=nan}");
  CHECK(text(std::numeric_limits<std::uint64_t>::max()) == "p{x=18446744073709551615}");
}

TEST_CASE("two changed axes are both named, also where one has no text", "[axes]") {
  auto const variant = control.with(silent{1}).with(submit::sequential{.items = 5});
  REQUIRE(describe(variant.memory) == describe(control.memory));
  CHECK(changed_axes(control, variant) == strings{"memory", "submission"});
  CHECK(labels_of(control, variant) == strings{"user::silent, submit::sequential{items=100}",
                                               "user::silent (2), submit::sequential{items=5}"});
}

TEST_CASE("each axis is named when it alone changes", "[axes]") {
  CHECK(changed_axes(control, control).empty());
  CHECK(changed_axes(control).empty());
  CHECK(changed_axes(control, control.with(workloads::vector_add<float>{.elements = 8})) ==
        strings{"workload"});
  CHECK(changed_axes(control, control.with(on::host{2})) == strings{"place"});
  CHECK(changed_axes(control, control.with(silent{1})) == strings{"memory"});
  CHECK(changed_axes(control, control.with(submit::concurrent{})) == strings{"submission"});
  CHECK(changed_axes(control, control, control.with(silent{1}), control.with(on::host{2})) ==
        strings{"place", "memory"});
  CHECK(changed_axes(std::vector<measure::axis_choices>{}).empty());
}

TEST_CASE("an axis that the place does not use does not count", "[axes]") {
  pipeline const tiles{workloads::matmul<float>{}, on::host{}, copy::regular<>{}};
  auto const other = tiles.with(copy::regular<4, 1>{});
  CHECK(changed_axes(tiles, other).empty());
  CHECK(labels_of(tiles, other) == strings{"control", "control (2)"});
}

TEST_CASE("policies of two types with one name differ", "[axes]") {
  auto const other = control.with(silent_too{});
  CHECK(changed_axes(control, other) == strings{"memory"});
  CHECK(labels_of(control, other) == strings{"user::silent", "user::silent (2)"});
}

TEST_CASE("equal policies keep one text, different ones never share one", "[axes]") {
  auto const with = [](int field) { return control.with(silent{field}); };
  CHECK(labels_of(with(1), with(2), with(3)) ==
        strings{"user::silent", "user::silent (2)", "user::silent (3)"});
  // The second pipeline is the first once more, and the number of the third is its own.
  CHECK(labels_of(with(1), with(1), with(2)) ==
        strings{"user::silent", "user::silent (3)", "user::silent (2)"});
  auto const one = control.with(submit::sequential{.items = 1});
  auto const two = control.with(submit::sequential{.items = 2});
  CHECK(labels_of(one, two, one.with(silent{1}), two.with(silent{1})) ==
        strings{"user::silent, submit::sequential{items=1}",
                "user::silent, submit::sequential{items=2}",
                "user::silent (2), submit::sequential{items=1}",
                "user::silent (2), submit::sequential{items=2}"});
}

TEST_CASE("labels have short names where these differ", "[axes]") {
  CHECK(labels_of(control.with(loud{{1}}), control.with(mr::heap{})) ==
        strings{"user::loud", "mr::heap"});
  CHECK(labels_of(control.with(loud{{1}}), control.with(loud{{2}})) ==
        strings{"user::loud{1}", "user::loud{2}"});
  CHECK(labels_of(control, control) == strings{"control", "control (2)"});
  // An adaptor over a policy without a text.
  CHECK(labels_of(control.with(mr::counted{silent{1}}), control.with(mr::counted{silent{2}})) ==
        strings{"mr::counted{user::silent}", "mr::counted{user::silent} (2)"});
}
