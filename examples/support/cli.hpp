// SPDX-License-Identifier: Apache-2.0
/// @file
/// The command line that all examples share: how to measure, where to write, when to fail.
#pragma once

#include "gate.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "parse.hpp"

#include <assay/measure/environment.hpp>
#include <assay/report/progress.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::cli {

/// The commit that the build was told of; empty where it was not.
inline std::string commit() {
#ifdef ASSAY_COMMIT
  return ASSAY_COMMIT;
#else
  return {};
#endif
}

namespace detail {

/// The words of options whose values need more than a number's parsing.
struct words {
  std::string margin = "1%", alpha = "5%", clock = "wall", seed;
};

inline void declare(CLI::App& app, options& into, words& raw) {
  auto const measuring = "Measuring";
  app.add_option("--margin", raw.margin, "a difference smaller than this does not matter")
      ->capture_default_str()
      ->group(measuring);
  app.add_option("--alpha", raw.alpha, "chance of any false difference over the whole table")
      ->capture_default_str()
      ->group(measuring);
  app.add_option("--clock", raw.clock, "the clock that decides: wall, gpu or submit")
      ->capture_default_str()
      ->group(measuring);
  app.add_option("--seed", raw.seed, "repeats the inputs and the order of a run")->group(measuring);
  app.add_option("--epochs", into.epochs, "stop after at most so many epochs; 12 with --quick")
      ->capture_default_str()
      ->group(measuring);
  app.add_flag("--resolve", into.resolve, "run on for a sign where equivalence is already shown")
      ->group(measuring);
  app.add_flag("--quick", into.quick, "smaller and shorter, to see that it works")
      ->group(measuring);
  auto* const device = app.add_option("--device", into.device, "CUDA ordinal of the GPU")
                           ->capture_default_str()
                           ->group("Place");
  app.add_flag("--host", into.host, "run the host half, also where there is a GPU")
      ->excludes(device)
      ->group("Place");
  auto const output = "Output";
  app.add_option("--json", into.json, "write everything as JSON")->group(output);
  app.add_option("--csv", into.csv, "write findings to X.csv, X.arms.csv and X.cells.csv beside it")
      ->group(output);
  app.add_option("--text", into.text, "write the report that the terminal shows")->group(output);
  app.add_flag("--list", into.list, "name the variants and do nothing else")->group(output);
  app.add_flag("--quiet", into.quiet, "no report and no progress: files and exit code only")
      ->group(output);
  app.add_option("--fail-if", into.fail_if, "exit with 3 if any holds: " + joined(gate_names()))
      ->delimiter(',')
      ->group(output);
  app.footer(exit_code_help);
}

/// Calls `parse` for the value of an option; a refusal is prefixed with the option's name.
template <class Parse>
auto value_of(std::string_view option, Parse const& parse) {
  try {
    return parse();
  } catch (std::invalid_argument const& error) {
    throw std::invalid_argument(std::string{option} + ": " + error.what());
  }
}

inline void settle(options& into, words const& raw, CLI::App const& app) {
  auto const share = [](std::string_view option, std::string const& text) {
    auto const value = value_of(option, [&] { return parse_share(text); });
    if (value > 0 && value < 1) { return value; }
    throw std::invalid_argument(std::string{option} + " " + text +
                                ": it must lie between 0 and 100 %, such as 1%");
  };
  into.margin = share("--margin", raw.margin);
  into.alpha = share("--alpha", raw.alpha);
  std::vector<std::string> clocks;
  for (auto const which : measure::all_clocks) { clocks.emplace_back(to_string(which)); }
  into.clock =
      measure::all_clocks[value_of("--clock", [&] { return choose("clock", raw.clock, clocks); })];
  if (into.quick && app.count("--epochs") == 0) { into.epochs = 12; }
  require_count("--epochs", into.epochs);
  into.device_named = app.count("--device") != 0;
  require_between("--device", into.device, 0, std::numeric_limits<int>::max());
  for (auto const& condition : into.fail_if) {
    value_of("--fail-if", [&] { return choose("condition", condition, gate_names()); });
  }
  if (app.count("--seed") != 0) {
    into.seed = value_of("--seed", [&] { return parse_seed(raw.seed); });
  } else {
    std::random_device entropy;
    into.seed = std::max<std::uint64_t>(1, (std::uint64_t{entropy()} << 32U) | entropy());
  }
  for (auto const& [option, path] : {std::pair{"--json", &into.json}, std::pair{"--csv", &into.csv},
                                     std::pair{"--text", &into.text}}) {
    if (app.count(option) != 0 && path->empty()) {
      throw std::invalid_argument(std::string{option} + " '': name a file");
    }
  }
}

/// The message of an exception and of those nested in it, on one line.
inline std::string one_line(std::exception const& error) {
  std::string text = error.what();
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) {
    auto const why = one_line(cause);
    if (text.find(why) == std::string::npos) { text += ": " + why; }
  } catch (...) { text += ": unknown cause"; }
  std::string line;
  for (char const each : text) {
    auto const blank = each == '\n' || each == '\r';
    if (!blank) { line += each; }
    if (blank && !line.empty() && line.back() != ' ') { line += ' '; }
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

/// What ended a comparison that failed.
inline std::string why_failed(measure::comparison const& all) {
  if (!all.failure.empty()) { return all.failure; }
  for (auto const& each : all.findings) {
    if (each.primary) { return each.reason; }
  }
  return "the comparison ended without a finding";
}

/// Whether an exception, or any nested in it, says that an argument was refused.
inline bool is_bad_input(std::exception const& error) {
  if (dynamic_cast<std::invalid_argument const*>(&error) != nullptr) { return true; }
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) { return is_bad_input(cause); } catch (...) {
  }
  return false;
}

}  // namespace detail

/// Parses the command line, runs the experiment, writes its reports, and returns the exit code.
///
/// `configure(app)` adds an example's own options. `body(options const&)` runs it and returns a
/// `measure::comparison`, or an empty `std::optional` of one when there is nothing to report
/// (`--list`). Outputs are asked for before the body runs. Exceptions become one line on `err`:
/// `std::invalid_argument` is bad input, all others are failures of the run.
template <class Configure, class Body>
int run(int argc, char const* const* argv, std::string const& description,
        Configure const& configure, Body const& body, std::ostream& out = std::cout,
        std::ostream& err = std::cerr) {
  auto const complain = [&](std::string const& what) { err << "error: " << what << '\n'; };
  try {
    CLI::App app{description};
    options chosen;
    detail::words raw;
    detail::declare(app, chosen, raw);
    configure(app);
    try {
      app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
      out << app.help();
      return ok;
    } catch (CLI::ParseError const& error) {
      complain(detail::one_line(error) + "; see --help");
      return bad_input;
    }
    detail::settle(chosen, raw, app);
    require_outputs(chosen);
    chosen.where = measure::host_environment(commit(), measure::command_line(argc, argv));
    chosen.progress = std::make_shared<report::progress_line>(
        err, !chosen.quiet && &err == &std::cerr && report::stderr_is_terminal());
    std::optional<measure::comparison> found;
    {
      detail::interrupt_guard const guard;
      found = body(std::as_const(chosen));
    }
    chosen.progress->finish();
    if (!found) { return ok; }
    measure::fill_unknown(found->where, chosen.where);
    write_outputs(chosen, *found, out);
    if (has_failed(*found)) { complain(detail::why_failed(*found)); }
    return judge(*found, chosen.fail_if);
  } catch (std::bad_alloc const&) {
    complain("out of memory; choose smaller sizes");
    return failed;
  } catch (std::exception const& error) {
    complain(detail::one_line(error));
    return detail::is_bad_input(error) ? bad_input : failed;
  }
}

}  // namespace assay::cli
