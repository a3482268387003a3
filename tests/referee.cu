// SPDX-License-Identifier: Apache-2.0
// The referee over the candidates of tests/referee/device_candidates.cu: cheats are named, honest
// ones are not accused, and what a device does not survive has one line.
// assay-test-timeout: 900
#include <assay/referee/device_candidate_place.cuh>
#include <assay/referee/run_referee.hpp>

#include <map>
#include <string>

#include "catch.hpp"
#include "referee/tried.hpp"

using assay::test::contains;
using assay::test::tried;
using kind = assay::charge::kind;

namespace {

// Empty where device code is only checked.
#ifdef ASSAY_REFEREE_DEVICE_PROBLEM
constexpr auto device_problem = ASSAY_REFEREE_DEVICE_PROBLEM;
constexpr auto device_candidates = ASSAY_REFEREE_DEVICE_CANDIDATES;
#else
constexpr auto device_problem = "";
constexpr auto device_candidates = "";
#endif

std::map<std::string, kind> const cheats{
    {"other-stream", kind::escaped_work},    {"default-stream", kind::escaped_work},
    {"unjoined-stream", kind::escaped_work}, {"late-thread", kind::escaped_work},
    {"kept-by-address", kind::kept_results}, {"only-over-poison", kind::kept_results},
    {"nothing", kind::unwritten_output},     {"all-but-one", kind::unwritten_output},
    {"past-the-end", kind::out_of_bounds},   {"whole-blocks", kind::wrong_size},
    {"no-nan", kind::wrong_values},          {"in-place", kind::modified_input},
    {"bfloat16", kind::low_precision},       {"next-call", kind::lazy_work},
    {"leak", kind::growing_memory},          {"device-limit", kind::changed_environment},
    {"first-graph", kind::kept_buffer},      {"left-behind", kind::left_behind},
};

}  // namespace

TEST_CASE("each cheat on a device is named") {
  tried referee{device_problem, device_candidates};
  for (auto const& [name, what] : cheats) {
    auto const found = referee.judge(name);
    INFO(name << ": " << assay::report::json_line(found));
    CHECK(found.is_accused());
    if (found.is_accused()) { CHECK(to_string(found.charges[0].what) == to_string(what)); }
  }
}

TEST_CASE("honest kernels are timed, and a late cheat is found behind it") {
  tried referee{device_problem, device_candidates, true};
  for (auto const* name : {"plain", "joined-stream", "waits", "scratch", "workspace", "two-parts",
                           "fresh-graph", "three-times", "zeros-first"}) {
    auto const found = referee.judge(name);
    INFO(assay::report::json_line(found));
    CHECK_FALSE(found.is_accused());
    REQUIRE(found.timed.has_value());
    CHECK(found.timed->failure.empty());
  }
  auto const found = referee.judge("idle-once-timed");
  INFO(assay::report::json_line(found));
  REQUIRE(found.is_accused());
  CHECK(found.charges[0].what == kind::wrong_answer);
}

TEST_CASE("a device that a candidate has spoilt is that candidate's alone") {
  tried referee{device_problem, device_candidates};
  CHECK_THAT(referee.judge("bad-address").charges.at(0).text, contains("cudaError"));
  CHECK_THAT(referee.judge("bad-launch").charges.at(0).text, contains("a call returned 7"));
  CHECK_FALSE(referee.judge("plain").is_accused());
}

TEST_CASE("FLOPs have a ceiling on devices whose data sheet is known") {
  using namespace assay::referee_detail;
  STATIC_REQUIRE(flops_per_clock(75) == 0);
  device_candidate_place place{assay::on::device{}};
  auto const most = place.flops_ceiling();
  int major = 0;
  assay::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major != 9) { return; }
  REQUIRE(most.has_value());
  CHECK(most->per_second > 1e15);  // the smaller boards of the generation, and the largest one
  CHECK(most->per_second < 3e15);
}
