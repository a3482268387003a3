// SPDX-License-Identifier: Apache-2.0
#include "../compared_strategies.cuh"
#include "block_use.cuh"
#include "copy_strategies.hpp"
#include "littles_law.cuh"
#include "report.hpp"

#include <assay/core/device.hpp>
#include <assay/core/distinct.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/memory/async.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/summary.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

namespace assay::examples {

namespace {

/// Calls `visit` with each strategy of the rows.
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

/// Measures workloads on one device.
class bench {
 public:
  bench(on::device place, copy_parameters const& given, cli::options const& chosen)
      : place_(place),
        given_(given),
        chosen_(chosen),
        copy_limit_(machine::device_copy_ceiling(place).per_second) {
    found_.device_sms = attribute(place, cudaDevAttrMultiProcessorCount);
    found_.terms = examples::little_terms_of(place);
  }

  copy_results take() { return std::move(found_); }

  /// Rows and cells of one workload, on each number of SMs. `random`: its reads are anywhere.
  template <class Work>
  void run(Work work, std::string const& label, bool random) {
    for (std::size_t i = 0; i < given_.sms.size(); ++i) {
      work.max_sms = given_.sms[i];
      auto const name =
          label + ", " +
          sms_text(work.max_sms == 0 ? found_.device_sms : work.max_sms, work.max_sms != 0);
      chosen_.say(static_cast<int>(i), static_cast<int>(given_.sms.size()), name);
      auto const visit = [&](auto how, auto const& action) {
        auto const why = workloads::why_unsupported(place_, work, how);
        if (why) {
          add_distinct(found_.left_out, label + ": left out: " + *why);
        } else {
          action(pipeline{work, place_, submit::sequential{.items = items(work)}, how});
        }
      };
      each_strategy([&](auto how) {
        visit(how, [&](auto const& what) { add_row(what, how, label, random); });
      });
      copy_cell cell{name, {}};
      each_compared_strategy([&](auto how) {
        visit(how, [&](auto const& what) { cell.all.add(what, describe(how)); });
      });
      if (cell.all.runs().size() > 1) { found_.cells.push_back(std::move(cell)); }
    }
  }

 private:
  /// So many items that batches take about as long, whatever the workload and the cap: all cells
  /// together take some minutes.
  template <class Work>
  int items(Work const& work) const {
    double const used = work.max_sms == 0 ? found_.device_sms : work.max_sms;
    double const read_alone = static_cast<double>(given_.bytes) / work.item_traffic().bytes();
    return std::max(1, static_cast<int>(20 * read_alone * used / found_.device_sms + 0.5));
  }

  template <class Pipeline, class Strategy>
  void add_row(Pipeline const& what, Strategy how, std::string const& label, bool random) {
    auto built = std::make_unique<rig<Pipeline>>(what);
    if (auto const wrong = built->verify(0)) {
      throw std::runtime_error(label + " with " + describe(how) + " is wrong: " + *wrong);
    }
    measure::pipeline_subject<Pipeline> subject{std::move(built)};
    subject.warm(0, 2);
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) { seconds.push_back(subject.time(0, 1)[measure::clock::gpu]); }
    auto const traffic = what.batch_traffic();
    copy_row row;
    row.workload = label;
    row.strategy = describe(how);
    row.capped = what.work.max_sms != 0;
    row.sms = row.capped ? what.work.max_sms : found_.device_sms;
    auto const use = use_of<Strategy>(what.work);
    row.in_flight = examples::bytes_in_flight(
        row.sms, row.capped ? 1 : resident_blocks(use, what.work.threads), 1, use.in_flight);
    auto const mix = traffic.bytes() / traffic.bytes_read;  // the traffic has writes too
    row.limit = mix < 1.001 ? found_.terms.read_bytes_per_second : copy_limit_;
    predict(row, found_.terms, mix, random);
    row.measured = traffic.bytes() / stats::summarise(seconds).median;
    found_.rows.push_back(std::move(row));
  }

  /// Blocks that an SM holds at most, by threads and shared memory; registers may allow fewer.
  int resident_blocks(block_use const& use, int threads) const {
    int const by_threads = attribute(place_, cudaDevAttrMaxThreadsPerMultiProcessor) / threads;
    auto const room = attribute(place_, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    auto const taken =
        use.shared_bytes + attribute(place_, cudaDevAttrReservedSharedMemoryPerBlock);
    return std::max(1, std::min(by_threads, static_cast<int>(room / taken)));
  }

  on::device place_;
  copy_parameters const& given_;
  cli::options const& chosen_;
  double copy_limit_;
  copy_results found_;
};

}  // namespace

std::vector<std::string> copy_strategy_names() {
  std::vector<std::string> all;
  each_strategy([&](auto how) { all.push_back(describe(how)); });
  return all;
}

copy_results copy_on_device(copy_parameters const& given, cli::options const& chosen) {
  on::device const place{chosen.device};
  check(cudaSetDevice(place.id));
  bench all{place, given, chosen};
  auto const wanted = [&](char const* name) {
    return std::ranges::find(given.workloads, name) != given.workloads.end();
  };
  if (wanted("streaming_sum")) {
    all.run(workloads::streaming_sum<float>{.elements = given.bytes / 4}, "streaming_sum<float>",
            false);
  }
  for (auto const row : wanted("row_gather") ? given.row_bytes : std::vector<std::int64_t>{}) {
    all.run(
        workloads::row_gather{
            .rows = given.bytes / row, .table_rows = 2 * given.bytes / row, .row_bytes = row},
        "row_gather " + report::byte_size(static_cast<double>(row)), true);
  }
  if (wanted("scale_add")) {
    all.run(workloads::scale_add<float>{.elements = given.bytes / 8}, "scale_add<float>", false);
  }
  if (wanted("transpose")) {
    auto const side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(given.bytes / 4)));
    all.run(workloads::transpose{.rows = side, .columns = side}, "transpose", false);
  }
  return all.take();
}

}  // namespace assay::examples
