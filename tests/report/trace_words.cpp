// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"
#include "trace/one_pair.hpp"

#include <assay/report/trace_words.hpp>

#include <string>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;
using assay::test::difference;

namespace {

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) { all += line + "\n"; }
  return all;
}

}  // namespace

TEST_CASE("what changed is told by its parts, the largest first") {
  auto const run = [](std::int64_t more) {
    builder b;
    b.launch("k", {0, 1000}, {1000, 2000});
    if (more > 0) { b.call("cudaMalloc_v3020", {2000, 2000 + more}); }
    b.launch("k", {2000 + more, 2100 + more}, {2100 + more, 3000 + more + more / 10});
    return b.trace;
  };
  auto const control = run(0);
  auto const variant = run(1000);
  auto const told = [&](model const& other, double ns) {
    return joined(report::sentences(difference(control, other, ns), "runs"));
  };
  CHECK(told(variant, 1000) ==
        "Traced, they differ by +1.100 us. Its parts:\n"
        "Waits: cudaMalloc: +1.000 us, 0 -> 1 times; keep buffers, or take them from a pool.\n"
        "Devices: kernel k: +100.0 ns.\n");
  CHECK_THAT(told(variant, 5000), contains("Devices: kernel k") && contains("cudaMalloc"));
  CHECK(told(control, 0) == "The traces do not differ in what they record.\n");
  std::vector<trace::run_breakdown> const first(12, trace::breakdown_of(control));
  std::vector<trace::run_breakdown> const second(12, trace::breakdown_of(variant));
  auto const lines =
      report::sentences(trace::paired_difference(first, second), "ranges of each", 1);
  CHECK(lines[0] ==
        "Traced, 12 ranges of each differ by +1.100 us [+1.100, +1.100]. Its parts, whose "
        "intervals hold together at 96 %:");
  CHECK(lines.back() == "1 smaller part, together +100.0 ns [+100.0, +100.0].");
}
