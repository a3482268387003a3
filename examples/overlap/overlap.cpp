// SPDX-License-Identifier: Apache-2.0
// assay-uses: cli
// assay-test-flags: -O1
// assay-test-args: --quick --bytes 1MiB,2MiB
//
// How near does each transfer come to what the link carries, and from which size on does which
// transfer pay? At each size, each transfer is compared with one that is faster for large jobs, and
// its rate with the link with both directions busy. Traces of the largest size say what holds a
// transfer back. Without a GPU, CPU threads add two arrays. The benchmark overlap has the limits of
// each part.
// Predicts for 64 MiB: chunks that overlap take 60 % of the time of one copy after another, and at
// most 10 % more than the link alone. Threads stage pageable memory faster than the driver does.

#include "../tracing/tracing.hpp"
#include "link_rates.hpp"
#include "options.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/sweep.hpp>
#include <assay/core/device.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace assay;

namespace {

/// Compares each variant with the one before.
std::vector<measure::contrast> neighbours(std::vector<std::string> const& names) {
  std::vector<measure::contrast> all;
  for (std::size_t i = 1; i < names.size(); ++i) {
    all.push_back({names[i] + " against " + names[i - 1], measure::contrast::kind::difference,
                   std::vector<double>(names.size(), 0.0)});
    all.back().weights[i - 1] = -1;
    all.back().weights[i] = 1;
  }
  return all;
}

std::optional<measure::comparison> on_device(examples::overlap_parameters const& given,
                                             cli::options const& chosen,
                                             cli::explaining const& explaining) {
  on::device const place{chosen.device};
  require_device(place);
  auto const variants_at = [&](point const& at) {
    return examples::overlap_on_device(given, place, cli::parse_bytes(at.text("size")));
  };
  std::vector<point> points;
  for (auto const& each : given.sizes) { points.push_back({{}, {{"size", each}}}); }
  if (chosen.list) { return cli::list_or_compare(chosen, variants_at(points.back()), {}); }
  machine::ceiling const limit{"the link, both ways at once",
                               examples::link_rates_of(place).both()};
  auto measuring = chosen.measuring;
  measuring.title =
      "How shall bytes cross the link? Each transfer against the one before: mapped, overlapped, "
      "pinned, staged, pageable";
  measuring.changed = "transfer";
  return cli::sweep(points, measuring, [&](point const& at, measure::options const& own) {
    auto const all = variants_at(at);
    auto found = all.compare(neighbours(all.names()), own);
    if (at.text("size") == given.sizes.back()) {
      explaining.explain(chosen, found, all.runs(), cli::explaining::before);
    }
    for (auto& each : found.variants) {  // the size says the rest
      std::erase_if(each.axes, [](auto const& axis) { return axis.first != "transfer"; });
    }
    found.ceilings = {limit};  // a job reads and writes as many bytes as cross the link
    return found;
  });
}

}  // namespace

int main(int argc, char** argv) {
  examples::overlap_options asked;
  cli::explaining explaining{examples::tracing()};
  return cli::run(
      argc, argv,
      {"How near do transfers come to what the link carries? On a GPU; without one, or with "
       "--host, the sum of two arrays on the CPU.",
       ASSAY_COMMIT},
      [&](CLI::App& app) {
        asked.add_to(app);
        explaining.add_to(app);
      },
      [&](cli::options const& chosen) {
        auto const given = asked.read(chosen.quick);
        return cli::runs_on_host(chosen, explaining) ? examples::overlap_on_host(given, chosen)
                                                     : on_device(given, chosen, explaining);
      });
}
