// SPDX-License-Identifier: Apache-2.0
// How long does a verdict of the referee take on a kernel of 50 us, in a process that is kept?
// Candidates of tests/referee/device_candidates.cu come one after another, as from a search.
// Predicts: at most 1 s, the first one aside, for which the processes of the reference start.
#include "support/result.hpp"

#include <assay/referee/json.hpp>
#include <assay/referee/run_referee.hpp>
#include <assay/stats/summary.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
namespace fs = std::filesystem;

int main(int argc, char** argv) {
  std::string problem;
  std::string library;
  auto const body = [&](benchmark::options const& chosen, report::document& figures) {
    if (problem.empty() || library.empty()) {
      throw std::invalid_argument("name --problem PROGRAM and --candidates LIBRARY");
    }
    auto const folder = fs::temp_directory_path() / ("referee." + std::to_string(::getpid()));
    fs::create_directory(folder);
    referee_session session{{problem}};
    std::vector<double> seconds;
    std::vector<double> kernels;
    std::map<std::string, double> waits;
    int accused = 0;
    int const rounds = chosen.quick ? 1 : 8;
    for (int i = 0; i < rounds; ++i) {
      for (auto const* name : {"plain", "two-parts", "zeros-first", "joined-stream", "workspace"}) {
        auto const path = folder / (name + std::string{".so"});
        if (i == 0) { fs::create_symlink(fs::absolute(library), path); }
        auto const found = session.judge(path.string());
        std::cout << report::json_line(found) << std::endl;
        accused += found.is_accused() ? 1 : 0;
        seconds.push_back(found.seconds);
        for (auto const& each : found.waits) {
          std::cout << each.seconds << " s: " << each.times << " x " << each.request << '\n';
          if (seconds.size() > 1) { waits[each.request] += each.seconds; }
        }
        if (found.timed) {
          kernels.push_back(found.timed->variants.at(0).on(found.timed->primary).median);
        }
      }
    }
    fs::remove_all(folder);
    auto const sorted = [](std::vector<double> values) {
      std::ranges::sort(values);
      return values;
    };
    figures["first_seconds"] = seconds.front();
    seconds.erase(seconds.begin());
    seconds = sorted(std::move(seconds));
    figures["verdicts"] = seconds.size();
    figures["accused"] = accused;
    figures["seconds"] = {{"p50", stats::quantile(seconds, 0.5)},
                          {"p99", stats::quantile(seconds, 0.99)},
                          {"limit", 1}};
    for (auto const& [request, all] : waits) {
      figures["mean_seconds_of_waits"][request] = all / static_cast<double>(seconds.size());
    }
    figures["kernel_us"] = 1e6 * stats::quantile(sorted(kernels), 0.5);
    std::cout << figures.dump(1) << '\n';
  };
  auto const into = [](std::string& to) { return [&to](std::string const& value) { to = value; }; };
  return benchmark::run(argc, argv, "referee", body,
                        {{"--problem", "PROGRAM", "test's problem for a device", into(problem)},
                         {"--candidates", "LIBRARY", "test's candidates", into(library)}});
}
