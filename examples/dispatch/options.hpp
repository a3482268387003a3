// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the experiment. Needs CLI11.
#pragma once

#include <assay/cli/guarded.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/dispatch/path.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/stats/random_source.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment.
struct dispatch_parameters {
  std::vector<std::string> tasks;
  std::vector<int> threads;
  std::size_t largest = std::size_t{1} << 26;
  double budget_seconds = 5;
  std::size_t calls = 200, training = 100, traced = 20, sweep = 0;
  std::uint64_t seed = 0;
  int device = 0;
  bool device_named = false, host = false, quick = false, full = false, quiet = false;
  bool bisects = true;
  std::filesystem::path json, csv, html, svg;

  /// The paths of a task, those on the host first.
  template <class Task>
  std::vector<dispatch::path> paths(bool on_device) const {
    std::vector<dispatch::path> all;
    for (int const each : threads) {
      if constexpr (requires { Task::serves(on::host{each}); }) {
        if (!Task::serves(on::host{each})) { continue; }
      }
      all.emplace_back(on::host{each});
    }
    if (all.empty()) { all.emplace_back(on::host{1}); }
    if (on_device) { all.emplace_back(on::device{device}); }
    return all;
  }
};

/// Reads the parameters from a command line.
class dispatch_options {
 public:
  /// `tasks` are the names of all tasks, and `by_default` those that run if none is named.
  dispatch_options(CLI::App& app, std::vector<std::string> tasks,
                   std::vector<std::string> by_default)
      : app_(app), all_(std::move(tasks)) {
    given_.tasks = std::move(by_default);
    int const all = host::all_threads();
    for (int const each : std::set{1, std::min(4, all), all}) { given_.threads.push_back(each); }
    app.option_defaults()->always_capture_default();
    app.add_option("--tasks", given_.tasks, cli::joined(all_))->delimiter(',');
    app.add_option("--threads", given_.threads, "host threads of each host path")->delimiter(',');
    app.add_option("--largest", given_.largest, "the largest size; matmul ends at 2048 rows");
    app.add_option("--budget", given_.budget_seconds, "seconds of calibration for each task");
    app.add_option("--calls", given_.calls, "held-out calls of each kind of memory");
    app.add_option("--training", given_.training,
                   "calls of each kind of memory that train the tree; 0: leave it out");
    app.add_flag("--bisect,!--no-bisect", given_.bisects,
                 "look for the predicted crossovers by timing calls (default)");
    app.add_option("--sweep", given_.sweep,
                   "products: also time all sizes from 1 to this one, for GPU-BLOB's threshold");
    app.add_option("--trace", given_.traced, "traced calls of each kind of memory, on a GPU");
    app.add_option("--seed", seed_, "repeats the inputs, sizes and order of a run");
    app.add_flag("--quick", given_.quick, "smaller and shorter, to see that it works");
    device_ = app.add_option("--device", given_.device, "CUDA ordinal of the GPU");
    app.add_flag("--host", given_.host, "measure host paths alone, also where there is a GPU")
        ->excludes(device_);
    auto const file = [&](char const* name, std::filesystem::path& into, char const* help) {
      app.add_option(name, into, help)->check(cli::no_option);
    };
    file("--json", given_.json, "write everything as JSON");
    file("--csv", given_.csv, "write the timed calls of each task to X.TASK.csv");
    file("--html", given_.html,
         "write a page with charts and tables: one file, which loads nothing");
    file("--svg", given_.svg, "write the charts of all tasks as one SVG");
    app.add_flag("--full", given_.full,
                 "print all lines of the report instead of " + std::to_string(cli::screen_lines));
    app.add_flag("--quiet", given_.quiet, "no report and no progress: files and exit code only");
    app.footer(
        "Exit codes: 0 done; 1 a path computed a wrong answer; 2 bad input, nothing was "
        "run; 4 the run failed (device, memory, file).");
  }

  /// The parameters, after the command line is parsed. Throws `std::invalid_argument` for values
  /// that are not possible, and tries all files.
  dispatch_parameters read() const {
    auto of = given_;
    if (of.quick) {
      if (app_.count("--budget") == 0) { of.budget_seconds = 2; }
      if (app_.count("--calls") == 0) { of.calls = 12; }
      if (app_.count("--training") == 0) { of.training = 12; }
      if (app_.count("--trace") == 0) { of.traced = 4; }
    }
    of.device_named = device_->count() != 0;
    of.seed = app_.count("--seed") == 0
                  ? stats::draw_seed()
                  : cli::value_of("--seed", [&] { return cli::parse_seed(seed_); });
    for (auto const& each : of.tasks) { (void)cli::choose("--tasks", "task", each, all_); }
    for (int const each : of.threads) {
      cli::require_between("--threads", each, 1, host::all_threads());
    }
    cli::require_between("--largest", of.largest, std::size_t{2}, std::size_t{1} << 32);
    cli::require_between("--budget", of.budget_seconds, 0.01, 3600.0);
    cli::require_between("--calls", of.calls, std::size_t{1}, std::size_t{100'000});
    cli::require_between("--training", of.training, std::size_t{0}, std::size_t{2000});
    cli::require_between("--trace", of.traced, std::size_t{0}, std::size_t{2000});
    run_files files;
    auto const require = [&](char const* option, std::filesystem::path const& path) {
      if (path.empty()) { return; }
      files.write(option, path);
      cli::require_output(path);
    };
    require("--json", of.json);
    require("--html", of.html);
    require("--svg", of.svg);
    for (auto const& each : std::set(of.tasks.begin(), of.tasks.end())) {
      if (!of.csv.empty()) { require("--csv", cli::beside(of.csv, each)); }
    }
    return of;
  }

 private:
  CLI::App& app_;
  std::vector<std::string> all_;
  dispatch_parameters given_;
  std::string seed_;
  CLI::Option* device_ = nullptr;
};

}  // namespace assay::examples
