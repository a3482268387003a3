// SPDX-License-Identifier: Apache-2.0
// Did my change make the program faster? Two builds of a program that calls assay::serve or of a
// benchmark of nvbench, or two commands, judged by the same engine as two kernels in one program.
// assay-uses: cli
// assay-test-args: --help

#include "command_subject.hpp"
#include "common_cases.hpp"
#include "metric_variant.hpp"
#include "nvbench_runs.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/parse.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/traces.hpp>
#include <assay/core/concat.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/progress.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/text.hpp>
#include <assay/report/words.hpp>
#include <assay/serve/remote_subject.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;

namespace {

constexpr auto compare_description =
    "Compares two builds of a program that calls assay::serve, two builds of a benchmark of "
    "nvbench, or two commands. Each program starts anew in every epoch; the programs work in turn, "
    "in random order.\n"
    "The verdict comes from the Hodges-Lehmann estimate and the exact signed-rank interval over "
    "epochs, with several interim analyses.\n"
    "All false verdicts together, over all cases, have at most the chance --alpha. A second "
    "instance of OLD shows how much two equal programs differ.";

/// The values of the command line of assay_compare.
struct compare_request {
  std::vector<std::string> programs, commands, given_labels;
  std::vector<std::string> versions;  ///< of the programs, when they were named
  std::string one_case, margin = "1%", alpha = "5%", clock, seed;
  double timeout = 60;
  examples::metric metric;
  std::string metric_unit = "s", metric_better = "lower";
  bool of_nvbench = false;
  std::vector<std::string> benchmarks, axes;
  std::string nvbench_options = "--min-samples 10 --timeout 0.05";
  cli::options chosen;

  bool of_commands() const { return !commands.empty(); }
  bool of_metric() const { return !metric.pattern.empty(); }
  std::vector<std::string> labels() const {
    auto names = !given_labels.empty() ? given_labels : of_commands() ? commands : programs;
    if (names[0] == names[1]) { names[1] += " (again)"; }
    return names;
  }
  /// Each epoch starts the programs anew, and a build may end meanwhile.
  void require_same_programs() const {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (file_version(programs[i]) == versions[i]) { continue; }
      throw std::runtime_error(programs[i] +
                               " was changed while it was compared: compare again, when all builds "
                               "have ended");
    }
  }
  measure::remote_options remote() const {
    return {.timeout = std::chrono::duration<double>{timeout}};
  }
};

/// Adds all options to the parser.
void declare(CLI::App& app, compare_request& into) {
  auto const shown = [](CLI::Option* made) { return made->capture_default_str(); };
  app.set_help_flag("--help,-h", "print this text");
  auto* const programs = app.add_option("PROGRAM", into.programs, "OLD and NEW, as ./old ./new");
  auto* const one = app.add_option("--case", into.one_case, "this case; else each that both have");
  app.add_option("--command", into.commands, "a shell command; give the option twice")
      ->check(cli::not_empty)
      ->allow_extra_args(false)
      ->excludes(programs)
      ->excludes(one);
  auto* const metric = app.add_option("--metric", into.metric.pattern,
                                      "judge numbers that the commands print: a regular expression "
                                      "with one group, step_ms=([0-9.]+)");
  shown(app.add_option("--metric-unit", into.metric_unit, "the unit of the numbers"))
      ->check(CLI::IsMember({"s", "ms", "us", "ns"}))
      ->needs(metric);
  shown(app.add_option("--metric-better", into.metric_better, "higher: the numbers are rates"))
      ->check(CLI::IsMember({"lower", "higher"}))
      ->needs(metric);
  shown(
      app.add_option("--metric-skip", into.metric.skipped, "the first numbers of each run warm up"))
      ->check(CLI::Range(0, 1000000))
      ->needs(metric);
  auto* const nvbench = app.add_flag("--nvbench", into.of_nvbench,
                                     "OLD and NEW are unmodified programs of nvbench; each state "
                                     "of a benchmark is a case")
                            ->excludes("--command");
  app.add_option("--benchmark", into.benchmarks, "of nvbench: this one; may be repeated")
      ->allow_extra_args(false)
      ->needs(nvbench);
  app.add_option("--axis", into.axes, "of nvbench: these values, as 'N=[1,2]'; may be repeated")
      ->allow_extra_args(false)
      ->needs(nvbench);
  shown(app.add_option("--nvbench-options", into.nvbench_options,
                       "nvbench's own options, for short runs"))
      ->needs(nvbench);
  app.add_option("--labels", into.given_labels, "two names for the report")
      ->delimiter(',')
      ->expected(2)
      ->allow_extra_args(false);
  app.add_flag("--list", into.chosen.list, "name the cases that both have and do nothing else");
  shown(app.add_option("--margin", into.margin, "a difference smaller than this does not matter"));
  shown(app.add_option("--alpha", into.alpha, "chance of any false difference"));
  app.add_option("--clock", into.clock, "the clock that decides; else as the program says")
      ->check(CLI::IsMember({"wall", "gpu", "submit"}))
      ->excludes(metric);
  shown(app.add_option("--epochs", into.chosen.measuring.max_epochs,
                       "at most so many epochs per case"))
      ->check(CLI::Range(1, 1000000));
  shown(app.add_option("--max-seconds", into.chosen.measuring.max_seconds, "time limit per case"));
  shown(app.add_option("--timeout", into.timeout, "seconds until a silent program is killed"));
  app.add_option("--seed", into.seed, "repeats the inputs and the order of a run");
  app.add_option("--json", into.chosen.files["--json"],
                 "write everything; several cases: to X.CASE.json")
      ->check(cli::no_option);
  app.add_option("--fail-if", into.chosen.fail_if, "exit with 3 if any of these holds")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(cli::gate_names()));
  app.add_flag("--require-checks", into.chosen.measuring.require_checks,
               "time nothing unless both programs check all results of the case");
  app.add_flag("--quiet", into.chosen.quiet, "no report and no progress");
  app.footer(cli::exit_code_help);
}

/// Throws `std::invalid_argument` for what the parser cannot know.
void settle(compare_request& of) {
  auto const refuse = [](std::string const& why) { throw std::invalid_argument(why); };
  if (of.of_commands() && of.commands.size() != 2) { refuse("--command: give it twice"); }
  if (!of.of_commands() && of.programs.size() != 2) { refuse("PROGRAM: name two; see --help"); }
  if (of.of_commands() && !of.clock.empty() && of.clock != "wall") {
    refuse("--clock " + of.clock + ": commands have no clock but wall");
  }
  if (of.of_nvbench && of.clock == "submit") {
    refuse("--clock submit: benchmarks of nvbench have the clocks gpu and wall");
  }
  using cli::value_of;
  if (of.of_metric()) {
    if (!of.of_commands()) { refuse("--metric: it reads what two --command print"); }
    (void)value_of("--metric", [&] { return of.metric.expression(); });
    for (auto const& [unit, seconds] : {std::pair{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}) {
      if (of.metric_unit == unit) { of.metric.unit_seconds = seconds; }
    }
    of.metric.higher_is_better = of.metric_better == "higher";
  }
  auto& measuring = of.chosen.measuring;
  measuring.margin = cli::read_share("--margin", of.margin);
  measuring.alpha = cli::read_share("--alpha", of.alpha);
  measuring.run_until_margin = cli::asks_for_size(of.chosen.fail_if);
  if (!of.seed.empty()) {
    measuring.seed = value_of("--seed", [&] { return cli::parse_seed(of.seed); });
  }
  // CLI::Range lets NaN pass
  cli::require_between("--max-seconds", measuring.max_seconds, 1e-3, 1e6);
  cli::require_between("--timeout", of.timeout, 1e-3, 1e6);
  for (auto const& program : of.programs) {
    of.versions.push_back(file_version(program));
    of.chosen.later->files.read("the program", program);
  }
  cli::require_outputs(of.chosen);
}

/// Both programs as those of nvbench. Names the states that are not compared.
std::shared_ptr<examples::nvbench_runs> nvbench_runs(compare_request const& of) {
  std::vector<examples::nvbench_program> programs;
  for (auto const& each : of.programs) { programs.push_back({each, of.remote().timeout}); }
  auto settings = examples::nvbench_settings(programs, of.nvbench_options);
  auto const selection = examples::nvbench_selection(of.benchmarks, of.axes);
  auto runs = std::make_shared<examples::nvbench_runs>(programs, std::move(settings), selection);
  for (auto const& each : runs->left_out()) {
    std::cerr << report::printable("not compared: " + each) << '\n';
  }
  if (runs->states().empty()) {
    throw std::invalid_argument("--nvbench: no state is in both programs");
  }
  return runs;
}

/// The cases to compare: those that both programs have, or the one that was asked for. With nvbench
/// they are the states of its runs, in the same order.
std::vector<measure::remote_case> cases(compare_request const& of, examples::nvbench_runs* runs) {
  if (of.of_commands()) { return {{"command"}}; }
  std::vector<measure::remote_case> both;
  if (runs == nullptr) {
    both = examples::common_cases({of.programs[0]}, {of.programs[1]}, of.remote());
  } else {
    for (auto const& each : runs->states()) {
      both.push_back(
          {each.name, each.gpu_seconds > 0 ? measure::clock::gpu : measure::clock::wall});
    }
  }
  if (of.one_case.empty()) { return both; }
  std::vector<std::string> names;
  for (auto const& each : both) { names.push_back(each.name); }
  auto const one = cli::choose("--case", "case", of.one_case, names);
  if (runs != nullptr) { runs->keep_only(one); }
  return {both[one]};
}

/// Number `index` of all cases.
measure::comparison judged(compare_request const& of, std::vector<measure::remote_case> const& all,
                           std::size_t index, std::shared_ptr<examples::nvbench_runs> const& runs) {
  auto const& which = all[index];
  auto const labels = of.labels();
  std::vector<measure::variant> variants;
  for (std::size_t i = 0; i < 2; ++i) {
    examples::command command{{"/bin/sh", "-c", of.of_commands() ? of.commands[i] : ""},
                              of.remote().timeout};
    variants.push_back(
        of.of_metric()     ? examples::metric_variant(labels[i], std::move(command), of.metric)
        : of.of_commands() ? examples::command_variant(labels[i], std::move(command))
        : runs != nullptr
            ? examples::nvbench_variant(labels[i], runs, i, index)
            : measure::remote_variant(labels[i], {of.programs[i]}, which.name, of.remote()));
  }
  auto measuring = of.chosen.measuring;
  measuring.clock = which.decides;
  for (auto const each : measure::all_clocks) {
    if (of.clock == to_string(each)) { measuring.clock = each; }
  }
  measuring.alpha /= static_cast<double>(all.size());
  measuring.title = which.name + ": " + labels[1] + " against " + labels[0];
  measuring.at_epoch_begin = [&](measure::epoch const&) { of.require_same_programs(); };
  auto found = measure::compare_variants(variants, measure::against_first(labels), measuring);
  of.require_same_programs();  // the last epoch may have begun before the change
  if (runs != nullptr) { found.where.device = runs->states()[index].device; }
  if (of.of_metric() || runs != nullptr) {  // cells are no launches
    std::erase_if(found.notes, [](auto const& each) { return each.starts_with("cells of "); });
  }
  machine::fill_unknown(found.where, of.chosen.where);
  return found;
}

/// The files, then the short report of a single case, or one line of it among several.
void tell(compare_request const& of, std::string const& name, measure::comparison const& found,
          bool single) {
  auto chosen = of.chosen;
  if (auto& json = chosen.files["--json"]; !single && !json.empty()) {
    json = cli::variant_path(json, name, ".json");
  }
  auto const& verdict = *std::ranges::find(found.findings, true, &measure::finding::primary);
  chosen.quiet = true;
  chosen.later->keep_failure([&] {
    if (!single) { cli::keep_apart(chosen, "--json of " + name, chosen.files["--json"]); }
    cli::write_outputs(chosen, found, std::cout);
  });
  if (!of.chosen.quiet && single) { std::cout << found; }
  if (!of.chosen.quiet && !single) {
    auto const results = report::detail::results_line(found);
    std::cout << report::printable(concat({name, ": ", to_string(verdict.outcome), ": ",
                                           report::sentence(verdict, found),
                                           results.empty() ? "" : "; ", results}))
              << std::endl;
  }
  if (single && cli::has_failed(found)) {
    std::cerr << "error: " << report::printable(verdict.reason) << '\n';
  }
}

int compare(compare_request& of) {
  using std::chrono::steady_clock;
  auto const runs = of.of_nvbench ? nvbench_runs(of) : nullptr;
  auto const all = cases(of, runs.get());
  if (of.chosen.list) {
    for (auto const& each : all) { std::cout << report::printable(each.name) << '\n'; }
    return cli::ok;
  }
  cli::detail::interrupt_guard const guard;
  auto code = cli::ok;
  double const limit = of.chosen.measuring.max_seconds;
  auto const begin = steady_clock::now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (runs != nullptr) {  // a run is for all states, so their time limits add up
      std::chrono::duration<double> const spent = steady_clock::now() - begin;
      auto const left = limit * static_cast<double>(all.size()) - spent.count();
      // half: a noisy state would take all, and other noisy ones behind it would add to that
      of.chosen.measuring.max_seconds = std::max(1e-3, i + 1 == all.size() ? left : left / 2);
      runs->begin(i);
    }
    report::progress_line progress{
        std::cerr, of.chosen.quiet ? report::progress_form::none : report::stderr_form(),
        of.chosen.measuring.max_seconds};
    of.chosen.measuring.progress = std::ref(progress);
    auto const found = judged(of, all, i, runs);
    progress.finish();
    tell(of, all[i].name, found, all.size() == 1);
    code = cli::worse(code, cli::judge(found, of.chosen.fail_if));
    if (cli::detail::was_interrupted()) { break; }
  }
  of.chosen.later->end(std::cout, true);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  compare_request of;
  of.chosen.measuring.max_seconds = measure::options{}.max_seconds;  // the time of one case
  of.chosen.where = machine::host_environment({}, machine::command_line(argc, argv));
  CLI::App app{compare_description, "assay_compare"};
  declare(app, of);
  auto const body = [&] {
    settle(of);
    return compare(of);
  };
  return cli::guarded(app, argc, argv, body, std::cout, std::cerr);
}
