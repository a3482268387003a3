// SPDX-License-Identifier: Apache-2.0
// Is the kernel that a search or a model has written really faster, and honest? A problem is a
// program that calls assay::serve_problem; a candidate is a shared library.
// assay-uses: cli
// assay-test-args: --help

#include <assay/cli/guarded.hpp>
#include <assay/cli/parse.hpp>
#include <assay/referee/json.hpp>
#include <assay/referee/run_referee.hpp>
#include <assay/referee/text.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace assay;

namespace {

/// The values of the command line.
struct referee_request {
  std::string problem, margin = "1%", alpha = "5%", seed;
  std::vector<std::string> candidates;
  double max_seconds = 10, timeout = 20;
  bool json = false, untimed = false;
};

void declare(CLI::App& app, referee_request& into) {
  auto const shown = [](CLI::Option* made) { made->capture_default_str(); };
  app.set_help_flag("--help,-h", "print this text");
  app.add_option("PROBLEM", into.problem, "a program that calls assay::serve_problem")->required();
  app.add_option("CANDIDATE", into.candidates,
                 "shared libraries; none: their names come from standard input, one a line");
  app.add_flag("--json", into.json, "one line of JSON for each candidate");
  app.add_flag("--untimed", into.untimed, "only look for charges");
  shown(app.add_option("--margin", into.margin, "a difference smaller than this does not matter"));
  shown(app.add_option("--alpha", into.alpha, "chance of a false difference, for each candidate"));
  shown(app.add_option("--max-seconds", into.max_seconds, "time limit of a comparison"));
  shown(app.add_option("--timeout", into.timeout, "seconds until a silent candidate is killed"));
  app.add_option("--seed", into.seed, "repeats the order of the cells; no input repeats");
  app.footer(
      "Exit codes: 0 no candidate is accused; 1 one is; 2 bad input, nothing was run; 4 the "
      "problem failed.");
}

referee_options options_of(referee_request const& from) {
  referee_options chosen;
  chosen.measuring.margin = cli::read_share("--margin", from.margin);
  chosen.measuring.alpha = cli::read_share("--alpha", from.alpha);
  cli::require_between("--max-seconds", from.max_seconds, 1e-3, 1e6);  // CLI::Range lets NaN pass
  cli::require_between("--timeout", from.timeout, 1e-3, 1e6);
  chosen.measuring.max_seconds = from.max_seconds;
  chosen.limits.timeout = std::chrono::duration<double>{from.timeout};
  chosen.timed = !from.untimed;
  if (!from.seed.empty()) {
    chosen.measuring.seed = cli::value_of("--seed", [&] { return cli::parse_seed(from.seed); });
  }
  return chosen;
}

int run(referee_request const& asked) {
  referee_session session{{asked.problem}, options_of(asked)};
  bool accused = false;
  auto const judge = [&](std::string const& candidate) {
    auto const found = session.judge(candidate);
    accused = accused || found.is_accused();
    if (asked.json) {
      std::cout << report::json_line(found) << std::endl;
    } else {
      std::cout << found << std::flush;
    }
  };
  for (auto const& each : asked.candidates) { judge(each); }
  std::string line;
  while (asked.candidates.empty() && std::getline(std::cin, line)) {
    if (!line.empty()) { judge(line); }
  }
  return accused ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  referee_request asked;
  CLI::App app{
      "Judges candidates: kernels from outside, as shared libraries with the symbols of "
      "assay/referee/candidate.h. Looks for the cheats and errors that docs/referee.md names, "
      "then times what is left against the reference of the problem.",
      "assay_referee"};
  declare(app, asked);
  return cli::guarded(app, argc, argv, [&] { return run(asked); }, std::cout, std::cerr);
}
