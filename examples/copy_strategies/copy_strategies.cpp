// SPDX-License-Identifier: Apache-2.0
// When does the way a kernel brings in its tiles matter: plain loads, cp.async, or bulk copies?
// Sum, gather, scaled sum and transpose on some SMs with one block each, and on all of them full,
// beside what Little's law says of the bytes in flight. Without a GPU, the sum by CPU threads.
// Predicts: one block of 256 threads has 16 KiB in flight by plain loads, 32 by cp.async<2>, 64 by
// bulk<4>, and an H200 asks for some 25 to 50 an SM: async copies win up to 2x under the cap, bulk
// ones most, short rows least; with all SMs full, nothing differs by more than a few percent.
// What that missed, on one H200: by the latency of an idle memory 11.7 KiB an SM are enough. Under
// the cap bulk<4> is 1 to 20 % ahead of cp_async<2>, with twice its bytes in flight, but 7 % behind
// for rows of 256 bytes; it transposes at 0.74 of the rate of plain loads, with all SMs at 0.94.
// With as many bytes in flight as bulk<4>, cp_async<4> sums 1.6 times as fast on 4 to 32 SMs.
// assay-uses: cli
// assay-test-args: --quick --bytes 1MiB --sms 4

#include "../tracing/tracing.hpp"
#include "options.hpp"
#include "report.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/cli/join.hpp>
#include <assay/cli/run.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/workload/streaming_sum.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

using namespace assay;

namespace {

std::optional<measure::comparison> on_device(examples::copy_options const& asked,
                                             cli::options const& chosen,
                                             cli::explaining const& explaining) {
  if (chosen.list) {
    for (auto const& each : examples::copy_strategy_names()) { std::cout << each << '\n'; }
    return {};
  }
  on::device const place{chosen.device};
  require_device(place);
  auto const given = asked.read(chosen.quick, attribute(place, cudaDevAttrMultiProcessorCount));
  auto const seen = examples::copy_on_device(given, chosen);
  if (!chosen.quiet) { examples::print_copy_rows(std::cout, seen.rows); }
  std::vector<cli::named_comparison> cells;
  for (auto const& [name, all] : seen.cells) {
    auto measuring = chosen.measuring();
    measuring.title = name;
    // All cells of the experiment share the chance of a false difference.
    measuring.alpha /= static_cast<double>(seen.cells.size());
    measuring.profiled_batches = 0;
    auto found = all.compare(measuring);
    explaining.explain(chosen, found, all.runs(), cli::explaining::first, name + ' ');
    cells.emplace_back(name, std::move(found));
  }
  auto joined = cli::join(cells, chosen.alpha);
  joined.title = "When does the way a kernel brings in its tiles matter?";
  joined.changed = "copy";
  joined.notes.insert(joined.notes.end(), seen.left_out.begin(), seen.left_out.end());
  joined.answers = {
      {"What does this memory ask for?", examples::little_lines(seen.terms, seen.device_sms)},
      {"Where does each strategy win, and where does nothing differ?",
       examples::summary_lines(cells)}};
  return joined;
}

/// Strategies are choices of kernels, so the host has the sum by one thread and by all.
std::optional<measure::comparison> on_host(examples::copy_options const& asked,
                                           cli::options const& chosen) {
  auto const bytes = chosen.quick ? std::int64_t{4} << 20U : asked.read(false, 0).bytes;
  pipeline const control{workloads::streaming_sum<float>{.elements = bytes / 4}, on::host{1},
                         submit::sequential{.items = 4}};
  auto measuring = chosen.measuring(control.place);
  measuring.title =
      "A sum on the CPU: by one thread, by all (copy strategies are choices of kernels)";
  auto const every = control.with(on::host{std::max(2, host::all_threads())});
  return cli::list_or_compare(chosen, cli::variants_of(control, every), measuring);
}

}  // namespace

int main(int argc, char** argv) {
  examples::copy_options asked;
  cli::explaining explaining{examples::tracing(), false};  // 35 cells would fill a book
  return cli::run(
      argc, argv,
      {"When does it matter how a kernel brings in its tiles? On a GPU; without one, or with "
       "--host, a sum by CPU threads.",
       ASSAY_COMMIT},
      [&](CLI::App& app) {
        asked.add_to(app);
        explaining.add_to(app);
      },
      [&](cli::options const& chosen) {
        return cli::runs_on_host(chosen, explaining) ? on_host(asked, chosen)
                                                     : on_device(asked, chosen, explaining);
      });
}
