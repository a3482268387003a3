// SPDX-License-Identifier: Apache-2.0
// assay-uses: cli
// assay-test-flags: -O1
// assay-test-args: --quick --bytes 1MiB --sms 4
//
// When does it matter how a kernel brings in its tiles: by plain loads, cp.async, or bulk copies?
// A sum, a gather, a scaled sum and a transpose run on some SMs with one block each (the cap), and
// on all SMs, full of blocks. Without a GPU, the sum runs on CPU threads. The benchmark
// copy_strategies has what Little's law allows with the bytes in flight.
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

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/sweep.hpp>
#include <assay/core/device.hpp>
#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <optional>
#include <vector>

using namespace assay;

namespace {

std::optional<measure::comparison> on_device(examples::copy_options const& asked,
                                             cli::options const& chosen,
                                             cli::explaining const& explaining) {
  on::device const place{chosen.device};
  require_device(place);
  auto const sms = attribute(place, cudaDevAttrMultiProcessorCount);
  auto const given = asked.read(chosen.quick, sms);
  auto const points = examples::copy_points(given, sms);
  auto const variants_at = [&](point const& at) {
    return examples::copy_on_device(given, place, at);
  };
  if (chosen.list) { return cli::list_or_compare(chosen, variants_at(points.front()), {}); }
  auto measuring = chosen.measuring;
  measuring.title = "When does the way a kernel brings in its tiles matter?";
  measuring.changed = "copy";
  measuring.profiled_batches = 0;
  measuring.max_seconds *= static_cast<double>(points.size());  // the limit is each cell's
  chosen.say_limit(measuring.max_seconds);
  return cli::sweep(points, measuring, [&](point const& at, measure::options const& own) {
    auto const all = variants_at(at);
    auto found = all.compare(own);
    explaining.explain(chosen, found, all.runs(), cli::explaining::first, at.label() + ' ');
    for (auto& each : found.variants) {  // the point says the rest
      std::erase_if(each.axes, [](auto const& axis) { return axis.first != "copy"; });
    }
    return found;
  });
}

/// Strategies are choices of kernels, so the host has the sum by one thread and by all.
std::optional<measure::comparison> on_host(examples::copy_options const& asked,
                                           cli::options const& chosen) {
  auto const bytes = chosen.quick ? std::int64_t{4} << 20U : asked.read(false, 0).bytes;
  pipeline const control{workloads::streaming_sum<float>{.elements = bytes / 4}, on::host{1},
                         submit::sequential{.items = 4}};
  auto measuring = chosen.measuring_on(control.place);
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
