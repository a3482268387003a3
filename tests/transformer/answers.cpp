// SPDX-License-Identifier: Apache-2.0
/// @file
/// The answers about a step, from a trace by hand: times by operation and by name.
#include "catch.hpp"
#include "trace/golden.hpp"

#include <assay/core/nvtx_range.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/transformer/answers.hpp>
#include <assay/transformer/bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

using namespace assay;
using namespace assay::test::golden;
using test::contains;
using test::message_of;

namespace {

nn::problem const of{{.width = 4, .inner = 6, .layers = 2, .heads = 2, .vocabulary = 5}, 1, 3};

void range(builder& made, std::string_view name, span when, std::uint64_t number = 0) {
  auto& row = made.range(name, when, main_thread, "assay");
  row.category = static_cast<std::uint32_t>(category::gpu);
  row.payload = number;
}

/// A step that begins at `at`, each operation with one kernel: a softmax of 7 ns, named as a
/// product; products of 3 ns and, of the scores, 5 ns; all others of 1 ns. A copy before, of 9 ns.
void add_step(builder& made, std::int64_t at, nn::ledger const& ledger = nn::ledger{of}) {
  auto const& entries = ledger.entries();
  auto const count = static_cast<std::int64_t>(entries.size());
  range(made, "nn::step", {at, at + 10 * count + 10});
  made.launch_copy(copy_kind::host_to_device, 12, {at + 1, at + 2}, {at + 5, at + 14});
  for (std::int64_t i = 0; i < count; ++i) {
    auto const& each = entries[static_cast<std::size_t>(i)];
    auto const is_product = each.operation == "product",
               is_softmax = each.operation == "masked_softmax";
    auto const length = is_softmax ? 7 : each.where.part == "scores" ? 5 : is_product ? 3 : 1;
    auto const begin = at + 10 + 10 * i;
    range(made, each.where.part, {begin, begin + 9}, static_cast<std::uint64_t>(i));
    made.launch(is_product || is_softmax ? "gemm" : "other", {begin + 1, begin + 2},
                {begin + 10'000, begin + 10'000 + length});
  }
}

}  // namespace

TEST_CASE("answers go by what launched a kernel, not by its name", "[nn]") {
  builder made;
  add_step(made, 0);
  add_step(made, 100'000);
  nn::answers const found{trace::step_operations(made.trace, "nn::step"), nn::ledger{of}};
  CHECK(found.repetitions() == 2);
  CHECK(found.outside_ns() == 9);
  // Forward: 19 products, two of them of scores; softmax in two layers; embedding, norms (5), ropes
  // (2) and swiglu (2).
  auto const forward = found.forward();
  CHECK(forward.operations == 19 + 2 + 10);
  CHECK(forward.kernels == forward.operations);
  CHECK(found.forward_products().operations == 19);
  CHECK(found.forward_products().ns == Approx(17 * 3 + 2 * 5));
  CHECK(forward.ns == Approx(17 * 3 + 2 * 5 + 2 * 7 + 10));
  CHECK(found.products().operations == 3 * 19);
  CHECK(found.forward_softmax().ns == Approx(14));
  CHECK(found.forward_attention_products().ns == Approx(2 * (5 + 3)));
  // By name the softmax is counted with the products.
  REQUIRE(found.kernels().size() == 2);
  CHECK(found.kernels()[0].name == "gemm");
  CHECK(found.kernels()[0].forward_count == 21);
  CHECK(found.kernels()[0].step_count == 3 * 19 + 2);
  CHECK(found.kernels()[0].forward_ns == Approx(17 * 3 + 2 * 5 + 14));
  // Parts add up over layers, and have the costs of the ledger.
  auto const scores = found.sum([](auto const& each) { return each.part == "scores"; });
  CHECK(scores.operations == 2);
  CHECK(scores.cost.flops == 2 * 2 * 2 * 3 * 3 * 2);
}

TEST_CASE("tables of the answers", "[nn]") {
  builder made;
  add_step(made, 0);
  nn::answers const found{trace::step_operations(made.trace, "nn::step"), nn::ledger{of}};
  auto const parts = nn::part_table(found);
  CHECK(parts.rows() == found.parts().size());
  CHECK(parts.text(0, 1) == "embedding");
  CHECK(parts.number(0, 11) == 0);
  // An embedding reads and writes 12 elements and reads 3 tokens, in 1 ns: 108 GB/s.
  auto const limited = nn::part_table(found, {216e9, 1e12});
  CHECK(limited.number(0, 9) == Approx(108e-6));
  CHECK(limited.number(0, 11) == Approx(50));
  CHECK(limited.number(0, 12) == Approx(0.5e-3));
  CHECK(limited.number(0, 13) == Approx(50));
  // Scores: 144 FLOPs in two layers of 5 ns, far more of the products' limit than of the copies'.
  auto const row = [&](std::string_view part) {
    std::size_t at = 0;
    while (limited.text(at, 1) != part) { ++at; }
    return at;
  };
  CHECK(limited.number(row("scores"), 13) ==
        Approx(std::max(100 * 0.0144, limited.number(row("scores"), 11))));
  CHECK(nn::kernel_table(found).integer(0, 0) == 21);
  auto const summary = nn::summary_table(found, {500, 200});
  auto const value = [&](std::string_view what) {
    for (std::size_t row = 0; row < summary.rows(); ++row) {
      if (summary.text(row, 0) == what) { return summary.number(row, 1); }
    }
    return -1.0;
  };
  CHECK(value("softmax / products of attention, time") == Approx(14.0 / 16));
  CHECK(value("softmax / products of attention, FLOPs") == Approx(5.0 / (4 * 2)));
  CHECK(value("products, % of the forward pass") == Approx(100.0 * 61 / 85));
  // A softmax that is called `gemm` is a product by its name.
  CHECK(value("products by name, % of the forward pass") == Approx(100.0 * 75 / 85));
  CHECK(value("host clock without a trace, us") == Approx(0.5));
  CHECK(value("events without a trace, us") == Approx(0.2));
  CHECK(value("tracing added on the host, us") == Approx((found.host_ns() - 500) / 1e3));
}

TEST_CASE("bounds of operations of a kind add up to that of the step", "[nn]") {
  builder made;
  add_step(made, 0);
  nn::answers const found{trace::step_operations(made.trace, "nn::step"), nn::ledger{of}};
  // Copies of 1 GB/s are the limit of all operations; products of 0.1 GFLOP/s are that of some.
  for (nn::ceilings const most : {nn::ceilings{1e9, 1e18}, nn::ceilings{1e9, 1e8}}) {
    auto const table = nn::bound_table(found, most);
    REQUIRE(table.rows() == 7);
    double time = 0, flops = 0, bytes = 0, bound = 0;
    for (std::size_t row = 0; row + 1 < table.rows(); ++row) {
      time += table.number(row, 1);
      flops += table.number(row, 3);
      bytes += table.number(row, 4);
      bound += table.number(row, 5);
      CHECK(table.number(row, 6) == Approx(100 * table.number(row, 5) / table.number(row, 1)));
    }
    CHECK(table.text(6, 0) == "all");
    CHECK(table.number(6, 1) == Approx(time));
    CHECK(table.number(6, 1) == Approx(found.step().ns / 1e3));
    CHECK(table.number(6, 2) == Approx(100));
    CHECK(table.number(6, 3) == Approx(flops));
    CHECK(table.number(6, 4) == Approx(bytes));
    CHECK(table.number(6, 5) == Approx(bound));
    auto const of_products = table.number(0, 5), by_copies = 1e3 * table.number(0, 4);
    CHECK(table.text(0, 0) == "products");
    if (most.product_flops_per_second > 1e9) { CHECK(of_products == Approx(by_copies)); }
    if (most.product_flops_per_second == 1e8) { CHECK(of_products > by_copies); }
  }
  auto const nothing = nn::bound_table(found, {});
  CHECK(nothing.number(6, 5) == 0);
  // Products of weights stand with AdamW: seven of each layer, and the head.
  auto const table = nn::bound_table(found, {1e9, 1e18});
  CHECK(table.text(1, 0) == "weight gradients and AdamW");
  CHECK(table.number(1, 1) == Approx((15 * 3 + 1) / 1e3));
  // Both norms of two layers and the last one, forth and back, and the sums of their gains.
  CHECK(table.text(2, 0) == "norms");
  CHECK(table.number(2, 1) == Approx((5 + 5 + 1) / 1e3));
}

TEST_CASE("FLOPs of attention count all scores, or those that the mask keeps", "[nn]") {
  auto const counts = nn::count_table({nn::size_small, 4, 512});
  CHECK(counts.number(0, 1) == Approx(1.610612736));
  CHECK(counts.number(0, 2) == Approx(1.610612736 * 513 / 1024));
  CHECK(counts.number(2, 1) == Approx(0.06291456));
  CHECK(counts.number(3, 1) == Approx(2 * 12 * 1.610612736));
}

TEST_CASE("a trace of another problem is refused", "[nn]") {
  builder made;
  add_step(made, 0);
  auto other = of;
  other.model.layers = 1;
  auto const steps = trace::step_operations(made.trace, "nn::step");
  CHECK_THAT(message_of([&] { nn::answers(steps, nn::ledger{other}); }),
             contains("in the ledger: the problems are not the same"));
}

TEST_CASE("softmax and products of fused attention are not separable", "[nn]") {
  nn::ledger const ledger{of, nn::choices{nn::bf16{}, nn::attention::fused{}}};
  builder made;
  add_step(made, 0, ledger);
  nn::answers const found{trace::step_operations(made.trace, "nn::step"), ledger};
  CHECK(found.forward_fused_attention().ns == 2);  // of two layers
  auto const table = nn::summary_table(found);
  auto const last = table.rows() - 1;
  CHECK(table.text(last, 0) == "attention, us: softmax and products are not separable");
  CHECK(table.number(last, 1) == Approx(0.002));
}

TEST_CASE("a step that a graph replays has the answers of one that a stream runs", "[nn]") {
  nn::ledger const ledger{of};
  std::vector<nn::captured_node> captured;
  builder made;
  std::int64_t at = 0;
  range(made, "nn::step", {0, 10});
  for (std::uint64_t number = 0; number < ledger.entries().size(); ++number) {
    auto const is_softmax = ledger.entries()[number].operation == "masked_softmax";
    // Two nodes of each operation, as a library may have.
    for (auto const length : {is_softmax ? 5 : 2, 1}) {
      captured.push_back({nn::captured_node::kind::kernel, number});
      made.node("gemm", {at, at + length}, 1, captured.size());
      at += length;
    }
  }
  captured.push_back({nn::captured_node::kind::copy, nn::captured_node::no_operation});
  made.copy(copy_kind::device_to_device, 4, {at + 7, at + 9}).where.graph_node = captured.size();
  nn::answers const found{
      trace::replayed_operations(made.trace, "nn::step", nn::graph_nodes(captured, ledger)),
      ledger};
  CHECK(found.forward().kernels == 2 * (19 + 2 + 10));
  CHECK(found.forward_softmax().ns == 2 * 6);
  CHECK(found.forward_products().ns == 19 * 3);
  CHECK(found.products().kernels == 2 * 3 * 19);
  CHECK(found.outside_ns() == 2);
  CHECK(found.idle_ns() == 7);
  CHECK(found.step().ns + found.outside_ns() - found.overlap_ns() + found.idle_ns() ==
        found.device_ns());
  nn::note_operations(made.trace, ledger, captured);
  auto const& notes = made.trace.notes;
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].first == "operations");
  auto const& lines = notes[0].second;
  CHECK(std::ranges::count(lines, '\n') == static_cast<std::ptrdiff_t>(ledger.entries().size()));
  // Three tokens of four bytes, and three rows of four elements that are read and written.
  CHECK(lines.starts_with("0, forward, -1, embedding, embedding, 0, 108\n1, forward, 0, "));
  CHECK(trace::loss_notes(made.trace).empty());  // reports list none of them
  CHECK(notes.back().first == "nodes");
  CHECK_THAT(notes.back().second, contains("0 0 1 1 2 2 ") && contains(" -"));
  captured.back().operation = 100'000;
  CHECK_THROWS_AS(nn::graph_nodes(captured, ledger), std::out_of_range);
}
