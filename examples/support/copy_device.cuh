// SPDX-License-Identifier: Apache-2.0
/// @file
/// The experiment on copy strategies: each workload on a number of SMs with every strategy, beside
/// Little's law, and verdicts between three of them.
#pragma once

#include "cli.hpp"
#include "compared_strategies.cuh"
#include "copy_parameters.hpp"
#include "copy_rows.hpp"
#include "copy_use.cuh"
#include "explaining.hpp"

#include <assay/core/distinct.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/machine/littles_law.cuh>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/memory/async.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/summary.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/row_gather.cuh>
#include <assay/workload/scale_add.cuh>
#include <assay/workload/streaming_sum.cuh>
#include <assay/workload/transpose.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Calls `visit` with each strategy that the sweep is about.
template <class Visit>
void each_strategy(Visit const& visit) {
  visit(copy::regular<16, 1>{});
  visit(copy::regular<>{});
  visit(copy::regular<16, 8>{});
  visit(copy::cp_async<2>{});
  visit(copy::cp_async<4>{});
  visit(copy::bulk<2>{});
  visit(copy::bulk<4>{});
  visit(copy::bulk<8>{});
}

/// The bench: device, terms of its memory, and what was measured so far.
class copy_bench {
 public:
  copy_bench(on::device place, copy_parameters const& given, cli::options const& chosen,
             cli::explaining const& explain)
      : place_(place),
        given_(given),
        chosen_(chosen),
        explain_(explain),
        device_sms_(attribute(place, cudaDevAttrMultiProcessorCount)),
        terms_(machine::little_terms_of(place)),
        copy_limit_(machine::device_copy_ceiling(place).per_second) {}

  machine::little_terms const& terms() const noexcept { return terms_; }
  std::vector<copy_row> const& rows() const noexcept { return rows_; }
  std::vector<copy_cell> const& cells() const noexcept { return cells_; }
  /// Strategies that could not run here, with the reason.
  std::vector<std::string> const& left_out() const noexcept { return left_out_; }

  /// The sweep over strategies, and the verdicts, for one workload on every number of SMs.
  /// `random`: its reads are anywhere.
  template <class Work>
  void run(Work work, std::string const& label, bool random) {
    work.threads = given_.threads;
    for (int const sms : given_.sms) {
      work.max_sms = sms;
      auto const where = sms_text(sms == 0 ? device_sms_ : sms, sms != 0);
      say(label + ", " + where);
      each_strategy([&](auto how) { sweep(work, how, label, random); });
      judge(work, label, where);
    }
  }

 private:
  template <class Work, class Strategy>
  bool runs_here(Work const& work, Strategy how, std::string const& label) {
    auto const why = workloads::why_unsupported(place_, work, how);
    if (why) { add_distinct(left_out_, label + ": left out: " + *why); }
    return !why;
  }

  void say(std::string const& what) const {
    if (!chosen_.progress) { return; }
    auto const of = static_cast<int>(given_.cells());
    (*chosen_.progress)(std::min(static_cast<int>(cells_.size()), of), of, what);
  }

  /// So many items that batches take about as long, whatever the workload and the cap: all cells
  /// together take some minutes.
  template <class Work>
  int items(Work const& work) const {
    double const used = work.max_sms == 0 ? device_sms_ : work.max_sms;
    double const read_alone = static_cast<double>(given_.bytes()) / work.item_traffic().bytes();
    return std::max(1, static_cast<int>(20 * read_alone * used / device_sms_ + 0.5));
  }

  template <class Work, class Strategy>
  auto made(Work const& work, Strategy how) const {
    return pipeline{work, place_, submit::sequential{.items = items(work)}, how};
  }

  template <class Work, class Strategy>
  void sweep(Work const& work, Strategy how, std::string const& label, bool random) {
    if (!runs_here(work, how, label)) { return; }
    auto const what = made(work, how);
    using pipeline_type = std::remove_const_t<decltype(what)>;
    auto built = std::make_unique<rig<pipeline_type>>(what);
    if (auto const wrong = built->verify(0)) {
      throw std::runtime_error(label + " with " + describe(how) + " is wrong: " + *wrong);
    }
    measure::pipeline_subject<pipeline_type> subject{std::move(built)};
    subject.warm(0, 2);
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) { seconds.push_back(subject.time(0, 1)[measure::clock::gpu]); }
    auto const traffic = what.batch_traffic();
    copy_row row;
    row.workload = label;
    row.strategy = describe(how);
    row.capped = work.max_sms != 0;
    row.sms = row.capped ? work.max_sms : device_sms_;
    auto const use = use_of<Strategy>(work);
    row.blocks = row.capped ? 1 : resident_blocks(use, work.threads);
    row.in_flight = machine::bytes_in_flight(row.sms, row.blocks, 1, use.in_flight);
    auto const mix = traffic.bytes() / traffic.bytes_read;  // what is written comes beside
    row.limit = mix < 1.001 ? terms_.read_bytes_per_second : copy_limit_;
    predict(row, terms_, mix, random);
    row.measured = traffic.bytes() / stats::summarise(seconds).median;
    rows_.push_back(std::move(row));
  }

  /// Blocks that an SM holds at most, by threads and shared memory; registers may allow fewer.
  int resident_blocks(block_use const& use, int threads) const {
    int const by_threads = attribute(place_, cudaDevAttrMaxThreadsPerMultiProcessor) / threads;
    auto const room = attribute(place_, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    auto const taken =
        use.shared_bytes + attribute(place_, cudaDevAttrReservedSharedMemoryPerBlock);
    return std::max(1, std::min(by_threads, static_cast<int>(room / taken)));
  }

  template <class Work>
  void judge(Work const& work, std::string const& label, std::string const& where) {
    measure::experiment all;
    auto traced = explain_.variants();
    std::vector<std::string> labels;
    each_compared_strategy([&](auto how) {
      if (!runs_here(work, how, label)) { return; }
      labels.push_back(describe(how));
      all.add(made(work, how), labels.back());
      traced.add(made(work, how), label + " " + where + " " + labels.back());
    });
    if (labels.size() < 2) { return; }
    auto options = chosen_.measuring();
    options.title = label + ", " + where;
    // All cells of the experiment share the chance of a false difference.
    options.alpha /= static_cast<double>(given_.cells());
    options.profiled_batches = 0;
    auto found = all.run(measure::against_first(labels), options);
    for (std::size_t i = 1; i < labels.size(); ++i) { traced.explain(chosen_, found, 0, i); }
    cells_.push_back({label, where, std::move(found)});
  }

  on::device place_;
  copy_parameters const& given_;
  cli::options const& chosen_;
  cli::explaining const& explain_;
  int device_sms_;
  machine::little_terms terms_;
  double copy_limit_;
  std::vector<copy_row> rows_;
  std::vector<copy_cell> cells_;
  std::vector<std::string> left_out_;
};

/// Runs what was asked for on one bench.
inline void run_workloads(copy_bench& bench, copy_parameters const& given) {
  auto const bytes = given.bytes();
  if (given.runs("streaming_sum")) {
    bench.run(workloads::streaming_sum<float>{.elements = bytes / 4}, "streaming_sum<float>",
              false);
  }
  if (given.runs("row_gather")) {
    for (auto const row : given.row_bytes) {
      workloads::row_gather const work{
          .rows = bytes / row, .table_rows = 2 * bytes / row, .row_bytes = row};
      bench.run(work, "row_gather " + report::byte_size(static_cast<double>(row)), true);
    }
  }
  if (given.runs("scale_add")) {
    bench.run(workloads::scale_add<float>{.elements = bytes / 8}, "scale_add<float>", false);
  }
  if (given.runs("transpose")) {
    auto const side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes / 4)));
    bench.run(workloads::transpose{.rows = side, .columns = side}, "transpose", false);
  }
}

/// The whole experiment on a device.
inline std::optional<measure::comparison> copy_on_device(copy_parameters given,
                                                         cli::options const& chosen,
                                                         cli::explaining const& explain) {
  if (chosen.list) {
    each_strategy([](auto how) { std::cout << describe(how) << '\n'; });
    return {};
  }
  for (auto const& path : copy_outputs(chosen)) { assay::require_writable(path); }
  on::device const place{chosen.device};
  require_device(place);
  check(cudaSetDevice(place.id));
  int const sms = attribute(place, cudaDevAttrMultiProcessorCount);
  given.settle(chosen, sms);
  copy_bench bench{place, given, chosen, explain};
  run_workloads(bench, given);
  auto const little = little_lines(bench.terms(), sms);
  if (!chosen.quiet) {
    for (auto const& line : little) { std::cout << "  " << line << '\n'; }
    std::cout << '\n';
    print_copy_rows(std::cout, bench.rows());
  }
  write_copy_rows(chosen, bench.rows(), bench.terms());
  auto all = merged(bench.cells(), "When does the way a kernel brings in its tiles matter?");
  all.changed = "copy";
  all.alpha = chosen.alpha;
  for (auto const& each : bench.left_out()) { add_distinct(all.notes, each); }
  all.answers = {{"What does this memory ask for?", little},
                 {"What did each strategy do, cell by cell?", verdict_lines(bench.cells())},
                 {"Where does each strategy win, and where does nothing differ?",
                  summary_lines(bench.cells())}};
  return all;
}

/// The host half: strategies are choices of kernels, so the sum by one thread and by all.
inline std::optional<measure::comparison> copy_on_host(copy_parameters given,
                                                       cli::options const& chosen) {
  given.settle(chosen, std::numeric_limits<int>::max());
  auto const bytes = chosen.quick ? std::int64_t{4} << 20U : given.bytes();
  pipeline const control{workloads::streaming_sum<float>{.elements = bytes / 4}, on::host{1},
                         submit::sequential{.items = 4}};
  auto const every = control.with(on::host{std::max(2, host::all_threads())});
  if (chosen.list) {
    std::cout << describe(control.place) << '\n' << describe(every.place) << '\n';
    return {};
  }
  auto options = chosen.measuring(control.place);
  options.title =
      "A sum on the CPU: by one thread, by all (copy strategies are choices of kernels)";
  return compare_all(options, control, every);
}

}  // namespace assay::examples
