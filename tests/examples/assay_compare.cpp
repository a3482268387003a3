// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it starts other programs
// assay_compare over builds of tests/measure/served_program.cpp, and compare_commits.sh.
#include "catch.hpp"
#include "folder.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using assay::test::contains;
namespace fs = std::filesystem;

namespace {

// Empty in a build without the examples.
#ifdef ASSAY_COMPARE
std::string const compare = ASSAY_COMPARE;
#else
std::string const compare;
#endif

auto const script = fs::absolute(__FILE__).parent_path().parent_path().parent_path() / "cmake" /
                    "compare_commits.sh";

struct outcome {
  int code;
  std::string out, err;
};

/// A folder with builds of the served program; gone with the test. "small" has one case, and "slow"
/// says that all it does takes 5 % longer.
class builds {
 public:
  builds() {
    for (auto const* build : {"old", "new", "slow", "small", "small_slow"}) {
      fs::create_symlink(ASSAY_SERVED_PROGRAM, path_ / build);
    }
  }
  fs::path operator/(char const* name) const { return path_ / name; }
  void write(char const* name, std::string const& text) const {
    std::ofstream{path_ / name} << text;
  }
  std::string read(char const* name) const { return assay::test::content(path_ / name); }

  /// Runs a shell command here.
  outcome shell(std::string const& command) const {
    auto const all = "cd '" + path_.string() + "' && { " + command + "\n} > out 2> err < /dev/null";
    int const status = std::system(all.c_str());
    return {WEXITSTATUS(status), read("out"), read("err")};
  }
  outcome run(std::string const& arguments) const {
    return shell("'" + compare + "' --seed 27 " + arguments);
  }

 private:
  assay::test::folder const own_{"assay compare"};
  fs::path const path_ = own_.path();
};

}  // namespace

TEST_CASE("two builds with one case get the whole report, and a gate its exit code") {
  if (compare.empty()) { return; }
  builds const here;
  auto const slower = here.run("./small ./small_slow --json x.json");
  INFO(slower.out << slower.err);
  CHECK(slower.code == 0);
  CHECK_THAT(slower.out, contains("SLOWER") && contains("./small_slow is slower than ./small"));
  CHECK_THAT(here.read("x.json"), contains("\"./small_slow\""));
  CHECK_THAT(slower.out, contains("\n  results: "));
  CHECK(here.run("./small ./small_slow --fail-if slower").code == 3);
  auto const checked = here.run("./small ./small_slow --require-checks");
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, contains("SLOWER") && contains("results: checked"));
  auto const unchecked = here.run("./old ./new --case unchecked --require-checks");
  CHECK(unchecked.code == 5);
  CHECK_THAT(unchecked.out, contains("UNPROVEN") && contains("results: not checked"));
  CHECK(here.run("./small_slow ./small --fail-if slower,unproven --quiet").code == 0);
  auto const equal = here.run("./small ./small --fail-if different,unproven --quiet");
  INFO(equal.out << equal.err);
  CHECK(equal.code == 0);
  CHECK(equal.out.empty());
  CHECK_THAT(here.run("./small ./small_slow --labels before,after").out,
             contains("after is slower than before"));
}

TEST_CASE("a program that a build replaces meanwhile is told, and no mixture is judged") {
  if (compare.empty()) { return; }
  builds const here;
  here.write("run.sh",
             "#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) = 5 ] && cp run.sh next && mv next "
             "run.sh\nexec ./small_slow\n");
  auto const what = here.shell("chmod +x run.sh; '" + compare + "' ./small ./run.sh --quiet");
  INFO(what.out << what.err);
  CHECK(what.code == 4);
  CHECK_THAT(what.err, contains("./run.sh was changed while it was compared: compare again"));

  // The last start of a comparison replaces the program: no epoch begins after that.
  auto const compared = " --seed 3 --epochs 6 --quiet";
  here.write("last.sh", "#!/bin/sh\necho x >> starts\nexec ./small_slow\n");
  CHECK(here.shell("chmod +x last.sh; '" + compare + "' ./small ./last.sh" + compared).code == 0);
  auto const starts = std::to_string(std::ranges::count(here.read("starts"), '\n'));
  here.write("last.sh", "#!/bin/sh\necho x >> again\n[ $(wc -l < again) = " + starts +
                            " ] && cp last.sh next && mv next last.sh\nexec ./small_slow\n");
  auto const last = here.shell("'" + compare + "' ./small ./last.sh" + compared);
  INFO(last.out << last.err);
  CHECK(last.code == 4);
  CHECK_THAT(last.err, contains("./last.sh was changed while it was compared"));
}

TEST_CASE("several cases get a line each, and the worst exit code") {
  if (compare.empty()) { return; }
  builds const here;
  auto const what =
      here.run("./old ./slow --timeout 0.5 --max-seconds 2 --fail-if slower --json x.json");
  INFO(what.out << what.err);
  CHECK(what.code == 1);
  CHECK_THAT(what.out, contains("works: SLOWER: ") && contains("crashes: UNPROVEN: ") &&
                           contains("signal 11") && contains("no answer within 0.5 s") &&
                           contains("wrong: WRONG ANSWER: ") && contains("no more memory"));
  CHECK(std::ranges::count(what.out, '\n') == 12);
  CHECK(fs::exists(here / "x.works.json"));
  CHECK(fs::exists(here / "x.prints-and-has-blanks.json"));
  CHECK(!fs::exists(here / "x.json"));
  CHECK(here.run("./old ./slow --case works --fail-if slower").code == 3);
  CHECK(here.run("./old ./slow --case crashes").code == 4);
  CHECK(here.run("./old ./new --case wrong").code == 1);
  CHECK_THAT(here.run("./old ./new --case 'on gpu'").out, contains("gpu clock"));
  CHECK_THAT(here.run("./old ./new --case 'on gpu' --clock wall").out, contains("wall clock"));
  CHECK_THAT(here.run("./old ./slow --case 'by one clock' --clock wall").out,
             contains("slower") && contains("wall clock"));
  CHECK(here.run("./old ./small --list").out == "works\n");
}

TEST_CASE("two commands are judged as a whole") {
  if (compare.empty()) { return; }
  builds const here;
  auto const what = here.run("--command true --command 'sleep 0.01; true' --fail-if slower");
  INFO(what.out << what.err);
  CHECK(what.code == 3);
  CHECK_THAT(what.out, contains("sleep 0.01; true takes "));
  auto const leaves = here.run("--command 'sleep 0.01' --command 'sleep 0.01 &> /dev/null'");
  CHECK(leaves.code == 4);
  CHECK_THAT(leaves.err, contains("sleep 0.01 &> /dev/null' leaves 1 process behind"));

  auto const fails = here.run("--command true --command 'exit 9'");
  CHECK(fails.code == 4);
  CHECK_THAT(fails.err, contains("'/bin/sh -c exit 9' ended with exit code 9"));
}

TEST_CASE("numbers that two commands print are judged") {
  if (compare.empty()) { return; }
  builds const here;
  here.write("old.txt", "start\nstep_ms=99\nstep_ms=10.0 step_ms=10.2 tokens=200\n");
  here.write("new.txt", "start\nstep_ms=1\nstep_ms=10.5 step_ms=10.7 tokens=190\n");
  std::string const two = "--command 'cat old.txt' --command 'cat new.txt' --labels old,new ";
  auto const times = here.run(
      two +
      "--metric 'step_ms=([0-9.]+)' --metric-unit ms --metric-skip 1 --fail-if slower --json x");
  INFO(times.out << times.err);
  CHECK(times.code == 3);
  CHECK_THAT(times.out, contains("SLOWER: new is slower than old by 4.95 %") &&
                            contains("old   10.10 ms\n") && contains("new   10.60 ms\n") &&
                            contains("without the first 1"));
  CHECK(here.read("x").find("untimed") == std::string::npos);
  auto const rates = here.run(two + "--metric 'tokens=([0-9]+)' --metric-better higher");
  CHECK(rates.code == 0);
  CHECK_THAT(rates.out, contains("SLOWER: new is slower than old by 5.26 %") &&
                            contains("times are 1 / numbers"));
  auto const equal =
      here.run("--command 'cat old.txt' --command 'cat old.txt' --metric 'tokens=([0-9]+)'");
  CHECK_THAT(equal.out, contains("EQUIVALENT"));

  here.write("start.sh", "echo run >> runs; echo 'x=2'\n");
  CHECK(
      here.run("--command 'sh start.sh' --command 'sh start.sh' --metric 'x=(.*)' --quiet").code ==
      0);
  auto const runs = here.read("runs");  // the control has a second instance
  CHECK(std::ranges::count(runs, '\n') == 8 * 3);

  for (auto const& [pattern, says] : std::vector<std::pair<std::string, std::string>>{
           {"speed=(.*)", "'/bin/sh -c cat old.txt': it printed 0 numbers for 'speed=(.*)'"},
           {"(start)", "it printed 'start' for '(start)', which is no positive number"}}) {
    auto const what = here.run(two + "--metric '" + pattern + "'");
    CHECK(what.code == 4);
    CHECK_THAT(what.err, contains(says));
  }
  auto const long_line = std::string{"printf '%0500000d step_ms=1\\n' 0"};
  auto const refused = here.run("--command \"" + long_line + "\" --command \"" + long_line +
                                "\" --metric '.*step_ms=(.*)'");
  CHECK(refused.code == 4);
  CHECK_THAT(refused.err, contains("too long for '.*'") && contains("leave '.*' out"));
  auto const few = here.run(two + "--metric 'step_ms=([0-9.]+)' --metric-skip 3");
  CHECK_THAT(few.err, contains("it printed 3 numbers for") && contains("and 3 warm up"));
  auto const fails = here.run("--command 'cat old.txt; exit 9' --command true --metric 'x=(.*)'");
  CHECK_THAT(fails.err, contains("ended with exit code 9"));
}

TEST_CASE("two builds of a benchmark of nvbench are judged state by state") {
  if (compare.empty()) { return; }
  builds const here;
  fs::create_directory(here / "nv");
  for (auto const* build : {"old", "new", "slow", "fewer", "skips", "reversed", "null", "future",
                            "broken", "strays", "elsewhere", "host", "doubled"}) {
    fs::create_symlink(ASSAY_NVBENCH_PROGRAM, here / "nv" / build);
  }
  auto const run = [&](std::string const& arguments) {
    auto const what = here.shell("cd nv && '" + compare + "' --seed 27 --nvbench " + arguments);
    INFO(what.out << what.err);
    return what;
  };
  auto const slow = run("./old ./slow --fail-if slower --json x.json");
  CHECK(slow.code == 3);
  CHECK_THAT(slow.out, contains("copy N=16: SLOWER: ./slow is slower than ./old by 5.00 %") &&
                           contains("copy N=32: SLOWER") && contains("gpu clock"));
  CHECK_THAT(here.read("nv/x.copy-N-32.json"),
             contains("--min-samples 10 --timeout 0.05") && contains("\"no GPU\""));
  CHECK_THAT(run("./old ./new").out,
             contains("copy N=16: EQUIVALENT") && contains("copy N=32: EQUIVALENT"));
  // one brief run of each program to learn the states, and 12 epochs for all states together
  auto const runs = here.read("nv/runs");
  CHECK(std::ranges::count(runs, '\n') == 2 * (2 + 12 * 3));

  auto const fewer = run("./old ./fewer");
  CHECK(fewer.code == 0);
  CHECK_THAT(fewer.err, contains("not compared: copy N=32: only ./old has it"));
  CHECK_THAT(run("./skips ./old").err, contains("copy N=32: ./skips skips it: too small"));
  CHECK_THAT(run("./old ./reversed").out,
             contains("copy N=16: EQUIVALENT") && contains("copy N=32: EQUIVALENT"));
  CHECK_THAT(run("./old ./null").err, contains("./null skips it: no isolated launch timed"));
  CHECK(run("./old ./new --list --axis 'N[pow2]=7' --benchmark other").out == "other N=128\n");
  CHECK(run("./old ./new --list --axis 'N[pow2]=7' --benchmark \"$(printf 'a\\033b')\"").out ==
        "a\xE2\x90\x9B"
        "b N=128\n");  // a visible symbol, and no control character
  // What is not the same work has no verdict: another state, another device, another way of timing.
  auto const strays = run("./old ./strays");
  CHECK(strays.code == 4);
  CHECK_THAT(strays.out,
             contains("it measured 'copy device=0 N=64' where 'copy device=0 N[pow2]=4'"));
  CHECK_THAT(run("./old ./elsewhere").err,
             contains("not compared: copy device=0 N=16: only ./old has it") &&
                 contains("not compared: copy device=1 N=16: only ./elsewhere has it"));
  for (std::string const programs : {"./old ./doubled", "./doubled ./old"}) {
    CHECK_THAT(run(programs + " --max-seconds 1").err,
               contains("not compared: copy N=16: it is there again, and the first one"));
  }
  for (std::string const programs : {"./old ./host", "./host ./old"}) {
    auto const host = run(programs);
    CHECK(host.code == 2);
    CHECK_THAT(host.err, contains("copy N=32: ./host times it on the host alone"));
  }
  CHECK_THAT(run("./host ./host").out, contains("copy N=32: EQUIVALENT") && contains("wall clock"));
  auto const one =
      run("./old ./slow --case 'copy N=32' --clock wall --nvbench-options '--timeout 9'");
  CHECK_THAT(one.out, contains("copy N=32: ./slow against ./old") && contains("wall clock") &&
                          contains("with --timeout 9"));
  for (auto const& [programs, says] : std::vector<std::pair<std::string, std::string>>{
           {"./old /bin/true", "'/bin/true' was not built with nvbench"},
           {"./old ./future", "'./future': its JSON has version 2.0 of nvbench's format"},
           {"./broken ./old", "'./broken': it wrote no JSON"},
           {"./old ./new --case x", "unknown case 'x'"},
           {"./old ./new --axis M=3", "ended with exit code 3"}}) {
    auto const what = run(programs);
    CHECK(what.code == (programs.ends_with("M=3") ? 4 : 2));
    CHECK_THAT(what.err, contains("error: ") && contains(says));
  }
}

TEST_CASE("bad input is one line with value and remedy, exit code 2") {
  if (compare.empty()) { return; }
  builds const here;
  for (auto const& [arguments, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "name two"},
           {"./old", "name two"},
           {"./old ./new ./slow", "name two"},
           {"./old ./no-such", "error: cannot start ./no-such: No such file"},
           {"./old /bin/true", "/bin/true: the program does not call assay::serve"},
           {"./old ./new --case x", "--case: unknown case 'x': choose one of works"},
           {"./old ./new --margin x", "--margin: 'x' is not a number"},
           {"./old ./new --margin 0", "--margin 0: it must lie between"},
           {"./old ./new --alpha 100%", "--alpha 100%: it must lie between"},
           {"./old ./new --clock sun", "sun"},
           {"./old ./new --epochs 0", "--epochs"},
           {"./old ./new --epochs x", "--epochs"},
           {"./old ./new --max-seconds 0", "--max-seconds"},
           {"./old ./new --max-seconds nan", "--max-seconds nan: it must be between"},
           {"./old ./new --timeout -1", "--timeout"},
           {"./old ./new --timeout nan", "--timeout nan: it must be between"},
           {"./old ./new --fail-if fast", "fast"},
           {"./old ./new --labels one", "--labels"},
           {"./old ./new --json ././new", "would overwrite the program"},
           {"./old ./new --frobnicate", "--frobnicate"},
           {"./old ./new --command true --command true", "--command"},
           {"--command true", "give it twice"},
           {"--command true --command true --case works", "--case"},
           {"./old ./new --metric '(x)'", "--metric: it reads what two --command print"},
           {"--command true --command true --metric x", "'x' needs one group"},
           {"--command true --command true --metric '(x'", "'(x' is no regular expression"},
           {"--command true --command true --metric '(x)' --metric-unit h", "--metric-unit"},
           {"--command true --command true --metric '(x)' --metric-better x", "--metric-better"},
           {"--command true --command true --metric '(x)' --metric-skip -1", "--metric-skip"},
           {"--command true --command true --metric '(x)' --clock wall", "--clock"},
           {"--command true --command true --metric-skip 1", "--metric"},
           {"--command true --command true --nvbench", "--nvbench"},
           {"--command true --command ''", "--command: its value is empty"},
           {"--command true --command true --clock gpu", "commands have no clock but wall"},
           {"--nvbench ./old ./new --clock submit", "the clocks gpu and wall"},
           {"./old ./new --axis N=1", "--axis"},
           {"./old ./new --benchmark x", "--benchmark"},
       }) {
    auto const what = here.run(arguments);
    INFO(arguments << ": " << what.out << what.err);
    CHECK(what.code == 2);
    CHECK(what.out.empty());
    CHECK_THAT(what.err, contains("error: ") && contains(says));
    CHECK(std::ranges::count(what.err, '\n') == 1);
  }
  CHECK(here.shell("'" + compare + "' ./old ./new --seed 0").code == 2);
  auto const lost = here.run("./old ./new --json /no/such/x.json");
  CHECK(lost.code == 4);
  CHECK_THAT(lost.err, contains("/no/such/x.json") && contains("choose another path"));
  auto const version = here.shell("ASSAY_TEST_SAY='assay-serve 5\n' '" + compare + "' ./old ./new");
  CHECK(version.code == 2);
  CHECK_THAT(version.err, contains("speaks version 5, this assay_compare version 4"));
}

TEST_CASE("help explains the statistics and the exit codes") {
  if (compare.empty()) { return; }
  auto const what = builds{}.run("--help");
  CHECK(what.code == 0);
  CHECK_THAT(what.out, contains("signed-rank") && contains("--fail-if") && contains("2 bad input"));
}

TEST_CASE("two commits are built, compared, and cleaned up") {
  builds const here;
  here.write("stub", "#!/bin/sh\nfor word; do echo \"<$word>\"; done\ncat \"$1\" \"$2\"\nexit 3\n");
  here.write("CMakeLists.txt",
             "cmake_minimum_required(VERSION 3.20)\nproject(x LANGUAGES NONE)\n"
             "add_custom_target(x.prog COMMAND install -m 755 ${CMAKE_SOURCE_DIR}/source prog)\n"
             "add_custom_target(x.bad COMMAND echo no reason; COMMAND false)\n");
  here.write("source", "first\n");
  auto const made = here.shell(
      "chmod +x stub && git init -q . && git config user.name x && git config user.email x@y &&\n"
      "git add source CMakeLists.txt && git commit -q -m 1 && echo second > source &&\n"
      "git commit -q -a -m 2 && echo third > source && mkdir tmp");
  INFO(made.err);
  REQUIRE(made.code == 0);
  auto const call = "TMPDIR=$PWD/tmp ASSAY_COMPARE=./stub sh '" + script.string() + "' ";
  auto const left = [&] {
    return here.shell("git worktree list | wc -l; ls tmp; git branch | wc -l").out;
  };

  auto const what = here.shell(call + "HEAD~1 HEAD x.prog --margin '0.5 %'");
  INFO(what.out << what.err);
  CHECK(what.code == 3);
  CHECK_THAT(
      what.out,
      contains("<--labels>\n<HEAD~1 (old),HEAD (new)>\n<--margin>\n<0.5 %>\nfirst\nsecond\n"));
  CHECK_THAT(what.err, contains("comparing HEAD~1 (old) with HEAD (new)"));
  CHECK(left() == "1\n1\n");

  for (auto const& [arguments, code, says] :
       {std::tuple{"", 2, "OLD, NEW and TARGET"}, std::tuple{"HEAD HEAD", 2, "TARGET"},
        std::tuple{"--frob", 2, "--frob"}, std::tuple{"nope HEAD x.prog", 2, "'nope'"},
        std::tuple{"HEAD nope x.prog", 2, "'nope'"}, std::tuple{"HEAD HEAD x.bad", 4, "no reason"},
        std::tuple{"HEAD HEAD x.none", 4, "building x.none"}, std::tuple{"--help", 0, ""}}) {
    INFO(arguments);
    auto const bad = here.shell(call + arguments);
    CHECK(bad.code == code);
    CHECK_THAT(bad.err, contains(says));
    CHECK(left() == "1\n1\n");
  }
}
