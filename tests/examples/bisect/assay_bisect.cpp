// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it starts other programs
// assay_bisect over git repositories with known times, and assay_history over what it keeps.
#include "bisect/machine_code.hpp"
#include "catch.hpp"
#include "folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

using assay::test::contains;
namespace fs = std::filesystem;

namespace {

// Empty in a build without the examples.
#ifdef ASSAY_BISECT
std::string const bisect = ASSAY_BISECT, history = ASSAY_HISTORY;
#else
std::string const bisect, history;
#endif

struct outcome {
  int code;
  std::string out, err;
};

/// A repository whose commits print a time: `times` has one for each, or "broken" for one that does
/// not build, or "silent" for one whose program fails. The first one has the tag `good`.
class repository {
 public:
  explicit repository(std::vector<std::string> const& times) {
    std::string all = "git init -q . && git config user.name x && git config user.email x@y\n";
    for (std::size_t i = 0; i < times.size(); ++i) {
      all += "echo '" + times[i] +
             "' > time; git add time; git commit -q --allow-empty -m 'change " + std::to_string(i) +
             "'" + (i == 0 ? "; git tag good\n" : "\n");
    }
    REQUIRE(shell(all).code == 0);
  }

  outcome shell(std::string const& command) const {
    auto const at = own_.path().string();
    fs::create_directory(at + "/repo");
    auto const all = "cd '" + at + "/repo' && { " + command + "\n} > ../out 2> ../err < /dev/null";
    int const status = std::system(all.c_str());
    return {WEXITSTATUS(status), assay::test::content(own_ / "out"),
            assay::test::content(own_ / "err")};
  }
  /// With a build that is counted, and a program that prints the time of its commit.
  outcome run(std::string const& arguments = "good HEAD") const {
    return shell("'" + bisect + "' " + arguments +
                 " --build 'echo build >> ../../../../builds; ! grep -q broken time'"
                 " --command 'cat time' --metric 'ms=([0-9.]+)' --metric-unit ms");
  }
  void write(char const* name, std::string const& text) const {
    std::ofstream{own_ / name} << text;
  }
  auto builds() const {
    auto const all = assay::test::content(own_ / "builds");
    return std::ranges::count(all, '\n');
  }

 private:
  assay::test::folder const own_{"assay bisect"};
};

/// 17 commits, of which that number `at` and the later ones take 3 % longer.
std::vector<std::string> slower_from(std::size_t at) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < 17; ++i) { all.emplace_back(i < at ? "ms=10.00" : "ms=10.30"); }
  return all;
}

}  // namespace

TEST_CASE("the commit that made a program slower is named, and its checkout is untouched") {
  if (bisect.empty()) { return; }
  auto times = slower_from(11);
  for (auto const i : {6U, 7U, 8U, 9U}) { times[i] = "broken"; }
  times[12] = "silent";
  repository const here{times};
  auto const what = here.run();
  INFO(what.out << what.err);
  CHECK(what.code == 0);
  CHECK_THAT(what.out, contains("SLOWER: ") && contains("(change 11) takes +3.00 %") &&
                           contains("against the commit before") &&
                           contains("does not build, see ") &&
                           contains("All answers are right together with 95"));
  CHECK(here.shell("git status --short; git branch | wc -l").out == "1\n");
  CHECK_THAT(here.shell("git worktree list").out, contains("assay-bisect"));

  // The answers are kept, and each commit was built once.
  auto const builds = here.builds();
  auto const again = here.run();
  CHECK(again.out == what.out);
  CHECK(again.err.find("comparing ") == std::string::npos);
  CHECK(here.builds() == builds);
  // Another margin is another question, for the same builds.
  CHECK(here.run("good HEAD --margin 2%").code == 0);
  CHECK(here.builds() == builds);

  auto const drawn = here.shell(
      "'" + history + "' .git/assay-bisect/*/*-0.json .git/assay-bisect/*/*-1.json --html h.html");
  INFO(drawn.out << drawn.err);
  CHECK(drawn.code == 0);
  CHECK_THAT(drawn.out, contains("SLOWER +3.00 %") && contains("10.30 ms") &&
                            contains("Stored numbers prove nothing about each other"));
  CHECK_THAT(here.shell("cat h.html").out, contains("<svg") && contains("prove nothing"));
  auto const refused = here.shell("'" + history + "' time");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, contains("time is not JSON: name a file that --json wrote"));
  auto const untitled = here.shell(
      "for each in .git/assay-bisect/*/*-0.json; do sed 's/\"title\": \"[^\"]*\"/\"title\": \"\"/' "
      "\"$each\" > u.json; done; '" +
      history + "' u.json");
  INFO(untitled.err);
  CHECK_THAT(untitled.out, contains("a comparison, "));
}

TEST_CASE("an interrupted bisection goes on from its answers") {
  if (bisect.empty()) { return; }
  repository const here{slower_from(3)};
  // A judge that gives up at the third comparison, as if the machine had gone down.
  auto const real = (fs::path{bisect}.parent_path() / "assay_compare").string();
  here.shell(
      "printf '#!/bin/sh\\ncase \"$*\" in *--list*) ;; *) echo x >> ../calls\\n"
      "[ \"$(grep -c x ../calls)\" = 3 ] && { kill -INT $PPID; sleep 60; };; esac\\n"
      "exec \"%s\" \"$@\"\\n' '" +
      real + "' > ../judge && chmod +x ../judge && touch ../calls");
  auto const cut =
      here.shell("export ASSAY_COMPARE=$PWD/../judge; '" + bisect +
                 "' good HEAD --build true --command 'cat time' --metric 'ms=([0-9.]+)'");
  INFO(cut.out << cut.err);
  CHECK(cut.code == 4);
  CHECK_THAT(cut.err, contains("interrupted: the same command goes on from here"));
  auto const rest =
      here.shell("export ASSAY_COMPARE=$PWD/../judge; '" + bisect +
                 "' good HEAD --build true --command 'cat time' --metric 'ms=([0-9.]+)'");
  INFO(rest.out << rest.err);
  CHECK(rest.code == 0);
  CHECK_THAT(cut.err, contains("(change 16) with"));
  CHECK(rest.err.find("(change 16) with") == std::string::npos);  // it is kept
  CHECK_THAT(rest.out, contains("(change 3)"));
}

TEST_CASE("a command that runs ends with its bisection, whatever the signal") {
  if (bisect.empty()) { return; }
  repository const here{slower_from(3)};
  auto const number = std::to_string(::getpid());
  for (std::string const signal : {"INT", "TERM", "HUP"}) {
    // A number of seconds that no other process sleeps.
    auto const sleep = "sleep 1" + number + (signal == "INT" ? "1" : signal == "TERM" ? "2" : "3");
    auto const cut =
        here.shell("'" + bisect + "' good HEAD --build true --command 'touch ../../../" + signal +
                   "; " + sleep + "; true' & bisection=$!\nfor i in $(seq 400); do [ -e " + signal +
                   " ] && break; sleep 0.05; done\nkill -" + signal +
                   " $bisection; wait $bisection; code=$?; pgrep -f '^" + sleep + "'; exit $code");
    INFO(signal << ": " << cut.out << cut.err);
    CHECK(cut.code == 4);
    CHECK_THAT(cut.err, contains("interrupted: the same command goes on from here"));
    CHECK(cut.out.empty());  // no process stays
    CHECK(here.shell("ls .git/assay-bisect/answers-*/*.json").code != 0);
  }
}

TEST_CASE("git's warnings and signatures are no commits") {
  if (bisect.empty()) { return; }
  repository const here{slower_from(2)};
  here.write("signer",
             "#!/bin/sh\nprintf '\\n[GNUPG:] SIG_CREATED x\\n' >&2; echo 'a signature of gpg'\n");
  auto const sign = here.shell(
      "chmod +x ../signer; git config gpg.program \"$PWD/../signer\"; git config "
      "log.showSignature true; git commit -S --allow-empty -q -m signed");
  INFO(sign.err);
  REQUIRE(sign.code == 0);
  auto const what = here.shell("export GIT_TRACE=1; '" + bisect +
                               "' good HEAD --build true --command 'cat time' --metric "
                               "'ms=([0-9.]+)'");
  INFO(what.out << what.err);
  CHECK(what.code == 0);
  CHECK_THAT(what.out, contains("(change 2)") && contains("; 17 commits after GOOD"));
}

TEST_CASE("answers of another machine do not count") {
  if (bisect.empty() || std::system("taskset -c 0 nproc | grep -qx 1 && [ $(nproc) -gt 1 ]") != 0) {
    return;
  }
  repository const here{slower_from(2)};
  auto const command =
      "'" + bisect + "' good HEAD --build true --command 'cat time' --metric 'ms=([0-9.]+)'";
  CHECK(here.shell(command).code == 0);
  auto const other = here.shell("taskset -c 0 " + command);
  INFO(other.err);
  CHECK_THAT(other.err, contains("comparing "));
  CHECK(other.err.find("building ") == std::string::npos);
  CHECK(here.shell(command).err.find("comparing ") == std::string::npos);
}

TEST_CASE("a build that failed says how it is made again") {
  if (bisect.empty()) { return; }
  repository const here{slower_from(2)};
  auto const command = "'" + bisect +
                       "' good HEAD --build 'test -e ../../../tool' --command 'cat time' --metric "
                       "'ms=([0-9.]+)'";
  auto const failed = here.shell(command);
  INFO(failed.err);
  CHECK(failed.code == 4);
  auto const at = failed.err.find("(remove ");
  REQUIRE(at != std::string::npos);
  auto const end = failed.err.find(" to build it again)", at);
  REQUIRE(end != std::string::npos);
  auto const named = failed.err.substr(at + 8, end - at - 8);
  CHECK(here.shell("touch tool; rm .git/assay-bisect/*.built && ! [ -e '" + named + "' ]").code ==
        0);
  CHECK(here.shell(command).code == 0);
}

TEST_CASE("what cannot be bisected is one line and an exit code") {
  if (bisect.empty()) { return; }
  repository const here{{"ms=10.0", "ms=10.0", "ms=9.0", "broken", "silent", "ms=10.001"}};
  for (auto const& [arguments, code, says] : std::vector<std::tuple<std::string, int, std::string>>{
           {"nope HEAD", 2, "GOOD: 'nope' names no commit"},
           {"good nope", 2, "BAD: 'nope' names no commit"},
           {"HEAD good", 2, "GOOD HEAD is no ancestor of BAD good"},
           {"good good", 2, "GOOD and BAD are one commit"},
           {"good HEAD", 2, "the ends do not differ by the margin: nothing to bisect"},
           {"good HEAD --folder \"it's here\"", 2, "the ends do not differ by the margin"},
           {"good HEAD~3", 2, "BAD is faster than GOOD"},
           {"good HEAD~2", 4, "BAD: does not build, see "},
           {"good HEAD~1", 4, "it printed 0 numbers"},
           {"good HEAD --margin 0", 2, "--margin 0: it must lie between"},
           {"good HEAD --clock sun", 2, "sun"},
           {"good HEAD --program x", 2, "--command"},
           {"good HEAD --json x", 2, "--json"},
           {"good HEAD --labels a,b", 2, "--labels"},
           {"good HEAD --frob", 2, "--frob"}}) {
    auto const what = here.run(arguments);
    INFO(arguments << ": " << what.out << what.err);
    CHECK(what.code == code);
    CHECK(what.out.empty());
    CHECK_THAT(what.err, contains("error: ") && contains(says));
  }
  auto const programs = here.shell("'" + bisect + "' good HEAD --build true");
  CHECK(programs.code == 2);
  CHECK_THAT(programs.err, contains("name --command, or --program and its --case"));
  for (std::string const program : {"/bin/true", "../bench", "build/../../bench"}) {
    auto const outside =
        here.shell("'" + bisect + "' good HEAD --build true --case x --program " + program);
    CHECK(outside.code == 2);
    CHECK_THAT(outside.err, contains("--program " + program + ": name a path in the folder"));
  }
  auto const nowhere = here.shell("cd / && '" + bisect + "' a b --build true --command true");
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, contains("in no git repository"));
}

TEST_CASE("a case of a program that calls assay::serve is bisected, where commits have it") {
  if (bisect.empty()) { return; }
  // Each commit names its program: "small" has one case, and "small_slow" takes 5 % longer.
  repository const here{{"small", "small", "none", "small_slow", "small_slow"}};
  here.write("build.sh",
             "ln -s '" ASSAY_SERVED_PROGRAM
             "' small; ln -s small small_slow; ln -s /bin/true none\n"
             "printf '#!/bin/sh\\ncd \"${0%%/*}\"; exec ./%s \"$@\"\\n' $(cat time) > bench\n"
             "chmod +x bench\n");
  auto const run = [&](std::string const& name) {
    return here.shell("'" + bisect + "' good HEAD --case " + name +
                      " --program bench --build 'sh ../../../../build.sh'");
  };
  auto const what = run("works");
  INFO(what.out << what.err);
  CHECK(what.code == 5);
  CHECK_THAT(what.out, contains("CANNOT TELL: the slow-down is in one of 2 commits") &&
                           contains("cannot be compared: ") &&
                           contains("does not call assay::serve"));
  auto const missing = run("nothing");
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, contains("unknown case 'nothing'"));
}

TEST_CASE("a state of nvbench is bisected, where GOOD skips another one") {
  if (bisect.empty()) { return; }
  repository const here{{"skips", "skips", "slow", "slow"}};
  here.write("build.sh",
             "ln -s '" ASSAY_NVBENCH_PROGRAM
             "' skips; ln -s skips slow\n"
             "printf '#!/bin/sh\\ncd \"${0%%/*}\"; exec ./%s \"$@\"\\n' $(cat time) > bench\n"
             "chmod +x bench\n");
  auto const what = here.shell("'" + bisect +
                               "' good HEAD --nvbench --case 'copy N=16' --program bench "
                               "--epochs=24 --build 'sh ../../../../build.sh'");
  INFO(what.out << what.err);
  CHECK(what.code == 0);
  CHECK_THAT(what.out, contains("(change 2) takes +5.00 %"));
}

TEST_CASE("commits that leave the machine code as it is are not measured") {
  if (bisect.empty()) { return; }
  if (std::system("c++ --version > /dev/null 2>&1 && objcopy --version > /dev/null 2>&1") != 0) {
    return;
  }
  repository const here{{}};
  std::string commits;
  for (int i = 0; i < 9; ++i) {
    commits +=
        "printf '// %s\\n#include <cstdio>\\nint main() { std::printf(\"ms=%s\\\\n\"); "
        "return sizeof __FILE__ == 0; }\\n' 'note " +
        std::to_string(i) + "' " + (i < 6 ? "10.00" : "10.30") +
        " > x.cpp; git add x.cpp; git commit -q -m 'change " + std::to_string(i) + "'\n";
  }
  REQUIRE(here.shell(commits + "git tag good HEAD~8").code == 0);
  auto const what = here.shell("'" + bisect +
                               "' good HEAD --build 'c++ -g \"$PWD/x.cpp\" -o x' --command ./x "
                               "--metric 'ms=([0-9.]+)'");
  INFO(what.out << what.err);
  CHECK(what.code == 0);
  CHECK_THAT(what.out, contains("(change 6)") && contains("3 more by equal machine code"));
  // What a shell runs may be a script.
  for (std::string const shell : {"sh", "/bin/sh"}) {
    auto const script =
        here.shell("'" + bisect + "' good HEAD --build 'c++ -g \"$PWD/x.cpp\" -o x' --command '" +
                   shell + " -c ./x' --metric 'ms=([0-9.]+)'");
    CHECK_THAT(script.out, contains("(change 6)") && contains("0 more by equal machine code"));
  }
}

TEST_CASE("device code is what cuobjdump prints, and all else is bytes without symbols") {
  if (std::system("c++ --version > /dev/null 2>&1 && objcopy --version > /dev/null 2>&1") != 0) {
    return;
  }
  assay::test::folder const here{"assay machine code"};
  auto const write = [&](fs::path const& path, std::string const& text) {
    std::ofstream{path} << text;
  };
  // It stands for NVIDIA's, and says which kernels there are.
  fs::create_directory(here / "bin");
  write(here / "bin/cuobjdump",
        "#!/bin/sh\ncd '" + here.path().string() +
            "'\ncase $1 in\n-elf) echo .nv.constant3; cat constants; echo .debug_line; echo $$ ;;\n"
            "*) echo Function : f; echo .loc $$; cat sass ;;\nesac\n");
  fs::permissions(here / "bin/cuobjdump", fs::perms::owner_all);
  std::string const path = std::getenv("PATH");
  ::setenv("PATH", ((here / "bin").string() + ":" + path).c_str(), 1);
  auto const code = [&](std::string const& flags, std::string const& sass = "EXIT ;",
                        std::string const& constants = "0x1\n") {
    auto const tree = here / "tree";
    fs::remove_all(tree);
    fs::create_directory(tree);
    write(here / "sass", sass);
    write(here / "constants", constants);
    write(tree / "x.cpp",
          "__attribute__((section(\".nv_fatbin\"), used)) char const device[9] = DEVICE;\n"
          "int value = VALUE; char const* volatile text = TEXT;\n"
          "int f(int x) { return x + value; } int g(int x) { return x - ONE; }\n"
          "int (*const table[])(int) = {FIRST, SECOND};\n"
          "int main(int argc, char**) { return table[argc % 2](argc); }\n");
    auto const call = "cd '" + tree.string() +
                      "' && c++ -O1 '-DDEVICE=\"1\"' '-DTEXT=\"v1\"' -DVALUE=3 -DONE=1 -DFIRST=f "
                      "-DSECOND=g " +
                      flags + " x.cpp -o x 2> log";
    REQUIRE(std::system(call.c_str()) == 0);
    return assay::examples::machine_code(tree, "0123456789abcdef0123456789abcdef01234567");
  };
  auto const first = code("");
  CHECK(first.starts_with("x "));
  CHECK(code("-UDEVICE '-DDEVICE=\"2\"' -g") == first);
  CHECK(code("", "NOP ;") != first);
  CHECK(code("", "EXIT ;", "0x2\n") != first);
  CHECK(code("-UVALUE -DVALUE=4") != first);
  CHECK(code("-UONE -DONE=2") != first);
  CHECK(code("-UFIRST -USECOND -DFIRST=g -DSECOND=f") != first);
  // Text that tells commits apart.
  auto const at = [&](std::string const& hash) {
    return code("-UTEXT '-DTEXT=\"" + hash + "\"'", "_GLOBAL__N__" + hash);
  };
  CHECK(at("0123456789ab") != first);
  CHECK(at("0123456789ab") == at("012345600000"));
  CHECK(at("0123456789ab") != at("0123450000ab"));
  ::setenv("PATH", path.c_str(), 1);
  CHECK(code("-UDEVICE '-DDEVICE=\"2\"'") != code(""));
}
