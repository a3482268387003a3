// SPDX-License-Identifier: Apache-2.0
// Did my change make the program faster? Two builds of a program that calls assay::serve, or two
// whole commands, judged by the same engine as two kernels in one program.
// assay-test-args: --help

#include "support/cli.hpp"
#include "support/compare_request.hpp"
#include "support/trace_choice.hpp"

#include <assay/machine/host_environment.hpp>
#include <assay/measure/command_subject.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/measure/remote_subject.hpp>
#include <assay/report/text.hpp>
#include <assay/report/words.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using examples::compare_request;

namespace {

/// The cases to compare: those that both programs have, or the one that was asked for.
std::vector<measure::remote_case> cases(compare_request const& of) {
  if (of.of_commands()) { return {{"command"}}; }
  auto both = measure::common_cases({of.programs[0]}, {of.programs[1]}, of.remote());
  if (of.one_case.empty()) { return both; }
  std::vector<std::string> names;
  for (auto const& each : both) { names.push_back(each.name); }
  return {both[cli::detail::value_of("--case",
                                     [&] { return cli::choose("case", of.one_case, names); })]};
}

measure::comparison judged(compare_request const& of, measure::remote_case const& which,
                           std::size_t count) {
  auto const labels = of.labels();
  std::vector<measure::variant> variants;
  for (std::size_t i = 0; i < 2; ++i) {
    variants.push_back(
        of.of_commands()
            ? measure::command_variant(labels[i], {"/bin/sh", "-c", of.commands[i]},
                                       of.remote().timeout)
            : measure::remote_variant(labels[i], {of.programs[i]}, which.name, of.remote()));
  }
  auto measuring = of.chosen.measuring();
  measuring.clock = which.decides;
  for (auto const each : measure::all_clocks) {
    if (of.clock == to_string(each)) { measuring.clock = each; }
  }
  measuring.alpha /= static_cast<double>(count);
  measuring.max_seconds = of.max_seconds;
  measuring.title = which.name + ": " + labels[1] + " against " + labels[0];
  auto found = measure::run(variants, measure::against_first(labels), measuring);
  machine::fill_unknown(found.where, of.chosen.where);
  return found;
}

/// The short report of a single case, or one line of it among several, and the files.
void tell(compare_request const& of, std::string const& name, measure::comparison const& found,
          bool single) {
  auto chosen = of.chosen;
  if (!single && !chosen.json.empty()) {
    chosen.json = cli::trace_choice::path(chosen.json, name, ".json");
  }
  auto const one_line = [](std::string const& text) {
    return cli::detail::one_line(std::runtime_error{text});
  };
  auto const& verdict = *std::ranges::find(found.findings, true, &measure::finding::primary);
  if (!chosen.quiet && single) { std::cout << found; }
  if (!chosen.quiet && !single) {
    std::cout << name << ": " << to_string(verdict.outcome) << ": "
              << one_line(report::sentence(verdict, found)) << std::endl;
  }
  if (single && cli::has_failed(found)) {
    std::cerr << "error: " << one_line(verdict.reason) << '\n';
  }
  chosen.quiet = true;
  cli::write_outputs(chosen, found, std::cout);
}

/// A wrong answer is the worst that can happen, then a failure, then what --fail-if asks.
int worse(int one, int other) {
  constexpr std::array order{0, 5, 3, 4, 1};
  auto const rank = [&](int code) { return std::ranges::find(order, code); };
  return rank(one) < rank(other) ? other : one;
}

int compare(compare_request& of) {
  auto const all = cases(of);
  if (of.chosen.list) {
    for (auto const& each : all) { std::cout << each.name << '\n'; }
    return cli::ok;
  }
  cli::detail::interrupt_guard const guard;
  int code = cli::ok;
  for (auto const& each : all) {
    of.chosen.progress = std::make_shared<report::progress_line>(
        std::cerr, of.chosen.quiet ? report::progress_form::none : report::stderr_form());
    auto const found = judged(of, each, all.size());
    of.chosen.progress->finish();
    tell(of, each.name, found, all.size() == 1);
    code = worse(code, cli::judge(found, of.chosen.fail_if));
    if (cli::detail::interrupted != 0) { break; }
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  compare_request of;
  of.chosen.epochs = measure::options{}.max_epochs;
  of.chosen.where = machine::host_environment({}, machine::command_line(argc, argv));
  CLI::App app{examples::compare_description, "assay_compare"};
  examples::declare(app, of);
  try {
    app.parse(argc, argv);
    examples::settle(of);
    return compare(of);
  } catch (CLI::CallForHelp const&) {
    std::cout << app.help();
    return cli::ok;
  } catch (CLI::ParseError const& error) {
    std::cerr << "error: " << cli::detail::one_line(std::runtime_error{cli::explained(error)})
              << "; see --help\n";
    return cli::bad_input;
  } catch (std::exception const& error) {
    std::cerr << "error: " << cli::detail::one_line(error) << '\n';
    return cli::detail::is_bad_input(error) ? cli::bad_input : cli::failed;
  }
}
