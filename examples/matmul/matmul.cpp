// SPDX-License-Identifier: Apache-2.0
// Does a copy strategy speed up a kernel that computes? C = A x B. The tiles of A and B come by
// plain loads, cp.async or bulk copies, in one to four stages. The arithmetic is always the same.
// Without a GPU, the product runs on CPU threads.
// Predicts for bfloat16 on tensor cores: much, as the products of a tile take less than a
// microsecond. bulk<4> is 1.2 to 2 times as fast as regular, and one stage half as fast as four.
// Predicts for float: little, as the products take five times as long. From two stages on, all
// strategies are within 5 %.
// Measured on one H200: bulk<4> is 3.05 times as fast as regular, and cp_async<2> 1.57 times. The
// two slots of regular pass through registers, which the prediction left out. With float, regular
// is 7 % slower than cp_async<2>.
// assay-uses: cli
// assay-test-flags: -O1
// assay-test-args: --quick --size 96 --items 2
// assay-architectures: 90a

#include "../workloads/matmul.hpp"
#include "../tracing/tracing.hpp"
#include "matmul.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/cli/run.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/report/format.hpp>
#include <assay/submit/threaded.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

using namespace assay;

namespace {

void add_to(CLI::App& app, examples::matmul_parameters& into) {
  app.option_defaults()->always_capture_default();
  app.add_option("--size", into.size, "rows and columns of A, B and C");
  app.add_option("--items", into.items, "products in a batch");
  app.add_option("--type", into.type, "of the elements: bfloat16 (tensor cores) or float (FFMA)");
}

void check(examples::matmul_parameters const& given) {
  cli::require_between("--size", given.size, std::int64_t{1}, std::int64_t{1} << 16);
  cli::require_between("--items", given.items, 1, 1 << 20);
  cli::choose("--type", "type", given.type, {"bfloat16", "float"});
}

/// Adds the rate of each variant, alone and beside the control.
void answer(measure::comparison& all, measure::clock on) {
  if (!all.failure.empty()) { return; }
  measure::answer said{"What does each strategy reach?", {}};
  auto const control = all.variants.front().on(on).median;
  for (auto const& each : all.variants) {
    auto const seconds = each.on(on).median;
    if (!(seconds > 0)) { continue; }
    said.lines.push_back(each.label + ": " + report::rate(each.flops / seconds, "FLOP") + ", " +
                         report::fixed(control / seconds, 2) + " times " +
                         all.variants.front().label);
  }
  all.answers.push_back(std::move(said));
}

template <class T>
cli::variants of_threads(examples::matmul_parameters const& given) {
  pipeline const control{given.work<workloads::matmul<T>>(), on::host{1},
                         submit::sequential{.items = given.items}};
  return cli::variants_of(control, control.with(on::host{std::max(2, host::all_threads())}));
}

std::optional<measure::comparison> on_host(examples::matmul_parameters const& given,
                                           cli::options const& chosen) {
  auto measuring = chosen.measuring_on(on::host{1});
  measuring.title = "What are threads worth to a product of matrices on the CPU?";
  return cli::list_or_compare(
      chosen, given.type == "float" ? of_threads<float>(given) : of_threads<bfloat16>(given),
      measuring);
}

std::optional<measure::comparison> on_device(examples::matmul_parameters const& given,
                                             cli::options const& chosen,
                                             cli::explaining const& explaining) {
  auto const [all, instruction] = examples::matmul_on_device(given, on::device{chosen.device});
  auto measuring = chosen.measuring;
  measuring.title =
      "What is a copy strategy worth to a product of matrices, by " + instruction + "?";
  auto found = cli::list_or_compare(chosen, all, measuring);
  if (found) { explaining.explain(chosen, *found, all.runs()); }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  examples::matmul_parameters given;
  cli::explaining explaining{examples::tracing()};
  return cli::run(
      argc, argv,
      {"What is a copy strategy worth to a product of matrices? On a GPU; without one, or with "
       "--host, CPU threads.",
       ASSAY_COMMIT},
      [&](CLI::App& app) {
        add_to(app, given);
        explaining.add_to(app);
      },
      [&](cli::options const& chosen) {
        check(given);
        given.seed = chosen.measuring.seed;
        auto found = cli::runs_on_host(chosen, explaining) ? on_host(given, chosen)
                                                           : on_device(given, chosen, explaining);
        if (found) { answer(*found, *chosen.measuring.clock); }
        return found;
      });
}
