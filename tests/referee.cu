// SPDX-License-Identifier: Apache-2.0
// The referee over the candidates of tests/referee/device_candidates.cu: cheats are named, honest
// ones are not accused, and what a device does not survive has one line.
// assay-test-timeout: 900
#include <assay/referee/device_candidate_place.cuh>
#include <assay/referee/rotation.hpp>
#include <assay/referee/run_referee.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

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

TEST_CASE("padding on a device is no candidate's to write, and nothing is written early") {
  using namespace assay::referee_detail;
  device_candidate_place place{assay::on::device{}};
  assay::problem of;
  of.sizes = {1 << 16};
  of.vary_leading_dimensions = true;
  of.declare = [](assay::setup& make, std::size_t n) {
    assay::matrix const rows{n / 7, 7};
    auto const x = make.random<float>(rows), y = make.output<float>(rows);
    make.expect(
        y, [x](std::size_t row, std::size_t i) { return x.seeded(row, i); }, assay::sampled{256});
    return std::vector{static_cast<double>(x.leading_dimension()),
                       static_cast<double>(y.leading_dimension())};
  };
  auto const charges = [&](bool pads, bool early) {
    assay::candidate_function const copies = [pads](void* const* buffers, std::size_t const*, int,
                                                    double const* scalars, int, void* stream) {
      auto const ldx = static_cast<std::size_t>(scalars[0]);
      auto const ldy = static_cast<std::size_t>(scalars[1]);
      auto* const y = static_cast<float*>(buffers[1]);
      auto const on = static_cast<cudaStream_t>(stream);
      assay::check(cudaMemcpy2DAsync(y, 4 * ldy, buffers[0], 4 * ldx, 28, (1 << 16) / 7,
                                     cudaMemcpyDeviceToDevice, on));
      if (pads && ldy > 7) { assay::check(cudaMemsetAsync(y + 7, 0, 4, on)); }
      return 0;
    };
    rotation with{place, of, copies, of.sizes[0], 7, 4};
    std::map<std::string, int> found;
    for (int pass = 0; pass < 20; ++pass) {
      asked const how{kind::wrong_answer, "a pass"};
      with.prepare(4, how);
      for (std::size_t i = 0; i < 4 && early; ++i) {
        assay::check(cudaMemset(with.set(i).arrays().declared()[1].data, 0, 4));
      }
      assay::check(cudaDeviceSynchronize());  // a set of device memory is not done when it returns
      (void)with.run();
      auto const charge = with.judge(how);
      ++found[charge ? std::string{to_string(charge->what)} : ""];
    }
    return found;
  };
  CHECK(charges(false, false) == std::map<std::string, int>{{"", 20}});
  CHECK(charges(false, true) == std::map<std::string, int>{{"escaped work", 20}});
  auto const padded = charges(true, false);  // one of four sets has no padding
  CHECK(padded.size() == 2);
  CHECK(padded.at("out of bounds") > 5);
}

TEST_CASE("a checksum on a device follows each byte of its arrays, and none behind them") {
  using namespace assay::referee_detail;
  device_candidate_place place{assay::on::device{}};
  auto const store = place.make_store(1);
  for (std::size_t const bytes : {1U, 7U, 8U, 9U, 4100U, 1U << 20U}) {
    INFO(bytes << " bytes");
    std::vector<unsigned char> content(bytes + 8);
    auto* const one = store->allocate(content.size());
    auto* const other = store->allocate(content.size());
    store->fill(other, 7, content.size());
    auto const sum = [&](auto... of) {
      store->copy_in(one, content.data(), content.size());
      store->finish();
      std::array<array_memory, sizeof...(of)> const all{array_memory{of, bytes}...};
      CHECK(place.checksum(all) == place.sampled_checksum(all, 1));
      return place.checksum(all);
    };
    auto const first = sum(one);
    CHECK(sum(one, other) != first);
    CHECK(sum(one, other) != sum(other, one));
    for (auto const at : {std::size_t{0}, bytes / 2, bytes - 1, bytes, bytes + 7}) {
      INFO("byte " << at);
      content[at] = 1;
      CHECK((sum(one) == first) == (at >= bytes));
      content[at] = 0;
      CHECK(sum(one) == first);
    }
  }
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
