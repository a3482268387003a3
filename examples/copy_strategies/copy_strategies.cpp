// SPDX-License-Identifier: Apache-2.0
// assay-uses: cli
// assay-test-args: --quick --bytes 1MiB --sms 4
//
// When does it matter how a kernel brings in its tiles: by plain loads, cp.async, or bulk copies?
// A sum, a gather, a scaled sum and a transpose run on some SMs with one block each (the cap), and
// on all SMs, full of blocks. Beside each time stands what Little's law allows with the bytes in
// flight. Without a GPU, the sum runs on CPU threads.
// Predicts: one block of 256 threads has 16 KiB in flight by plain loads, 32 by cp_async<2> and 64
// by bulk<4>. An H200 needs some 25 to 50 KiB on each SM. So under the cap, asynchronous copies win
// up to 2x, bulk copies most, and short rows gain least. With all SMs full, nothing differs by more
// than a few percent.
// Measured on one H200: 11.7 KiB on each SM are enough by the latency of an idle memory. Under the
// cap, bulk<4> has twice the bytes of cp_async<2> in flight and is 1 to 20 % faster, but 7 % slower
// for rows of 256 bytes. bulk<4> transposes at 0.74 of the rate of plain loads under the cap, and
// at 0.94 on all SMs. With as many bytes in flight as bulk<4>, cp_async<4> sums 1.6 times as fast
// on 4 to 32 SMs.

#include "../tracing/tracing.hpp"
#include "../workloads/streaming_sum.hpp"
#include "options.hpp"
#include "report.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/cli/join.hpp>
#include <assay/cli/run.hpp>
#include <assay/measure/compare_pipelines.hpp>

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
