// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
#include "all_reduce_page.hpp"
#include "catch.hpp"
#include "page/count_of.hpp"

#include <nlohmann/json.hpp>

#include <string>

using namespace assay;
using test::contains;
using test::count_of;
using test::message_of;

namespace {

/// Two sizes; NCCL was timed at the first alone.
report::document result() {
  return report::document::parse(R"({"schema": "assay.benchmark", "benchmark": "all_reduce",
    "environment": {"device": "a <device>", "commit": "0123abc"},
    "figures": {"gpus": 2, "type": "float", "operation": "sum", "sizes": [
      {"bytes": 1024, "ours_algorithm": "lamport_push", "ours_us": 2, "ours_q1_us": 1.5,
       "ours_q3_us": 2.5, "ours_busbw_gb_per_second": 0.5, "nccl_default_us": 5,
       "over_better_nccl": 2.5, "over_better_nccl_min": 2.375, "over_better_nccl_max": 2.625},
      {"bytes": 1048576, "ours_us": 5, "ours_busbw_gb_per_second": 200, "pushed_us": 4}]}})");
}

}  // namespace

TEST_CASE("an all-reduce has a chart of latency, one of bus bandwidth, and a table", "[page]") {
  auto const html = examples::all_reduce_page(result());
  CHECK(count_of("<figure>", html) == 2);
  CHECK(count_of("class=\"line s0\"", html) == 2);
  CHECK(count_of("class=\"interval s0\"", html) == 2);  // the second size has no quartiles
  CHECK_THAT(html, contains("a &lt;device&gt;, 0123abc") && contains("over 2 GPUs"));
  // 0.5 GB/s in 2 us are 1000 bytes on the bus: NCCL moves them in 5 us. The limit is 200 x 5 / 4.
  CHECK_THAT(html, contains("5.000 us, 0.2 GB/s") && contains("4.000 us, 250.0 GB/s"));
  CHECK_THAT(html, contains("2.500x [2.375, 2.625]") && contains("lamport_push"));
  CHECK_THAT(html, contains("takes 2.50x [2.38, 2.62] (1.00 KiB) to 2.50x"));
  CHECK(count_of("NCCL, symmetric windows", html) == 0);  // it was not timed
}

TEST_CASE("what is no all-reduce, or lacks its numbers, has no page", "[page]") {
  CHECK(examples::is_all_reduce(result()));
  CHECK_FALSE(examples::is_all_reduce({{"schema", "assay.comparison"}}));
  CHECK_FALSE(examples::is_all_reduce(report::document::array()));
  auto broken = result();
  broken["figures"]["sizes"][1].erase("ours_us");
  CHECK_THAT(message_of([&] { examples::all_reduce_page(broken); }), contains("has no bytes"));
  broken["figures"]["sizes"] = report::document::array();
  CHECK_THAT(message_of([&] { examples::all_reduce_page(broken); }), contains("no result of the"));
}
