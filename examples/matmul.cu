// SPDX-License-Identifier: Apache-2.0
// C = A x B, the tiles of A and B by plain loads, cp.async or bulk copies, with one to four stages,
// the arithmetic always the same: what is a copy strategy worth to a kernel that computes?
// Predicts: to bfloat16 on tensor cores much, as a tile's products take less than a microsecond:
// bulk<4> 1.2 to 2 times regular, one stage half of four. To float little: its products take five
// times as long, so from two stages on all are within 5 %. Without a GPU, CPU threads.
// assay-test-args: --quick --size 96 --items 2 --epochs 8
// assay-architectures: 90a

#include "support/cli.hpp"
#include "support/explaining.hpp"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/copy/regular.hpp>
#include <assay/core/device.hpp>
#include <assay/measure/compare.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/report/format.hpp>
#include <assay/rig.hpp>
#include <assay/submit/sequential.hpp>
#include <assay/workload/matmul.cuh>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

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
  for (auto const& each : all.arms) {
    auto const seconds = each.on(on).median;
    if (!(seconds > 0)) { continue; }
    said.lines.push_back(each.label + ": " + report::rate(each.flops / seconds, "FLOP") + ", " +
                         report::fixed(all.arms.front().on(on).median / seconds, 2) + " times " +
                         all.arms.front().label);
  }
  all.answers.push_back(std::move(said));
}

/// Compares with the first, and tells `compared(found, labels)`; or says what would be compared.
template <class Compared, class... Pipelines>
std::optional<measure::comparison> compare_or_list(cli::options const& chosen,
                                                   measure::options const& measuring,
                                                   Compared const& compared,
                                                   Pipelines const&... all) {
  auto const labels = measure::labels_of({all.axes()...});
  if (!chosen.list) {
    auto found = compare_all(measuring, all...);
    compared(found, labels, all...);
    return found;
  }
  for (auto const& label : labels) { std::cout << label << '\n'; }
  return {};
}

template <class T>
std::optional<measure::comparison> on_device(parameters const& given, cli::options const& chosen,
                                             cli::explaining const& explain) {
  on::device const place{chosen.device};
  pipeline const control{given.work<T>(chosen), place, submit::sequential{.items = given.items},
                         copy::regular<>{}};
  auto measuring = chosen.measuring();
  auto const& how = workloads::matmul_shape_on<T, copy::regular<>>(place);
  measuring.title = "What is a copy strategy worth to a product of matrices, by " +
                    std::string{how.instruction} + "?";
  auto const with = [&](auto const& strategy) { return control.with(strategy); };
  auto const explained = [&](measure::comparison& found, auto const& labels, auto const&... all) {
    explain(chosen, found, labels, all...);
  };
  if (place_traits<on::device>::capability(place) < 90) {
    return compare_or_list(chosen, measuring, explained, control, with(copy::cp_async<1>{}),
                           with(copy::cp_async<2>{}), with(copy::cp_async<3>{}));
  }
  return compare_or_list(chosen, measuring, explained, control, with(copy::cp_async<1>{}),
                         with(copy::cp_async<2>{}), with(copy::cp_async<3>{}),
                         with(copy::cp_async<4>{}), with(copy::bulk<1>{}), with(copy::bulk<2>{}),
                         with(copy::bulk<3>{}), with(copy::bulk<4>{}));
}

template <class T>
std::optional<measure::comparison> on_host(parameters const& given, cli::options const& chosen) {
  auto measuring = chosen.measuring();
  measuring.title = "What are threads worth to a product of matrices on the CPU?";
  pipeline const control{given.work<T>(chosen), on::host{1},
                         submit::sequential{.items = given.items}};
  return compare_or_list(
      chosen, measuring, [](auto const&...) {}, control,
      control.with(on::host{std::max(2, host::all_threads())}));
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
