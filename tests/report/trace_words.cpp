// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "trace/golden.hpp"

#include <assay/report/trace_words.hpp>

#include <string>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using assay::test::contains;

namespace {

std::string joined(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) { all += line + "\n"; }
  return all;
}

}  // namespace

TEST_CASE("what changed is told by share, devices before the host") {
  auto const run = [](std::int64_t more) {
    builder b;
    b.launch("k", {0, 1000}, {1000, 2000});
    if (more > 0) { b.call("cudaMalloc_v3020", {2000, 2000 + more}); }
    b.launch("k", {2000 + more, 2100 + more}, {2100 + more, 3000 + more + more / 10});
    return b.trace;
  };
  auto const control = run(0);
  auto const variant = run(1000);
  auto const found = difference({control}, {variant}, 1000);
  CHECK(
      joined(report::sentences(found)) ==
      "Of +1.000 us, devices explain +100.0 ns (10 % of the difference), calls and locks that kept "
      "them waiting +1.000 us (100 % of the difference); unexplained: +0 s (0 % of the "
      "difference).\n"
      "These sum up to +1.100 us, by which the traced runs differ: tracing itself added +100.0 ns "
      "(10 % of the difference).\n"
      "Devices waiting for the host (split up below): devices idle, host bound: +1.000 us (100 % "
      "of the difference).\n"
      "Devices: kernel k: +100.0 ns (10 % of the difference).\n"
      "While devices waited for the host, by kind: allocations +1.000 us (100 %).\n"
      "While devices waited: cudaMalloc: +1.000 us (100 % of the difference), 0 -> 1 times.\n"
      "Host, per thread, by kind: allocations +1.000 us (100 %), its own code +100.0 ns (10 %).\n"
      "Host, per thread: cudaMalloc: +1.000 us (100 % of the difference), 0 -> 1 times.\n"
      "Host, per thread: host code between the calls: +100.0 ns (10 % of the difference).\n");
  auto const other = joined(report::sentences(difference({control}, {variant}, 500), 1));
  CHECK_THAT(other,
             contains("These sum up to +1.100 us, by which the traced runs differ: tracing itself "
                      "added +600.0 ns.") &&
                 !contains("120 %"));
  CHECK_THAT(other, !contains("kernel k"));
  CHECK_NOTHROW(report::sentences(difference({control}, {control}, 0)));
}

TEST_CASE("long names are cut in sentences between characters") {
  CHECK(report::detail::short_name("short") == "short");
  CHECK(report::detail::short_name(std::string(5, 'x') + "\xce\xb1", 6) == "xxxxx...");
  CHECK(report::detail::short_name(long_name()).size() == 63);
}
