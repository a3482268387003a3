// SPDX-License-Identifier: Apache-2.0
// assay-uses: cli
// assay-test-args: --quick --max-bytes 4MiB --compare-bytes 1MiB --epochs 8
//
// How near does each transfer come to what the link carries, and what holds it back? From which
// size on does which transfer pay? Each transfer is timed at 1 MiB each way, 2 MiB, 4 MiB and so
// on. The verdicts compare each transfer with the next faster one. Without a GPU, CPU threads add
// two arrays. Predicts for 64 MiB: chunks that overlap take 60 % of the time of one copy after
// another, and at most 10 % more than the link alone. Threads stage pageable memory faster than the
// driver does.
// --epochs 8

#include "../tracing/tracing.hpp"
#include "link_ceilings.hpp"
#include "options.hpp"
#include "report.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cli/host_half.hpp>
#include <assay/cli/run.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace assay;

namespace {

examples::link_ceilings ceilings_of(on::device place, examples::overlap_parameters const& given,
                                    cli::options const& chosen) {
  examples::link_options link;
  link.bytes = std::min(link.bytes, given.max_bytes);
  link.repetitions = given.repetitions;
  link.progress = [&](std::string_view what) {
    chosen.say(0, 1, "ceilings: " + std::string{what});
  };
  return examples::link_ceilings_of(place, link);
}

/// Each variant against the one before.
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
  if (chosen.list) {
    examples::each_transfer([](auto const& how) { std::cout << how.name << '\n'; });
    return {};
  }
  on::device const place{chosen.device};
  require_device(place);
  auto const ceilings = ceilings_of(place, given, chosen);
  if (!chosen.quiet) { examples::print_ceilings(std::cout, ceilings); }
  auto const rows = examples::overlap_rows(given, place, explaining.by(), chosen);
  if (!chosen.quiet) {
    examples::print_rows(std::cout, rows);
    std::cout << '\n';
  }
  auto const all = examples::overlap_variants(given, place, rows);
  auto measuring = chosen.measuring();
  measuring.title = "How shall " + report::byte_size(static_cast<double>(given.compare_bytes)) +
                    " cross the link each way? Each transfer against the next faster one";
  auto found = all.compare(neighbours(all.names()), measuring);
  explaining.explain(chosen, found, all.runs(), cli::explaining::before);
  found.answers = examples::overlap_answers(rows, ceilings);
  return found;
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
