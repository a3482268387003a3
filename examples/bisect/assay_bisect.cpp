// SPDX-License-Identifier: Apache-2.0
// Which commit made my program slower? A bisection whose answers are comparisons by assay_compare:
// an old build and a new build in turn, in one run. Its error rate covers all answers together.
// assay-uses: cli
// assay-test-args: --help

#include "bisection.hpp"
#include "repository.hpp"
#include "watched_command.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/report/document.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json.hpp>
#include <assay/report/json_values.hpp>
#include <assay/report/words.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using examples::speed;
namespace fs = std::filesystem;

namespace {

constexpr auto description =
    "Finds the commit that made a program slower: a bisection over git rev-list --first-parent "
    "GOOD..BAD. Each commit is built once, in a worktree of its own; the checkout stays "
    "untouched.\n"
    "Each answer is a comparison of a commit with GOOD in one run of assay_compare. All answers "
    "are "
    "right together with probability 1 - alpha. Where times cannot tell, a range is left.\n"
    "The same command goes on after Ctrl-C.";

constexpr auto footer =
    "  assay_bisect v1.2 HEAD --build 'cmake -B build && cmake --build build -j' --command "
    "./build/bench\n"
    "  assay_bisect v1.2 HEAD --build 'make bench' --program bench --case sums\n"
    "Exit codes: 0 one commit is named; 1 an end computed a wrong answer; 2 bad input, or the ends "
    "do not differ; 4 the run failed, or an end does not build; 5 no single commit is proven.";

/// An option of assay_compare that is passed on.
struct passed_option {
  char const* name;
  char const* help;
  bool flag = false;
};
constexpr passed_option passed_options[] = {
    {"--metric", "judge numbers that the command prints"},
    {"--metric-unit", "s, ms, us or ns"},
    {"--metric-better", "lower or higher"},
    {"--metric-skip", "the first numbers of each run warm up"},
    {"--nvbench", "the program is a benchmark of nvbench", true},
    {"--benchmark", "of nvbench: this one"},
    {"--axis", "of nvbench: these values"},
    {"--nvbench-options", "nvbench's own options, for short runs"},
    {"--clock", "the clock that decides: wall, gpu or submit"},
    {"--epochs", "at most so many epochs in a comparison"},
    {"--timeout", "seconds until a silent program is killed"}};

struct request {
  std::string good, bad, build, program, command, one_case, margin = "1%", alpha = "5%", folder;
  std::map<std::string, std::vector<std::string>> passed;
  std::map<std::string, bool> flags;
  double max_seconds = 60;
  bool measure_equal = false;
};

/// An end computed a wrong answer.
struct wrong_end : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void declare(CLI::App& app, request& into) {
  app.set_help_flag("--help,-h", "print this text");
  app.footer(footer);
  auto const shown = [](CLI::Option* made) { return made->capture_default_str(); };
  app.add_option("GOOD", into.good, "a commit before the slow-down")->required();
  app.add_option("BAD", into.bad, "a commit after it")->required();
  app.add_option("--build", into.build, "a shell command, run in each commit's worktree")
      ->required();
  auto* const program = app.add_option(
      "--program", into.program, "what the build makes: it calls assay::serve, or is of nvbench");
  app.add_option("--command", into.command, "in place of it: a shell command, run in the worktree")
      ->excludes(program);
  app.add_option("--case", into.one_case, "the case of the program")->needs(program);
  shown(app.add_option("--margin", into.margin,
                       "a slow-down of the ends below this does not matter"));
  shown(app.add_option("--alpha", into.alpha, "chance of any wrong answer"));
  shown(app.add_option("--max-seconds", into.max_seconds, "time limit of each comparison"));
  app.add_option("--folder", into.folder, "for builds and results; else assay-bisect in .git");
  app.add_flag(
      "--measure-equal", into.measure_equal,
      "measure commits of equal machine code too, as for programs that read scripts or data");
  for (auto const& each : passed_options) {
    auto const help = std::string{each.help} + " (as assay_compare)";
    if (each.flag) {
      app.add_flag(each.name, into.flags[each.name], help);
    } else {
      app.add_option(each.name, into.passed[each.name], help)->allow_extra_args(false);
    }
  }
}

/// assay_compare: beside this program, unless the environment names one.
std::string compare_program() {
  if (char const* const named = std::getenv("ASSAY_COMPARE"); named != nullptr) { return named; }
  auto const beside = fs::read_symlink("/proc/self/exe").parent_path() / "assay_compare";
  return fs::exists(beside) ? beside.string() : "assay_compare";
}

std::string quoted(std::string const& text) {
  std::string all = "'";
  for (char const each : text) { all += each == '\'' ? std::string{"'\\''"} : std::string{each}; }
  return all + "'";
}

/// The judge, its memory on the disk, and the report.
class session {
 public:
  explicit session(request const& of)
      : of_(of),
        margin_(cli::read_share("--margin", of.margin)),
        alpha_(cli::read_share("--alpha", of.alpha)),
        in_(of.good, of.bad, of.folder) {
    cli::require_between("--max-seconds", of.max_seconds, 1e-3, 1e6);
    if (of.program.empty() == of.command.empty()) {
      throw std::invalid_argument("name --command, or --program and its --case");
    }
    if (!of.command.empty()) { check(of.command, of.command); }
    auto const& all = in_.commits();
    asked_ = {{"good", all.front().hash},
              {"bad", all.back().hash},
              {"build", of.build},
              {"program", of.program},
              {"command", of.command},
              {"case", of.one_case},
              {"margin", margin_},
              {"alpha", alpha_},
              {"max_seconds", of.max_seconds},
              {"options", options()},
              {"measure_equal", of.measure_equal}};
    std::ostringstream key;
    key << std::hex << examples::number_of(asked_.dump());
    steps_ = in_.folder() / key.str();
    file_ = steps_.string() + ".json";
    recall();
  }

  int run() {
    auto const last = in_.commits().size() - 1;
    std::cerr << last << " commits after GOOD; at most "
              << examples::bisection::most_decisions(last) << " comparisons of at most "
              << report::duration(of_.max_seconds) << "; state: " << fs::proximate(file_).string()
              << std::endl;
    examples::bisection search{last, margin_, alpha_, [&](std::size_t i) { return build(i); },
                               [&](auto control, auto commit, double margin, double alpha) {
                                 return judge(control, commit, margin, alpha);
                               }};
    search.progress = [&](examples::bisection_step const& step) {
      std::cerr << "  " << line(step) << std::endl;
    };
    auto const found = search.run();
    auto const text = told(found);
    auto document = saved();
    document["fast"] = name(found.fast);
    document["slow"] = name(found.slow);
    document["names_one"] = found.names_one();
    write_atomically(file_, document.dump(1) + '\n');
    std::cout << report::printable(text, true) << std::flush;
    return found.names_one() ? cli::ok : cli::gate_unproven;
  }

 private:
  std::string name(std::size_t i) const { return in_.commits()[i].name(); }

  std::vector<std::string> options() const {
    std::vector<std::string> all;
    for (auto const& [option, given] : of_.passed) {
      for (auto const& each : given) { all.insert(all.end(), {option, each}); }
    }
    for (auto const& [option, given] : of_.flags) {
      if (given) { all.push_back(option); }
    }
    return all;
  }

  std::vector<std::string> words(std::string const& old, std::string const& now) const {
    std::vector<std::string> all{compare_program()};
    if (of_.program.empty()) {
      all.insert(all.end(), {"--command", old, "--command", now});
    } else {
      all.insert(all.end(), {old, now});
    }
    if (!of_.one_case.empty()) { all.insert(all.end(), {"--case", of_.one_case}); }
    auto const more = options();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// What a commit is measured by.
  std::string subject(std::size_t i) const {
    auto const tree = in_.tree(i, of_.build);
    return of_.program.empty() ? "cd " + quoted(tree.string()) + " && " + of_.command
                               : (tree / of_.program).string();
  }

  /// Lets assay_compare refuse what it cannot read, before hours of builds.
  void check(std::string const& old, std::string const& now) const {
    auto all = words(old, now);
    all.emplace_back("--list");
    auto const log = (in_.folder() / "list.log").string();
    auto const end = examples::watch({all, log});
    auto const text = error_in(log);
    if (!end.success()) { throw std::invalid_argument(text); }
    if (of_.one_case.empty() && std::ranges::count(text, '\n') > 1) {
      throw std::invalid_argument("name one case with --case: " +
                                  cli::one_line(std::runtime_error{text}));
    }
  }

  static std::string error_in(std::string const& log) {
    auto const text = examples::bytes_of(log);
    auto const at = text.find("error: ");
    return at == text.npos ? text : cli::one_line(std::runtime_error{text.substr(at + 7)});
  }

  examples::built build(std::size_t i) const {
    auto made = in_.build(i, of_.build);
    // A script may change where the machine code beside it does not.
    std::string program = of_.program;
    if (program.empty()) { std::istringstream{of_.command} >> program; }
    bool const known = examples::is_program(in_.tree(i, of_.build) / program);
    if (of_.measure_equal || !known) { made.code.clear(); }
    if (i == 0 && made.refusal.empty() && of_.command.empty()) { check(subject(0), subject(0)); }
    return made;
  }

  /// The answer of this place in the search that is on the disk, or a new one.
  examples::judged judge(std::size_t control, std::size_t commit, double margin, double alpha) {
    auto const at = asked_so_far_++;
    if (at < log_.size() && log_[at].value("control", "") == name(control) &&
        log_[at].value("commit", "") == name(commit)) {
      auto const& old = log_[at];
      return {.refusal = old.value("refusal", ""),
              .unproven = old.value("unproven", true),
              .effect = {old.value("ratio", 1.0), old.value("low", 1.0), old.value("high", 1.0),
                         1 - alpha},
              .seconds = old.value("seconds", 0.0)};
    }
    std::ostringstream file;
    file << std::setw(4) << std::setfill('0') << commit << '-' << name(commit) << '-' << at
         << ".json";
    auto const made = measured(control, commit, margin, alpha, (steps_ / file.str()).string());
    log_.resize(std::min(log_.size(), at));
    log_.push_back({{"control", name(control)},
                    {"commit", name(commit)},
                    {"refusal", made.refusal},
                    {"unproven", made.unproven},
                    {"ratio", made.effect.ratio},
                    {"low", made.effect.low},
                    {"high", made.effect.high},
                    {"seconds", made.seconds},
                    {"file", file.str()}});
    write_atomically(file_, saved().dump(1) + '\n');
    return made;
  }

  examples::judged measured(std::size_t control, std::size_t commit, double margin, double alpha,
                            std::string const& file) const {
    fs::create_directories(steps_);
    fs::remove(file);
    auto all = words(subject(control), subject(commit));
    all.insert(all.end(), {"--labels", name(control) + "," + name(commit), "--margin",
                           report::digits_of(margin, 9), "--alpha", report::digits_of(alpha, 9),
                           "--max-seconds", report::digits_of(of_.max_seconds, 9), "--fail-if",
                           "different", "--json", file, "--quiet"});
    std::cerr << "comparing " << in_.commits()[commit].text() << " with " << name(control)
              << ", comparison " << asked_so_far_ << std::endl;
    auto const log = file + ".log";
    auto const end = examples::watch({all, log, "still comparing"});
    examples::judged made;
    auto const text = error_in(log);
    bool const ends = control == 0 && commit + 1 == in_.commits().size();
    if (end.by_signal || end.code == cli::bad_input) {
      if (ends) { throw std::invalid_argument(text); }
      return {.refusal = "cannot be compared: " + text};
    }
    auto const found = report::parse_json(examples::bytes_of(file));
    made.seconds = found.seconds;
    auto const& verdict = *std::ranges::find(found.findings, true, &measure::finding::primary);
    auto const why = found.failure.empty() ? verdict.reason : found.failure;
    if (end.code == cli::wrong_answer || end.code == cli::failed) {
      made.refusal = end.code == cli::failed ? "fails: " + why : "wrong answer: " + why;
      if (ends && end.code == cli::wrong_answer) { throw wrong_end(made.refusal); }
      return made;
    }
    made.unproven =
        verdict.outcome == measure::verdict::unproven || !std::isfinite(verdict.effect.high);
    if (std::isfinite(verdict.effect.high)) { made.effect = verdict.effect; }
    return made;
  }

  /// Reads the answers of an earlier run of the same command.
  void recall() {
    if (!fs::exists(file_)) { return; }
    try {
      auto const old = report::document::parse(examples::bytes_of(file_));
      for (auto const& each : old.at("comparisons")) { log_.push_back(each); }
    } catch (report::document::exception const&) {
      throw std::invalid_argument(file_ + " is no state of a bisection: remove it");
    }
    std::cerr << "going on after " << log_.size()
              << " comparisons of an earlier run; to begin again, remove "
              << fs::proximate(file_).string() << std::endl;
  }

  report::document saved() const {
    return {
        {"schema", "assay.bisection"}, {"version", 1}, {"asked", asked_}, {"comparisons", log_}};
  }

  /// One answer in a line.
  std::string line(examples::bisection_step const& step) const {
    auto const& found = step.found;
    auto const text = std::to_string(step.commit) + " " + name(step.commit) + " against " +
                      (step.control == 0 ? "GOOD" : name(step.control)) + ": ";
    if (step.is == speed::left_out) { return text + "left out: " + found.refusal; }
    std::string const what = step.is == speed::fast   ? "fast"
                             : step.is == speed::slow ? "slow"
                                                      : "cannot tell";
    if (step.equal_code) { return text + what + ", its machine code is that of a measured commit"; }
    return concat({text, what,
                   found.unproven ? ", a guard objects"
                                  : ", " + report::effect_text(found.effect) + " " +
                                        report::interval_text(found.effect),
                   ", ", report::duration(found.seconds)});
  }

  std::string told(examples::bisection_result const& found) const {
    auto const& all = in_.commits();
    auto const effect = [](measure::estimate const& of) {
      return report::effect_text(of) + " " + report::interval_text(of);
    };
    std::ostringstream out;
    auto const size = found.slow - found.fast;
    if (!found.ends_differ) {
      out << "CANNOT TELL: it is not known whether the ends differ by the margin. Give more "
             "--max-seconds.\n";
    } else if (found.names_one()) {
      out << "SLOWER: " << all[found.slow].text() << " takes " << effect(*found.own)
          << " against the commit before.\n";
    } else if (size == 1) {
      out << "CANNOT TELL: times rise beyond the middle at " << all[found.slow].text()
          << ", but its own slow-down is not proven: "
          << (found.own ? effect(*found.own) : "no comparison") << ".\n";
    } else {
      out << "CANNOT TELL: the slow-down is in one of " << size << " commits, "
          << name(found.fast + 1) << " to " << name(found.slow) << ".\n";
    }
    if (found.ends_differ) {
      out << "  Commits that take more than " << report::signed_percent(found.threshold - 1, 2)
          << " % against GOOD are slow: about the middle between the ends.\n";
    }
    auto steps = found.steps;
    std::ranges::stable_sort(steps, {}, &examples::bisection_step::commit);
    double seconds = 0;
    std::size_t equal = 0;
    for (auto const& each : steps) {
      out << "  " << line(each) << '\n';
      seconds += each.found.seconds;
      equal += each.equal_code ? 1 : 0;
    }
    out << "  " << found.decisions << " comparisons of at most " << found.most_decisions << " in "
        << report::duration(seconds) << ", " << equal << " more by equal machine code; "
        << all.size() - 1 << " commits after GOOD " << all[0].text()
        << ".\n  All answers are right together with " << report::percent(1 - alpha_) << ".\n"
        << "  assay_report " << fs::proximate(steps_ / "*.json").string()
        << " shows the comparisons.\n";
    return out.str();
  }

  request const& of_;
  double margin_, alpha_;
  examples::repository in_;
  report::document asked_;
  fs::path steps_;
  std::string file_;
  std::vector<report::document> log_;
  std::size_t asked_so_far_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  request of;
  CLI::App app{description, "assay_bisect"};
  declare(app, of);
  auto const body = [&]() -> int {
    cli::detail::interrupt_guard const guard;
    try {
      return session{of}.run();
    } catch (wrong_end const& error) {
      std::cerr << "error: " << report::printable(cli::one_line(error)) << '\n';
      return cli::wrong_answer;
    }
  };
  return cli::guarded(app, argc, argv, body, std::cout, std::cerr);
}
