// SPDX-License-Identifier: Apache-2.0
/// @file
/// The command line of assay_compare.
#pragma once

#include "cli.hpp"

#include <assay/measure/remote_subject.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

/// The program and its statistics, in three lines.
inline constexpr auto compare_description =
    "Compares two builds of a program that calls assay::serve, or two commands. Each program "
    "starts anew in every epoch; the programs work in turn, in random order.\n"
    "The verdict comes from the Hodges-Lehmann estimate and the exact signed-rank interval over "
    "epochs, with several interim analyses.\n"
    "All false verdicts together, over all cases, have at most the chance --alpha. A second "
    "instance of OLD shows how much two equal programs differ.";

/// The values of the command line of assay_compare.
struct compare_request {
  std::vector<std::string> programs, commands, given_labels;
  std::string one_case, margin = "1%", alpha = "5%", clock, seed;
  double max_seconds = 10, timeout = 60;
  cli::options chosen;

  bool of_commands() const { return !commands.empty(); }
  std::vector<std::string> labels() const {
    auto names = !given_labels.empty() ? given_labels : of_commands() ? commands : programs;
    if (names[0] == names[1]) { names[1] += " (again)"; }
    return names;
  }
  measure::remote_options remote() const {
    return {.timeout = std::chrono::duration<double>{timeout}};
  }
};

/// Adds all options to the parser.
inline void declare(CLI::App& app, compare_request& into) {
  auto const shown = [](CLI::Option* made) { return made->capture_default_str(); };
  app.set_help_flag("--help,-h", "print this text");
  auto* const programs = app.add_option("PROGRAM", into.programs, "OLD and NEW, as ./old ./new");
  auto* const one = app.add_option("--case", into.one_case, "this case; else each that both have");
  app.add_option("--command", into.commands, "a shell command; give the option twice")
      ->allow_extra_args(false)
      ->excludes(programs)
      ->excludes(one);
  app.add_option("--labels", into.given_labels, "two names for the report")
      ->delimiter(',')
      ->expected(2)
      ->allow_extra_args(false);
  app.add_flag("--list", into.chosen.list, "name the cases that both have and do nothing else");
  shown(app.add_option("--margin", into.margin, "a difference smaller than this does not matter"));
  shown(app.add_option("--alpha", into.alpha, "chance of any false difference"));
  app.add_option("--clock", into.clock, "the clock that decides; else as the program says")
      ->check(CLI::IsMember({"wall", "gpu", "submit"}));
  shown(app.add_option("--epochs", into.chosen.epochs, "at most so many epochs per case"))
      ->check(CLI::Range(1, 1000000));
  shown(app.add_option("--max-seconds", into.max_seconds, "time limit per case"))
      ->check(CLI::Range(1e-3, 1e6));
  shown(app.add_option("--timeout", into.timeout, "seconds until a silent program is killed"))
      ->check(CLI::Range(1e-3, 1e6));
  app.add_option("--seed", into.seed, "repeats the inputs and the order of a run");
  app.add_option("--json", into.chosen.json, "write everything; several cases: to X.CASE.json")
      ->check(cli::no_option);
  app.add_option("--fail-if", into.chosen.fail_if, "exit with 3 if any of these holds")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(cli::gate_names()));
  app.add_flag("--quiet", into.chosen.quiet, "no report and no progress");
  app.footer(cli::exit_code_help);
}

/// Throws `std::invalid_argument` for what the parser cannot know.
inline void settle(compare_request& of) {
  auto const refuse = [](std::string const& why) { throw std::invalid_argument(why); };
  if (of.of_commands() && of.commands.size() != 2) { refuse("--command: give it twice"); }
  if (!of.of_commands() && of.programs.size() != 2) { refuse("PROGRAM: name two; see --help"); }
  using cli::detail::value_of;
  auto const share = [&](char const* option, std::string const& text) {
    auto const value = value_of(option, [&] { return cli::parse_share(text); });
    if (!(value > 0 && value < 1)) {
      refuse(option + (" " + text) + ": it must lie between 0 and 100 %");
    }
    return value;
  };
  of.chosen.margin = share("--margin", of.margin);
  of.chosen.alpha = share("--alpha", of.alpha);
  if (!of.seed.empty()) {
    of.chosen.seed = value_of("--seed", [&] { return cli::parse_seed(of.seed); });
  }
  cli::require_outputs(of.chosen);
}

}  // namespace assay::examples
