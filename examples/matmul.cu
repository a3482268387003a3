// SPDX-License-Identifier: Apache-2.0
// C = A x B, the tiles of A and B by plain loads, cp.async or bulk copies, with one to four stages,
// the arithmetic always the same: what is a copy strategy worth to a kernel that computes?
// Predicts: to bfloat16 on tensor cores much, as a tile's products take less than a microsecond:
// bulk<4> 1.2 to 2 times regular, one stage half of four. To float little: its products take five
// times as long, so from two stages on all are within 5 %. Without a GPU, CPU threads.
// What that missed, on one H200: bulk<4> is 3.05 times regular, whose two slots pass through
// registers, and cp_async<2> 1.57 times. With float regular is 7 % behind cp_async<2>.
// assay-test-args: --quick --size 96 --items 2
// assay-architectures: 90a

#include "support/cli.hpp"
#include "support/explaining.hpp"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/copy/regular.hpp>
#include <assay/core/device.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/report/format.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/matmul.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

using namespace assay;

namespace {

struct parameters {
  std::int64_t size = 4096;
  int items = 20;
  std::string type = "bfloat16";

  void add_to(cli::command_line& line) {
    line.group("Experiment");
    line.option("--size", size, "rows and columns of A, B and C");
    line.option("--items", items, "products in a batch");
    line.option("--type", type, "of the elements: bfloat16 (tensor cores) or float (FFMA)");
  }

  void check() const {
    cli::require_between("--size", size, std::int64_t{1}, std::int64_t{1} << 16);
    cli::require_between("--items", items, 1, 1 << 20);
    (void)cli::choose("type", type, {"bfloat16", "float"});
  }

  template <class T>
  workloads::matmul<T> work(cli::options const& chosen) const {
    return {.m = size, .n = size, .k = size, .seed = chosen.seed};
  }
};

/// What each variant computes per second, and beside the control.
void answer(measure::comparison& all, measure::clock on) {
  measure::answer said{"What does each strategy reach?", {}};
  for (auto const& each : all.variants) {
    auto const seconds = each.on(on).median;
    if (!(seconds > 0)) { continue; }
    said.lines.push_back(each.label + ": " + report::rate(each.flops / seconds, "FLOP") + ", " +
                         report::fixed(all.variants.front().on(on).median / seconds, 2) +
                         " times " + all.variants.front().label);
  }
  all.answers.push_back(std::move(said));
}

/// Calls `visit` with each strategy, the control first.
template <class Visit>
void each_strategy(Visit const& visit) {
  visit(copy::regular<>{});
  visit(copy::cp_async<1>{});
  visit(copy::cp_async<2>{});
  visit(copy::cp_async<3>{});
  visit(copy::cp_async<4>{});
  visit(copy::bulk<1>{});
  visit(copy::bulk<2>{});
  visit(copy::bulk<3>{});
  visit(copy::bulk<4>{});
}

void print_list(std::vector<std::string> const& labels) {
  for (auto const& label : labels) { std::cout << label << '\n'; }
}

template <class T>
std::optional<measure::comparison> on_device(parameters const& given, cli::options const& chosen,
                                             cli::explaining const& explain) {
  on::device const place{chosen.device};
  require_device(place);
  auto const work = given.work<T>(chosen);
  auto measuring = chosen.measuring();
  auto const& how = workloads::matmul_shape_on<T, copy::regular<>>(place);
  measuring.title = "What is a copy strategy worth to a product of matrices, by " +
                    std::string{how.instruction} + "?";
  measure::experiment all;
  auto traced = explain.variants();
  std::vector<std::string> labels, left_out;
  each_strategy([&](auto strategy) {
    if (auto const why = workloads::why_unsupported(place, work, strategy)) {
      left_out.push_back("left out: " + *why);
      return;
    }
    pipeline const what{work, place, submit::sequential{.items = given.items}, strategy};
    labels.push_back(describe(strategy));
    all.add(what, labels.back());
    traced.add(what, labels.back());
  });
  if (chosen.list) {
    print_list(labels);
    return {};
  }
  auto found = all.run(measure::against_first(labels), measuring);
  for (std::size_t i = 1; i < labels.size(); ++i) { traced.explain(chosen, found, 0, i); }
  found.notes.insert(found.notes.end(), left_out.begin(), left_out.end());
  return found;
}

template <class T>
std::optional<measure::comparison> on_host(parameters const& given, cli::options const& chosen) {
  pipeline const control{given.work<T>(chosen), on::host{1},
                         submit::sequential{.items = given.items}};
  auto measuring = chosen.measuring(control.place);
  measuring.title = "What are threads worth to a product of matrices on the CPU?";
  auto const every = control.with(on::host{std::max(2, host::all_threads())});
  if (chosen.list) {
    print_list(measure::labels_of(control, every));
    return {};
  }
  return compare_all(measuring, control, every);
}

template <class T>
std::optional<measure::comparison> run(parameters const& given, cli::options const& chosen,
                                       cli::explaining const& explain) {
  bool const host = chosen.host || (!chosen.device_named && device_count() == 0);
  if (host && !chosen.host) { std::cerr << "no GPU: the host half is run\n"; }
  if (host) { explain.check_host(); }
  auto found = host ? on_host<T>(given, chosen) : on_device<T>(given, chosen, explain);
  if (found && found->failure.empty()) { answer(*found, chosen.clock); }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  parameters given;
  cli::explaining explain;
  return cli::run(
      argc, argv,
      "What is a copy strategy worth to a product of matrices? On a GPU; without one, or with "
      "--host, CPU threads.",
      [&](cli::command_line& line) {
        given.add_to(line);
        explain.add_to(line);
      },
      [&](cli::options const& chosen) {
        given.check();
        explain.check();
        return given.type == "float" ? run<float>(given, chosen, explain)
                                     : run<bfloat16>(given, chosen, explain);
      });
}
