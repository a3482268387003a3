// assay-grouped: no, for its architecture
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels whose code is for an older device than the one that runs it: this file is compiled for
/// compute capability 7.5 alone, and the driver translates it.

#include "catch.hpp"
#include "workloads/matmul.cuh"
#include "workloads/row_gather.cuh"
#include "workloads/scale_add.cuh"
#include "workloads/streaming_sum.cuh"
#include "workloads/transpose.cuh"

#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/rig.hpp>
#include <assay/workload/concepts.hpp>

#include <string>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

constexpr on::device place{0};

/// What is said of a strategy whose instructions are not in the code.
std::string said_of(std::string const& strategy, int needed) {
  auto const found = place_traits<on::device>::capability(place);
  if (found < needed) { return strategy + " needs a device of compute capability "; }
  return strategy + " needs code for compute capability " + copy::capability_text(needed) +
         " or higher, and this program was built for 7.5";
}

}  // namespace

TEST_CASE("code without a strategy's instructions is refused, and never launched", "[copy]") {
  pipeline const sum{workloads::streaming_sum<float>{.elements = 100'003}, place};
  auto const run = [](auto const& what) {
    rig made{what};
    return made.verify().value_or("right");
  };
  CHECK(run(sum) == "right");
  CHECK_THAT(message_of([&] { run(sum.with(copy::cp_async<2>{})); }),
             contains(said_of("copy::cp_async<2>", 80)));
  CHECK_THAT(message_of([&] { run(sum.with(copy::bulk<4>{})); }),
             contains(said_of("copy::bulk<4>", 90)));
}

TEMPLATE_TEST_CASE("every workload says that its code lacks a strategy", "[copy]",
                   workloads::streaming_sum<double>, workloads::row_gather,
                   workloads::scale_add<float>, workloads::transpose) {
  auto const why = [](auto how) {
    return workloads::why_unsupported(place, TestType{}, how).value_or("runs");
  };
  CHECK(why(copy::regular<>{}) == "runs");
  CHECK_THAT(why(copy::cp_async<2>{}), contains(said_of("copy::cp_async<2>", 80)));
  CHECK_THAT(why(copy::bulk<4>{}), contains(said_of("copy::bulk<4>", 90)));
}

TEST_CASE("a product needs code for 8.0, whatever brings its tiles", "[copy]") {
  auto const why = [](auto how) {
    return workloads::why_unsupported(place, workloads::matmul<float>{}, how).value_or("runs");
  };
  CHECK_THAT(why(copy::regular<>{}), contains(said_of("matmul", 80)));
  CHECK_THAT(why(copy::bulk<2>{}), contains(said_of("copy::bulk<2>", 90)));
}
