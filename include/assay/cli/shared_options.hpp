// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `run.hpp`: declares the options that all experiments share, and reads their values.
/// Needs CLI11.
#pragma once

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/parse.hpp>
#include <assay/stats/random_source.hpp>

#include <CLI/CLI.hpp>

#include <limits>
#include <string>
#include <vector>

namespace assay::cli {

/// The options that all experiments share, on a command line.
class shared_options {
 public:
  /// Declares the options. Options that are declared after them are listed under "Experiment".
  explicit shared_options(CLI::App& app) : app_(app) {
    app.option_defaults()->group("Measuring");
    shown("--margin", margin_, "a difference smaller than this does not matter");
    shown("--alpha", alpha_, "chance of any false difference over the whole table");
    shown("--clock", clock_, "the clock that decides: wall, gpu or submit");
    app.add_option("--seed", seed_, "repeats the inputs and the order of a run");
    shown("--epochs", chosen_.measuring.max_epochs,
          "stop after at most so many epochs; 12 with --quick");
    shown("--max-seconds", chosen_.measuring.max_seconds,
          "stop when the next analysis would come later than this; the first one always comes");
    app.add_flag("--resolve", chosen_.measuring.run_until_sign,
                 "after EQUIVALENT, run on until it is clear which variant is faster");
    app.add_flag("--require-checks", chosen_.measuring.require_checks,
                 "time nothing unless all results of all variants are checked");
    app.add_flag("--quick", chosen_.quick, "smaller and shorter, to see that it works");
    app.option_defaults()->group("Place");
    auto* const device = shown("--device", chosen_.device, "CUDA ordinal of the GPU");
    app.add_flag("--host", chosen_.host, "run the host half, also where there is a GPU")
        ->excludes(device);
    app.option_defaults()->group("Output");
    for (auto const& format : file_formats()) {
      if (!format.part.empty()) { continue; }
      std::string const option{format.option};
      app.add_option_function<std::string>(
             option, [this, option](std::string const& path) { chosen_.files[option] = path; },
             std::string{format.help})
          ->check(no_option);
    }
    app.add_flag("--list,-l", chosen_.list, "name the variants and do nothing else");
    app.add_flag("--full", chosen_.full,
                 "print all lines of the report instead of " + std::to_string(screen_lines));
    app.add_flag("--quiet,-q", chosen_.quiet,
                 "no report and no progress: files and exit code only");
    app.add_option("--fail-if", chosen_.fail_if,
                   "exit with 3 if any holds: " + joined(gate_names()))
        ->delimiter(',');
    app.footer(exit_code_help);
    app.option_defaults()->group("Experiment");
  }

  /// The values, after the command line is parsed. Throws `std::invalid_argument` for those that
  /// are not possible, and tries all files.
  options read() {
    auto& measuring = chosen_.measuring;
    measuring.margin = read_share("--margin", margin_);
    measuring.alpha = read_share("--alpha", alpha_);
    std::vector<std::string> clocks;
    for (auto const which : measure::all_clocks) { clocks.emplace_back(to_string(which)); }
    measuring.clock = measure::all_clocks[choose("--clock", "clock", clock_, clocks)];
    if (chosen_.quick && app_.count("--epochs") == 0) { measuring.max_epochs = 12; }
    require_count("--epochs", measuring.max_epochs);
    require_between("--max-seconds", measuring.max_seconds, 1e-3, 1e6);
    chosen_.device_named = app_.count("--device") != 0;
    require_between("--device", chosen_.device, 0, std::numeric_limits<int>::max());
    for (auto const& condition : chosen_.fail_if) {
      choose("--fail-if", "condition", condition, gate_names());
    }
    measuring.run_until_margin = asks_for_size(chosen_.fail_if);
    measuring.seed = app_.count("--seed") == 0
                         ? stats::draw_seed()
                         : value_of("--seed", [&] { return parse_seed(seed_); });
    require_outputs(chosen_);
    return chosen_;
  }

 private:
  template <class Value>
  CLI::Option* shown(std::string const& name, Value& into, std::string const& what) {
    return app_.add_option(name, into, what)->capture_default_str();
  }

  CLI::App& app_;
  options chosen_;
  std::string margin_ = "1%", alpha_ = "5%", clock_ = "wall", seed_;
};

}  // namespace assay::cli
