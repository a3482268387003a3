// SPDX-License-Identifier: Apache-2.0
/// @file
/// `run`: an experiment as a program, with the options, files and exit codes that all experiments
/// share. Needs CLI11 and nlohmann_json (CMake target `assay::cli`).
#pragma once

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/shared_options.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/progress.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

namespace assay::cli {

/// A program, for its help and for its reports.
struct program {
  std::string description;
  std::string commit = {};  ///< the commit of the source; empty where unknown
};

namespace detail {

/// The reason for which a comparison failed.
inline std::string why_failed(measure::comparison const& all) {
  if (!all.failure.empty()) { return all.failure; }
  for (auto const& each : all.findings) {
    if (each.primary) { return each.reason; }
  }
  return "the comparison ended without a finding";
}

}  // namespace detail

/// Parses the command line, runs the experiment, writes its reports, and returns the exit code.
///
/// `configure(app)` adds the program's own options. `body(options)` runs the experiment and returns
/// its comparison, or an empty `std::optional` where there is nothing to report (`--list`). It is
/// called when all output files can be written. Exceptions of `body` become one line on `err`:
/// `std::invalid_argument` is bad input, all others are failures of the run.
inline int run(int argc, char const* const* argv, program const& about,
               std::function<void(CLI::App&)> const& configure,
               std::function<std::optional<measure::comparison>(options const&)> const& body,
               std::ostream& out = std::cout, std::ostream& err = std::cerr) {
  CLI::App app{about.description};
  std::optional<shared_options> shared;
  auto const declare = [&] {
    shared.emplace(app);
    configure(app);
  };
  auto const measured = [&]() -> int {
    auto chosen = shared->read();
    chosen.where = machine::host_environment(about.commit, machine::command_line(argc, argv));
    bool const shown = !chosen.quiet && &err == &std::cerr;
    report::progress_line progress{err, shown ? report::stderr_form() : report::progress_form::none,
                                   chosen.measuring.max_seconds};
    chosen.measuring.progress = std::ref(progress);
    chosen.say_limit = [&](double seconds) { progress.limit(seconds); };
    detail::interrupt_guard const guard;
    auto found = body(std::as_const(chosen));
    progress.finish();
    if (!found) {
      chosen.later->end(out, chosen.quiet);
      return ok;
    }
    machine::fill_unknown(found->where, chosen.where);
    write_outputs(chosen, *found, out);
    if (has_failed(*found)) { err << "error: " << detail::why_failed(*found) << '\n'; }
    return judge(*found, chosen.fail_if);
  };
  return guarded(app, argc, argv, measured, out, err, declare);
}

}  // namespace assay::cli
