// SPDX-License-Identifier: Apache-2.0
// Which commit made my program slower? A bisection whose answers are comparisons by assay_compare:
// an old build and a new build in turn, in one run. Its error rate covers all answers together.
// assay-uses: cli
// assay-test-args: --help

#include "../saved_comparison.hpp"
#include "bisection.hpp"
#include "repository.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/concat.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/report/words.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
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
    "are right together with probability 1 - alpha. Where times cannot tell, a range is left.\n"
    "The same command goes on after Ctrl-C, on the same machine.";

constexpr auto footer =
    "All other options go to assay_compare: --case, --metric, --nvbench, --clock and more.\n"
    "  assay_bisect v1.2 HEAD --build 'cmake -B build && cmake --build build -j' --command "
    "./build/bench\n"
    "  assay_bisect v1.2 HEAD --build 'make bench' --program bench --case sums\n"
    "Exit codes: 0 one commit is named; 2 bad input, or the ends do not differ; 4 the run failed, "
    "or an end cannot be measured; 5 no single commit is proven.";

struct request {
  std::string good, bad, build, program, command, margin = "1%", alpha = "5%", folder;
  std::vector<std::string> passed;  ///< options of assay_compare
  double max_seconds = 60;
  bool measure_equal = false;
};

void declare(CLI::App& app, request& into) {
  auto const shown = [](CLI::Option* made) { return made->capture_default_str(); };
  app.set_help_flag("--help,-h", "print this text");
  app.footer(footer);
  app.allow_extras();
  app.add_option("GOOD", into.good, "a commit before the slow-down")->required();
  app.add_option("BAD", into.bad, "a commit after it")->required();
  app.add_option("--build", into.build, "a shell command, run in each commit's worktree")
      ->required();
  auto* const program = app.add_option(
      "--program", into.program, "what the build makes: it calls assay::serve, or is of nvbench");
  app.add_option("--command", into.command, "in place of it: a shell command, run in the worktree")
      ->excludes(program);
  shown(app.add_option("--margin", into.margin,
                       "a slow-down of the ends below this does not matter"));
  shown(app.add_option("--alpha", into.alpha, "chance of any wrong answer"));
  shown(app.add_option("--max-seconds", into.max_seconds, "time limit of each comparison"));
  app.add_option("--folder", into.folder, "for builds and results; else assay-bisect in .git");
  app.add_flag(
      "--measure-equal", into.measure_equal,
      "measure commits of equal machine code too, as for programs that read scripts or data");
}

/// assay_compare: beside this program, unless the environment names one.
std::string compare_program() {
  if (char const* const named = std::getenv("ASSAY_COMPARE"); named != nullptr) { return named; }
  auto const beside = fs::read_symlink("/proc/self/exe").parent_path() / "assay_compare";
  return fs::exists(beside) ? beside.string() : "assay_compare";
}

std::string error_in(std::string const& log) {
  auto const text = examples::bytes_of(log);
  auto const at = text.find("error: ");
  return at == text.npos ? text : text.substr(at + 7, text.find('\n', at) - at - 7);
}

/// True for a path in the folder of a commit, whose file each build makes anew.
bool is_of_commit(fs::path const& program) {
  auto const plain = program.lexically_normal();
  return !plain.empty() && !plain.is_absolute() && *plain.begin() != "..";
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
    if (!of.program.empty() && !is_of_commit(of.program)) {
      throw std::invalid_argument(concat(
          {"--program ", of.program, ": name a path in the folder of a commit, as build/bench"}));
    }
    auto const& all = in_.commits();
    auto asked = examples::this_machine() + '\n';
    for (auto const& each : words(all.front().hash, all.back().hash, margin_, alpha_, {})) {
      asked += each + '\n';
    }
    asked += concat({of.build, "\n", of.program, "\n", of.command});
    if (of.measure_equal) { asked += " measured"; }
    answers_ = in_.folder() / ("answers-" + examples::number_of(asked));
    fs::create_directories(answers_);
    if (!of.command.empty()) { check(of.command); }
  }

  int run() {
    auto const last = in_.commits().size() - 1;
    std::cerr << last << " commits after GOOD; at most "
              << examples::bisection::most_comparisons(last) << " comparisons of at most "
              << report::duration(of_.max_seconds)
              << "; answers: " << fs::proximate(answers_).string() << std::endl;
    auto const found = examples::bisection{
        last,
        margin_,
        alpha_,
        [&](std::size_t i) { return build(i); },
        [&](auto... asked) { return judge(asked...); },
        [&](auto const& made) {
          std::cerr << "  " << line(made) << std::endl;
        }}.run();
    std::cout << report::printable(told(found), true) << std::flush;
    return found.names_one() ? cli::ok : cli::gate_unproven;
  }

 private:
  std::string name(std::size_t i) const { return in_.commits()[i].name(); }

  /// The call of assay_compare for two subjects.
  std::vector<std::string> words(std::string const& old, std::string const& now, double margin,
                                 double alpha, std::vector<std::string> const& last) const {
    std::vector<std::string> all{compare_program()};
    auto const add = [&](std::vector<std::string> const& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    add(of_.program.empty() ? std::vector<std::string>{"--command", old, "--command", now}
                            : std::vector<std::string>{old, now});
    add(of_.passed);
    add({"--margin", report::digits_of(margin, 9), "--alpha", report::digits_of(alpha, 9),
         "--max-seconds", report::digits_of(of_.max_seconds, 9), "--fail-if", "different",
         "--quiet"});
    if (std::ranges::none_of(of_.passed, [](auto& each) { return each.starts_with("--epochs"); })) {
      add({"--epochs", std::to_string(examples::bisection::most_epochs)});
    }
    add(last);
    return all;
  }

  /// What a commit is measured by.
  std::string subject(std::size_t i) const {
    auto const tree = in_.tree(i, of_.build);
    if (!of_.program.empty()) { return (tree / of_.program).string(); }
    auto const* const word = tree.c_str();
    return concat({"cd ", machine::command_line(1, &word), " && ", of_.command});
  }

  /// Lets assay_compare refuse what it cannot read, before hours of builds.
  void check(std::string const& one) const {
    auto const log = (answers_ / "list.log").string();
    auto const end = examples::run_logged(
        words(one, one, margin_, alpha_,
              {"--labels", "GOOD,GOOD again", "--json", "/dev/null", "--list"}),
        log);
    if (!end.success()) { throw std::invalid_argument(error_in(log)); }
    std::istringstream lines{examples::bytes_of(log)};
    std::string cases;
    int count = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("not compared: ")) { continue; }  // a state that nvbench skips
      cases += (count++ == 0 ? "" : ", ") + line;
    }
    if (count > 1) { throw std::invalid_argument("name one case with --case: " + cases); }
  }

  examples::built build(std::size_t i) const {
    auto made = in_.build(i, of_.build);
    // A script may change where the machine code beside it does not.
    std::string program = of_.program;
    if (program.empty()) { std::istringstream{of_.command} >> program; }
    bool const known =
        is_of_commit(program) && examples::is_program(in_.tree(i, of_.build) / program);
    if (of_.measure_equal || !known) { made.code.clear(); }
    if (i == 0 && made.refusal.empty() && of_.command.empty()) { check(subject(0)); }
    return made;
  }

  /// The answer of this place in the search that is on the disk, or a new one.
  examples::bisection_answer judge(std::size_t control, std::size_t commit, double margin,
                                   double alpha) {
    std::ostringstream place;
    place << std::setw(4) << std::setfill('0') << commit << '-' << name(commit) << '-' << asked_++;
    auto const file = (answers_ / place.str()).string(), json = file + ".json", log = file + ".log";
    if (!fs::exists(json)) {
      auto const fresh = file + ".new";  // of an interrupted comparison it stays so
      fs::remove(fresh);
      std::cerr << "comparing " << in_.commits()[commit].text() << " with " << name(control)
                << std::endl;
      examples::run_logged(
          words(subject(control), subject(commit), margin, alpha,
                {"--labels", concat({name(control), ",", name(commit)}), "--json", fresh}),
          log);
      if (!fs::exists(fresh)) { return {.refusal = "cannot be compared: " + error_in(log)}; }
      fs::rename(fresh, json);
    }
    auto const found = examples::saved_comparison(json, examples::saved_document(json));
    auto const& verdict = *std::ranges::find(found.findings, true, &measure::finding::primary);
    examples::bisection_answer made{.seconds = found.seconds};
    if (verdict.outcome == measure::verdict::wrong_answer) {
      made.refusal = "wrong answer: " + verdict.reason;
    } else if (!found.failure.empty()) {
      made.refusal = "fails: " + found.failure;
    } else if (verdict.outcome != measure::verdict::unproven) {
      made.effect = verdict.effect;
    }
    return made;
  }

  static std::string effect(measure::estimate const& of) {
    return std::isfinite(of.high) ? report::effect_text(of) + " " + report::interval_text(of)
                                  : "a guard objects";
  }

  /// One answer in a line.
  std::string line(examples::bisection_answer const& made) const {
    auto const text = concat({std::to_string(made.commit), " ", name(made.commit), " against ",
                              made.control == 0 ? "GOOD" : name(made.control), ": "});
    if (made.is == speed::left_out) { return text + "left out: " + made.refusal; }
    auto const is = made.is == speed::fast   ? "fast, "
                    : made.is == speed::slow ? "slow, "
                                             : "cannot tell, ";
    return concat({text, is,
                   made.equal_code ? "its machine code is that of a measured commit"
                                   : effect(made.effect) + ", " + report::duration(made.seconds)});
  }

  std::string told(examples::bisection_result const& found) const {
    auto const& all = in_.commits();
    auto const slow = all[found.slow].text();
    std::ostringstream out;
    if (found.threshold == 0) {
      out << "CANNOT TELL: it is not known whether the ends differ by the margin. Give more "
             "--max-seconds.\n";
    } else if (found.names_one()) {
      out << "SLOWER: " << slow << " takes " << effect(*found.own)
          << " against the commit before.\n";
    } else if (found.slow == found.fast + 1) {
      out << "CANNOT TELL: times rise beyond the middle at " << slow
          << ", but its own slow-down is not proven.\n";
    } else {
      out << "CANNOT TELL: the slow-down is in one of " << found.slow - found.fast << " commits, "
          << name(found.fast + 1) << " to " << name(found.slow) << ".\n";
    }
    if (found.threshold != 0) {
      out << "  Commits that take more than " << report::signed_percent(found.threshold - 1, 2)
          << " % against GOOD are slow: about the middle between the ends.\n";
    }
    auto answers = found.answers;
    std::ranges::stable_sort(answers, {}, &examples::bisection_answer::commit);
    double seconds = 0;
    for (auto const& each : answers) {
      out << "  " << line(each) << '\n';
      seconds += each.seconds;
    }
    out << "  " << found.comparisons << " comparisons of at most "
        << examples::bisection::most_comparisons(all.size() - 1) << " in "
        << report::duration(seconds) << ", "
        << std::ranges::count(answers, true, &examples::bisection_answer::equal_code)
        << " more by equal machine code; " << all.size() - 1 << " commits after GOOD "
        << all[0].text() << ".\n  All answers are right together with "
        << report::percent(1 - alpha_) << ".\n  assay_report "
        << fs::proximate(answers_ / "*.json").string() << " shows the comparisons.\n";
    return out.str();
  }

  request const& of_;
  double margin_, alpha_;
  examples::repository in_;
  fs::path answers_;
  std::size_t asked_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  request of;
  CLI::App app{description, "assay_bisect"};
  declare(app, of);
  auto const body = [&] {
    cli::detail::interrupt_guard const guard;
    of.passed = app.remaining();
    if (of.folder.empty()) { of.folder = (examples::git_folder() / "assay-bisect").string(); }
    return session{of}.run();
  };
  return cli::guarded(app, argc, argv, body, std::cout, std::cerr);
}
