// SPDX-License-Identifier: Apache-2.0
// assay-precompiled: no
#include "transformer/transformer_page.hpp"
#include "catch.hpp"
#include "page/count_of.hpp"

#include <nlohmann/json.hpp>

#include <string>

using namespace assay;
using test::contains;
using test::count_of;
using test::message_of;

namespace {

/// A step of two operations, with naive attention.
report::document result() {
  return report::document::parse(R"json({"schema": "assay.transformer",
    "environment": {"device": "a <device>", "commit": "0123abc"},
    "times": [{"size": "small", "context": 512, "precision": "bf16", "attention": "naive",
      "projections": "packed", "run": "step", "submission": "graph", "median_ms": 5.5,
      "fastest_ms": 5.25, "mfu": 0.295, "mfu_halved": 0.285, "memory_bytes": 1073741824}],
    "answers": [{"size": "small", "context": 512, "precision": "bf16", "attention": "naive",
      "projections": "packed", "run": "step", "submission": "graph",
      "copy_bytes_per_second": 3e12, "product_flops_per_second": 7e14,
      "nn_summary": [{"What": "host clock without a trace, us", "Value": 500},
        {"What": "device idle, us", "Value": 25},
        {"What": "products, % of the forward pass", "Value": 61.5},
        {"What": "products, % of all operations", "Value": 44.5},
        {"What": "products by name, % of the forward pass", "Value": 71.5},
        {"What": "products by name, % of all operations", "Value": 54.5},
        {"What": "softmax / products of attention, time", "Value": 0.741},
        {"What": "softmax / products of attention, FLOPs", "Value": 0.01953125}],
      "nn_counts": [{"What": "scores of one layer", "Full GFLOP": 1.611, "Causal GFLOP": 0.807}],
      "nn_kernels": [{"Forward Count": 85, "Step Count": 255, "Forward (us)": 100,
          "Step (us)": 300, "Share of Step (%)": 60, "Kernel": "a<gemm>"},
        {"Forward Count": 1, "Step Count": 2, "Forward (us)": 1, "Step (us)": 4,
          "Share of Step (%)": 2, "Kernel": "norm"},
        {"Forward Count": 1, "Step Count": 2, "Forward (us)": 1, "Step (us)": 1,
          "Share of Step (%)": 0.5, "Kernel": "small one"}],
      "nn_parts": [{"Phase": "forward", "Part": "norm1", "Operation": "rms_norm",
          "Time (us)": 40.0, "Share (%)": 10.0, "Copies (%)": 85.0, "Roofline (%)": 85.0},
        {"Phase": "backward", "Part": "w2 weight", "Operation": "product", "Time (us)": 360.0,
          "Share (%)": 90.0, "Copies (%)": 30.0, "Roofline (%)": 72.5}]
}]
})json");
}

}  // namespace

TEST_CASE("a transformer has its times, five answers, and a bar for each operation", "[page]") {
  auto const html = examples::transformer_page(result());
  CHECK_THAT(html, contains("a &lt;device&gt;, 0123abc") &&
                       contains("small, context 512, bf16, naive, packed, step, graph") &&
                       contains("29.5 %") && contains("1.00 GiB") &&
                       contains("copies 3.00 TB/s, products 700 TFLOP/s"));
  CHECK(count_of("class=\"bar s0\"", html) == 1 + 1);  // and one in the legend
  CHECK(count_of("class=\"bar s1\"", html) == 1 + 1);
  // The longest comes first.
  CHECK(html.find("backward: w2 weight") < html.find("forward: norm1"));
  CHECK_THAT(html, contains("360.0 us, 90.0 %, roofline 72.5 %"));
  CHECK_THAT(html, contains("500.0 us") && contains("the wait for the device"));
  CHECK(count_of("events without", html) == 0);  // not measured
  CHECK_THAT(html, contains("a&lt;gemm&gt; takes 300.0 us of one run, 60.0 %. It runs 85 times in "
                            "one forward pass, and 255 times in one whole run."));
  CHECK(count_of(">norm<", html) == 1);
  CHECK(count_of("small one", html) == 0);
  CHECK_THAT(html, contains("61.5 %") && contains("54.5 %") && contains("71.5 %"));
  CHECK_THAT(html, contains("Softmax takes 0.741 of the time") && contains("one in 51.2 of"));
}

TEST_CASE("a page has the bounds of kinds of operations, where an answer has them", "[page]") {
  auto with = result();
  CHECK(count_of("Bound / Time (%)", examples::transformer_page(with)) == 0);
  with["answers"][0]["nn_bounds"] = {
      {{"Operations", "SwiGLU"}, {"Bound (us)", 12.5}, {"Bound / Time (%)", 83.5}}};
  CHECK_THAT(examples::transformer_page(with),
             contains("Bound / Time (%)") && contains("SwiGLU") && contains("83.5"));
}

TEST_CASE("fused attention is told as a whole, and times alone have a page", "[page]") {
  auto fused = result();
  auto& summary = fused["answers"][0]["nn_summary"];
  summary.erase(7);
  summary[6] = {{"What", "attention, us: softmax and products are not separable"},
                {"Value", 153.5}};
  CHECK_THAT(examples::transformer_page(fused),
             contains("not separable. As a whole it takes 153.5"));
  auto times = result();
  times.erase("answers");
  CHECK(count_of("<h2>", examples::transformer_page(times)) == 1);
}

TEST_CASE("what is no transformer, or lacks a table, has no page", "[page]") {
  CHECK(examples::is_transformer(result()));
  CHECK_FALSE(examples::is_transformer({{"schema", "assay.comparison"}}));
  CHECK_FALSE(examples::is_transformer(report::document::array()));
  auto broken = result();
  broken["answers"][0].erase("nn_parts");
  CHECK_THAT(message_of([&] { examples::transformer_page(broken); }),
             contains("no table nn_parts"));
  broken["answers"] = 5;
  broken.erase("times");
  CHECK_THAT(message_of([&] { examples::transformer_page(broken); }), contains("no times"));
}
