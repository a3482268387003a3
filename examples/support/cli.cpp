// SPDX-License-Identifier: Apache-2.0
#include "cli.hpp"

#include <assay/machine/host_environment.hpp>
#include <assay/report/progress.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace assay::cli {

std::string commit() {
#ifdef ASSAY_COMMIT
  return ASSAY_COMMIT;
#else
  return {};
#endif
}

namespace {

/// The words of options whose values need more than a number's parsing.
struct words {
  std::string margin = "1%", alpha = "5%", clock = "wall", seed;
};

void declare(command_line& line, options& into, words& raw) {
  line.group("Measuring");
  line.option("--margin", raw.margin, "a difference smaller than this does not matter");
  line.option("--alpha", raw.alpha, "chance of any false difference over the whole table");
  line.option("--clock", raw.clock, "the clock that decides: wall, gpu or submit");
  line.optional("--seed", raw.seed, "repeats the inputs and the order of a run");
  line.option("--epochs", into.epochs, "stop after at most so many epochs; 12 with --quick");
  line.option("--max-seconds", into.max_seconds,
              "stop when the next analysis would come later than this");
  line.flag("--resolve", into.run_until_sign,
            "run on for a sign where equivalence is already shown");
  line.flag("--quick", into.quick, "smaller and shorter, to see that it works");
  line.group("Place");
  line.option("--device", into.device, "CUDA ordinal of the GPU");
  line.flag("--host", into.host, "run the host half, also where there is a GPU");
  line.exclude("--host", "--device");
  line.group("Output");
  line.optional("--json", into.json, "write everything as JSON");
  line.optional("--csv", into.csv,
                "write findings to X.csv, X.variants.csv and X.cells.csv beside it");
  line.optional("--text", into.text, "write the report that the terminal shows");
  line.flag("--list", into.list, "name the variants and do nothing else");
  line.flag("--quiet", into.quiet, "no report and no progress: files and exit code only");
  line.list("--fail-if", into.fail_if, "exit with 3 if any holds: " + joined(gate_names()));
  line.footer(exit_code_help);
}

void settle(options& into, words const& raw, command_line const& line) {
  auto const share = [](std::string_view option, std::string const& text) {
    auto const value = detail::value_of(option, [&] { return parse_share(text); });
    if (value > 0 && value < 1) { return value; }
    throw std::invalid_argument(std::string{option} + " " + text +
                                ": it must lie between 0 and 100 %, such as 1%");
  };
  into.margin = share("--margin", raw.margin);
  into.alpha = share("--alpha", raw.alpha);
  std::vector<std::string> clocks;
  for (auto const which : measure::all_clocks) { clocks.emplace_back(to_string(which)); }
  into.clock = measure::all_clocks[detail::value_of(
      "--clock", [&] { return choose("clock", raw.clock, clocks); })];
  if (into.quick && !line.given("--epochs")) { into.epochs = 12; }
  require_count("--epochs", into.epochs);
  into.device_named = line.given("--device");
  require_between("--device", into.device, 0, std::numeric_limits<int>::max());
  for (auto const& condition : into.fail_if) {
    detail::value_of("--fail-if", [&] { return choose("condition", condition, gate_names()); });
  }
  if (line.given("--seed")) {
    into.seed = detail::value_of("--seed", [&] { return parse_seed(raw.seed); });
  } else {
    std::random_device entropy;
    into.seed = std::max<std::uint64_t>(1, (std::uint64_t{entropy()} << 32U) | entropy());
  }
  for (auto const& [option, path] : {std::pair{"--json", &into.json}, std::pair{"--csv", &into.csv},
                                     std::pair{"--text", &into.text}}) {
    if (line.given(option) && path->empty()) {
      throw std::invalid_argument(std::string{option} + " '': name a file");
    }
  }
}

/// What ended a comparison that failed.
std::string why_failed(measure::comparison const& all) {
  if (!all.failure.empty()) { return all.failure; }
  for (auto const& each : all.findings) {
    if (each.primary) { return each.reason; }
  }
  return "the comparison ended without a finding";
}

}  // namespace

namespace detail {

std::string one_line(std::exception const& error) {
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

bool is_bad_input(std::exception const& error) {
  if (dynamic_cast<std::invalid_argument const*>(&error) != nullptr) { return true; }
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) { return is_bad_input(cause); } catch (...) {
  }
  return false;
}

}  // namespace detail

int run(int argc, char const* const* argv, std::string const& description,
        std::function<void(command_line&)> const& configure,
        std::function<std::optional<measure::comparison>(options const&)> const& body,
        std::ostream& out, std::ostream& err) {
  auto const complain = [&](std::string const& what) { err << "error: " << what << '\n'; };
  try {
    CLI::App app{description};
    options chosen;
    words raw;
    command_line line{app};
    declare(line, chosen, raw);
    line.group({});
    configure(line);
    try {
      app.parse(argc, argv);
    } catch (CLI::CallForHelp const&) {
      out << app.help();
      return ok;
    } catch (CLI::ParseError const& error) {
      complain(detail::one_line(std::runtime_error{explained(error)}) + "; see --help");
      return bad_input;
    }
    settle(chosen, raw, line);
    require_outputs(chosen);
    chosen.where = machine::host_environment(commit(), machine::command_line(argc, argv));
    bool const shown = !chosen.quiet && &err == &std::cerr;
    chosen.progress = std::make_shared<report::progress_line>(
        err, shown ? report::stderr_form() : report::progress_form::none);
    std::optional<measure::comparison> found;
    {
      detail::interrupt_guard const guard;
      found = body(std::as_const(chosen));
    }
    chosen.progress->finish();
    if (!found) { return ok; }
    machine::fill_unknown(found->where, chosen.where);
    write_outputs(chosen, *found, out);
    if (has_failed(*found)) { complain(why_failed(*found)); }
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
