// SPDX-License-Identifier: Apache-2.0
// Do all ranks of a job end with the same error, whatever happens to one of them? 1,000 drawn runs
// of 2 to 64 processes on loopback, with a fault each. Predicts: no hang, and no rank that says
// anything else. Then the time of calls without faults, by the number of ranks.
//
// Ends with 1 where a rank says what it should not.

#include "support/world_faults.hpp"
#include "support/host_result.hpp"

#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace assay;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// The number of runs with a complaint.
int inject(int runs, report::document& figures) {
  auto const faults = benchmark::all_faults();
  stats::random_source from{51};
  double longest = 0;
  int wrong = 0;
  std::vector<int> count(faults.size());
  for (int i = 0; i < runs; ++i) {
    auto const which = from.below(faults.size());
    auto const ranks = static_cast<int>(2 + from.below(i % 10 == 0 ? 63 : 7));
    auto const first = faults[which].by_rank_0 ? 0 : 1;
    auto const victim =
        first + static_cast<int>(from.below(static_cast<std::size_t>(ranks - first)));
    benchmark::reserved_port const port;
    auto const begin = clock_type::now();
    auto const why = benchmark::complaint(
        faults[which], {.ranks = ranks, .victim = victim, .port = port.number()});
    longest = std::max(longest, seconds_since(begin));
    ++count[which];
    if (!why.empty()) {
      ++wrong;
      std::cout << "run " << i << ": " << why << '\n';
    }
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    figures["faults"].push_back(report::document{{"fault", faults[i].name}, {"trials", count[i]}});
  }
  figures["trials"] = runs;
  figures["wrong_or_hung"] = wrong;
  figures["longest_run_s"] = longest;
  std::cout << runs << " faults, " << wrong << " runs wrong or hung, the longest took " << longest
            << " s\n";
  return wrong;
}

/// Medians in microseconds: from a broadcast to a follower that has it, and of a barrier on rank 0.
void time_calls(int ranks, int calls, report::document& figures) {
  benchmark::reserved_port const port;
  benchmark::job const at{.ranks = ranks, .port = port.number()};
  auto const said = benchmark::run_ranks(ranks, [&](int rank) {
    auto const all = world::meet(at.of(rank));
    std::vector<double> followed, barriers;
    for (int i = 0; i < calls; ++i) {
      auto const begin = clock_type::now();
      all.barrier();
      barriers.push_back(1e6 * seconds_since(begin));
      // The clock is the same in all processes of a machine.
      std::string sent(sizeof(clock_type::time_point), '\0');
      auto now = clock_type::now();
      std::memcpy(sent.data(), &now, sizeof now);
      auto const got = all.broadcast(sent);
      std::memcpy(&now, got.data(), sizeof now);
      followed.push_back(1e6 * seconds_since(now));
    }
    return std::to_string(stats::summarise(rank == 0 ? barriers : followed).median);
  });
  auto const barrier = std::stod(said[0]), follow = std::stod(said[1]);
  figures["calls"].push_back(
      report::document{{"ranks", ranks}, {"broadcast_us", follow}, {"barrier_us", barrier}});
  std::cout << ranks << " ranks: rank 1 has a broadcast after " << follow << " us, a barrier takes "
            << barrier << " us\n";
}

}  // namespace

int main(int argc, char** argv) {
  int wrong = 0;
  int const code = benchmark::run_on_host(
      argc, argv, "world_faults",
      [&](benchmark::host_options const& options, report::document& figures) {
        wrong = inject(options.quick ? 20 : 1000, figures);
        for (int const ranks : {2, 4, 16, 64}) {
          time_calls(ranks, options.quick ? 20 : 1000, figures);
        }
      });
  return code != 0 ? code : wrong == 0 ? 0 : 1;
}
