// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it starts another program
/// @file
/// Programs that call assay::serve, judged by the engine: verdicts, every failure, nothing left.
#include <assay/core/policy.hpp>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/memory/request.hpp>
#include <assay/serve.hpp>
#include <assay/serve/remote_subject.hpp>

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "command_subject.hpp"
#include "common_cases.hpp"

using namespace assay;
using namespace std::chrono_literals;
using assay::test::contains;
using assay::test::message_of;
using measure::clock;
using measure::remote_subject;
using measure::verdict;

namespace {

std::string const program = ASSAY_SERVED_PROGRAM;

/// Sets a variable of the environment for the programs that this scope starts.
class variable {
 public:
  variable(char const* name, std::string const& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  variable(variable const&) = delete;
  ~variable() { ::unsetenv(name_); }

 private:
  char const* name_;
};

/// True if this process has no child, not even a dead one.
bool no_child_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

/// True if a process, or a group for a negative number, ends within 5 s.
bool gone(::pid_t which) {
  for (int i = 0; i < 500; ++i) {
    if (::kill(which, 0) != 0 && errno == ESRCH) { return true; }
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

measure::variant served(std::string label, std::string const& name, double factor = 1,
                        measure::remote_options const& chosen = {}) {
  return measure::remote_variant(
      label, {program, std::to_string(factor), label == "old" ? "1" : "2"}, name, chosen);
}

measure::comparison judged(std::vector<measure::variant> const& variants) {
  measure::options chosen;
  chosen.clock = clock::wall;
  chosen.seed = 27;
  return measure::compare_variants(
      variants, measure::against_first({variants[0].label, variants[1].label}), chosen);
}

/// The reason of an experiment with one bad variant. No process may remain.
std::string reason(measure::variant const& bad) {
  auto const result = judged({served("old", "works"), bad});
  CHECK(no_child_left());
  return result.findings.at(0).reason;
}

measure::served::words through(measure::served::words const& message) {
  auto line = measure::served::encode(message);
  CHECK(line.find('\n') == line.size() - 1);
  line.pop_back();
  return measure::served::decode(line);
}

struct output {
  int code;
  std::string text;  ///< standard output and standard error
};

/// The program as a user starts it.
output stand_alone(std::string const& arguments, std::string const& variables = "") {
  auto const command = variables + " '" + program + "' " + arguments + " 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int each = 0; (each = std::fgetc(pipe)) != EOF;) { text += static_cast<char>(each); }
  return {WEXITSTATUS(::pclose(pipe)), text};
}

}  // namespace

TEST_CASE("words and doubles survive encoding as a line") {
  using namespace measure::served;
  for (auto const& each : {words{"a"}, words{"", ""}, words{"two words", "\\s", "a\nb\r\n", "\\"},
                           words{"x", std::string(10000, ' ')}}) {
    CHECK(through(each) == each);
  }
  for (auto const* locale : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {  // where they are installed
    std::setlocale(LC_NUMERIC, locale);
    for (double const each :
         {0.1, -1.0 / 3, 4.9e-324, 1.7976931348623157e308, 0.0, -0.0,
          -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()}) {
      CHECK(to_number<double>(from_double(each)) == each);
      CHECK(std::signbit(to_number<double>(from_double(each))) == std::signbit(each));
    }
    CHECK(from_double(-1.5) == "-1.5");
    CHECK(mr::describe_bytes(1536 << 10U) == "1.5 MiB");
    CHECK(parameter_list{}.show("share", 0.25).after("policy") == "policy{share=0.25}");
  }
  std::setlocale(LC_NUMERIC, "C");
  CHECK(std::isnan(to_number<double>(from_double(std::nan("")))));
  CHECK(to_number<std::uint64_t>("18446744073709551615") == ~std::uint64_t{0});
  for (auto const* bad : {"", "1x", "x", " ", "--1", "-", "0x", "0x1,8p+0"}) {
    CHECK_THROWS_AS(to_number<double>(bad), protocol_error);
    CHECK_THROWS_AS(to_number<int>(bad), protocol_error);
  }
  CHECK_THROWS_AS(decode("a\\q"), protocol_error);
  CHECK_THROWS_AS(decode("a\\"), protocol_error);
  CHECK_THROWS_AS(at({"a"}, 1), protocol_error);
}

TEST_CASE("a cell survives as words, with the launches that were timed by themselves") {
  measure::cell timed;
  timed[measure::clock::wall] = 0.1;
  timed.disturbance = "two words";
  for (std::size_t const singles : {0U, 3U}) {
    timed.launches.assign(singles, 1.0 / 3);
    auto line = measure::served::encode(measure::served::from_cell(timed));
    line.pop_back();  // the line break
    auto const back = measure::served::to_cell(measure::served::decode(line));
    CHECK(back[measure::clock::wall] == 0.1);
    CHECK(std::isnan(back[measure::clock::gpu]));
    CHECK(back.disturbance == "two words");
    CHECK(back.launches == timed.launches);
  }
}

TEST_CASE("a subject in another program answers as one in this program") {
  ::pid_t pid = 0;
  {
    remote_subject subject{{program}, "works", {7, ~std::uint64_t{0}, 1}};
    pid = subject.pid();
    subject.warm(0, 3);
    auto const timed = subject.time(1, 10);
    CHECK(timed[clock::wall] == Approx(1e-3).epsilon(1e-3));
    CHECK(std::isnan(timed[clock::gpu]));
    CHECK(std::isnan(timed.sm_hertz));
    CHECK(timed.disturbance.empty());
    CHECK(!subject.verify(0));
    CHECK(subject.bytes() == 4096);
    CHECK(subject.flops() == 0.1);
    CHECK(subject.caveats() ==
          std::vector<std::string>{"epoch 7, seed 18446744073709551615, instance 1", "",
                                   "two\nlines \\ and a blank"});
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK(gone(pid));
  CHECK(no_child_left());

  remote_subject subject{{program}, "disturbed", {}};
  auto const timed = subject.time(0, 1);
  CHECK(timed.seconds == std::array{0.1, 1.0 / 3, 4.9e-324});
  CHECK(timed.sm_hertz == 1.98e9);
  CHECK(timed.disturbance == "the clock fell");
}

TEST_CASE("a program lists its cases with the deciding clock of each") {
  auto const all = measure::remote_process{{program}}.cases();
  REQUIRE(all.size() == 12);
  CHECK(all[0].name == "works");
  CHECK(all[0].decides == clock::wall);
  CHECK(all[1].name == "prints and has blanks");
  CHECK(all[8].decides == clock::gpu);
  CHECK(examples::common_cases({program}, {program}).size() == 12);
  CHECK(no_child_left());
}

TEST_CASE("a program times the clock that decides, and that of its case where none is asked for") {
  for (auto const asked : measure::all_clocks) {
    measure::epoch now;
    now.decides = asked;
    remote_subject subject{{program}, "by one clock", now};
    auto const timed = subject.time(0, 1);
    auto const empty = subject.time_empty(7);
    REQUIRE(empty);
    for (auto const each : measure::all_clocks) {
      CHECK(std::isnan(timed[each]) == (each != asked));
      CHECK(std::isnan((*empty)[each]) == (each != asked));
    }
    CHECK((*empty)[asked] == 1e-9 * 7);
    CHECK(subject.checked() == measure::checks::part);
  }
  remote_subject subject{{program}, "by one clock", {}};
  CHECK(subject.time(0, 1)[clock::submit] > 0);
  CHECK_FALSE(remote_subject{{program}, "works", {}}.time_empty(7));

  for (auto const asked : measure::all_clocks) {
    measure::options chosen;
    chosen.clock = asked;
    chosen.seed = 27;
    auto const found = measure::compare_variants(
        {served("old", "by one clock"), served("new", "by one clock", 1.05)},
        measure::against_first({"old", "new"}), chosen);
    INFO(found.reason());
    CHECK(found.is(verdict::slower));
  }
}

TEST_CASE("a served callable is timed by the clock that decides, or says why not") {
  measure::epoch now;
  now.decides = clock::gpu;
  remote_subject refused{{program}, "a call", now};
  CHECK(message_of([&] { refused.warm(0, 1); }) == "host calls have no clock but wall");
  now.decides = clock::wall;
  CHECK(remote_subject{{program}, "a call", now}.time(0, 100)[clock::wall] > 0);
}

TEST_CASE("a reply tells how much of the results is checked") {
  auto const checked = [](std::string const& name) {
    remote_subject subject{{program}, name, {}};
    subject.finish_building();
    return subject.checked();
  };
  CHECK(checked("works") == measure::checks::all);
  CHECK(checked("by one clock") == measure::checks::part);
  CHECK(checked("unchecked") == measure::checks::none);
  for (auto const each : {measure::checks::none, measure::checks::part, measure::checks::all}) {
    CHECK(measure::served::to_checks(measure::served::to_word(each)) == each);
  }
  CHECK_THROWS_AS(measure::served::to_checks("some"), measure::served::protocol_error);
  CHECK_THROWS_AS(measure::served::to_clock("cpu"), measure::served::protocol_error);
}

TEST_CASE("a slower program is found slower, and an equal one is not") {
  auto const slower = judged({served("old", "works"), served("new", "works", 1.05)});
  CHECK(slower.findings.at(0).outcome == verdict::slower);
  CHECK(slower.findings.at(0).effect.ratio == Approx(1.05).epsilon(1e-3));
  auto const equal = judged({served("old", "works"), served("new", "works")});
  INFO(equal.findings.at(0).reason << ", seed " << equal.seed);
  CHECK(equal.findings.at(0).outcome == verdict::equivalent);
  CHECK(no_child_left());
}

TEST_CASE("a program may print while it serves") {
  auto const result = judged(
      {served("old", "prints and has blanks"), served("new", "prints and has blanks", 1.05)});
  CHECK(result.findings.at(0).outcome == verdict::slower);
}

TEST_CASE("the error of a failed program says how it ended") {
  CHECK_THAT(reason(served("new", "crashes")),
             contains("\"new\", epoch 1") &&
                 contains("the program ended by signal 11 (Segmentation fault)"));
  CHECK_THAT(reason(served("new", "exits")),
             contains("\"new\"") && contains("ended with exit code 3"));
  CHECK_THAT(reason(served("new", "throws")), contains("\"new\"") && contains("no more\nmemory"));
  CHECK_THAT(reason(served("new", "no such")),
             contains("no case 'no such': the program has works, prints"));
  CHECK_THAT(reason(measure::remote_variant("new", {"/bin/true"}, "works")),
             contains("does not call assay::serve: it ended with exit code 0"));
  measure::remote_process none{{"/bin/true"}, {.required_call = "assay::serve_problem"}};
  CHECK(message_of([&] { none.cases(); }) ==
        "/bin/true: the program does not call assay::serve_problem: it ended with exit code 0");
  CHECK_THAT(reason(measure::remote_variant("new", {"./no/such"}, "works")),
             contains("cannot start ./no/such: No such file or directory"));
}

TEST_CASE("a wrong answer in another program is a wrong answer") {
  auto const result = judged({served("old", "works"), served("new", "wrong")});
  CHECK(result.findings.at(0).outcome == verdict::wrong_answer);
  CHECK_THAT(result.findings.at(0).reason, contains("element 7 is 1, not 2"));
  CHECK(no_child_left());
}

TEST_CASE("a program that hangs is killed with what it started, and named") {
  auto const begin = std::chrono::steady_clock::now();
  CHECK_THAT(reason(served("new", "hangs", 1, {.timeout = 0.3s})),
             contains("\"new\"") && contains("no answer within 0.3 s and was killed"));
  ::pid_t pid = 0;
  {
    remote_subject subject{{program}, "hangs", {}, {.timeout = 0.3s}};
    pid = subject.pid();
    CHECK_THROWS_AS(subject.time(0, 1), std::runtime_error);
    CHECK(gone(pid));
    CHECK_THAT(message_of([&] { subject.warm(0, 1); }), contains("ended by signal 9 (Killed)"));
  }
  CHECK(gone(-pid));
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("children of a program end with the program") {
  remote_subject subject{{program}, "exits", {}, {.timeout = 5s}};
  auto const pid = subject.pid();
  CHECK_THAT(message_of([&] { subject.time(0, 1); }), contains("ended with exit code 3"));
  CHECK(gone(-pid));
}

TEST_CASE("a program may finish what it does at its end") {
  auto const file = "/tmp/assay-served." + std::to_string(::getpid());
  variable const last_word{"ASSAY_TEST_LAST_WORD", file};
  { remote_subject const subject{{program}, "works", {}}; }
  CHECK(std::remove(file.c_str()) == 0);
}

TEST_CASE("the end of a subject ends a program that does not end by itself") {
  variable const hello{"ASSAY_TEST_SAY", "assay-serve 4\n"};
  ::pid_t pid = 0;
  {
    measure::remote_process const waits{{program}, {.shutdown = 0.1s}};
    pid = waits.pid();
  }
  CHECK(gone(pid));
  CHECK(no_child_left());
}

TEST_CASE("the error of a broken protocol shows the message") {
  auto const said = [](std::string const& line) {
    variable const speaks{"ASSAY_TEST_SAY", line};
    auto const text = message_of(
        [] { measure::remote_process{{program}, {.timeout = 0.3s, .shutdown = 0.1s}}.cases(); });
    CHECK(no_child_left());
    return text;
  };
  CHECK(
      said("assay-serve 5\n") ==
      program +
          ": the program speaks version 5, this assay_compare version 4: build both with the same "
          "assay");
  CHECK_THAT(said("hello\n"), contains("'hello' is no message of the protocol"));
  CHECK_THAT(said("assay-serve\n"), contains("is no message"));
  CHECK_THAT(said("assay-serve one\n"), contains("'one' is no message"));
  CHECK_THAT(said("\\q\n"), contains("'\\q' is no message"));
  CHECK_THAT(said("without an end"), contains("no answer within 0.3 s"));
  CHECK_THAT(said("assay-serve 4\nwhat\n"), contains("'what\n' is no message"));
  variable const speaks{"ASSAY_TEST_SAY", "assay-serve 4\nwhat\n"};
  CHECK_THAT(message_of([] { measure::remote_process{{program}, {.shutdown = 0.1s}}.cases(); }),
             contains("'what\n' is no message"));
}

TEST_CASE("a program that ends early has another error than one without assay::serve") {
  {
    variable const ends{"ASSAY_TEST_EXIT", "1"};
    CHECK(message_of([] { measure::remote_process{{program}}.cases(); }) ==
          program + ": the program does not call assay::serve: it ended with exit code 7");
  }
  {
    variable const ends{"ASSAY_TEST_ABORT", "1"};
    CHECK(message_of([] { measure::remote_process{{program}}.cases(); }) ==
          program + ": the program ended by signal 6 (Aborted)");
  }
  variable const twice{"ASSAY_TEST_TWICE", "1"};
  CHECK_THAT(message_of([] { measure::remote_process{{program}}.cases(); }),
             contains("two cases of assay::serve have the name 'works'"));
  CHECK(no_child_left());
}

TEST_CASE("an exception in this program leaves nothing running") {
  ::pid_t pid = 0;
  try {
    remote_subject const subject{{program}, "works", {}};
    pid = subject.pid();
    throw std::runtime_error("of this program");
  } catch (std::runtime_error const&) {}
  CHECK(gone(pid));

  measure::options chosen;
  chosen.progress = [](int, int, std::string_view what) {
    if (what == "timing") { throw std::runtime_error("in a hook"); }
  };
  CHECK_THROWS(measure::compare_variants({served("old", "works"), served("new", "works")},
                                         measure::against_first({"old", "new"}), chosen));
  CHECK(no_child_left());
}

TEST_CASE("the end of this program ends the program that it started") {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (auto const* name : {"works", "hangs"}) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    auto const judge = ::fork();
    if (judge == 0) {
      remote_subject subject{{program}, name, {}};
      auto const pid = subject.pid();
      if (::write(ends[1], &pid, sizeof pid) != sizeof pid) { ::_exit(1); }
      if (name == std::string{"hangs"}) { subject.time(0, 1); }
      ::raise(SIGKILL);
    }
    ::pid_t pid = 0;
    REQUIRE(::read(ends[0], &pid, sizeof pid) == sizeof pid);
    std::this_thread::sleep_for(100ms);
    ::kill(judge, SIGKILL);
    CHECK(::waitpid(judge, nullptr, 0) == judge);
    bool ended = false;
    for (int i = 0; !ended && i < 500; ++i) {
      ended = ::waitpid(pid, nullptr, WNOHANG) == pid;
      std::this_thread::sleep_for(10ms);
    }
    CHECK(ended);
    ::kill(-pid, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {}
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("a command is timed from its start to its end") {
  examples::command_subject sleeps{{{"sleep", "0.03"}}};
  auto const timed = sleeps.time(0, 2);
  CHECK(timed[clock::wall] > 0.03);
  CHECK(timed[clock::wall] < 1.0);
  CHECK(std::isnan(timed[clock::gpu]));
  CHECK(!sleeps.verify(0));
}

TEST_CASE("a command that fails is named") {
  auto const said = [](std::vector<std::string> const& command) {
    auto const made = examples::command_variant("x", {command, 0.2s}).build({});
    auto const text = message_of([&] { made->warm(0, 1); });
    CHECK(no_child_left());
    return text;
  };
  CHECK_THAT(said({"sh", "-c", "exit 9"}), contains("'sh -c exit 9' ended with exit code 9"));
  CHECK_THAT(said({"sh", "-c", "kill -ABRT $$"}), contains("ended by signal 6"));
  CHECK_THAT(said({"sleep", "1000"}), contains("'sleep 1000' did not end within 0.2 s"));
  CHECK_THAT(said({"sh", "-c", "sleep 1000 & exit 0"}),
             contains("'sh -c sleep 1000 & exit 0' leaves 1 process behind") &&
                 contains("add 'wait' at its end"));
  CHECK_THAT(said({"sh", "-c", "setsid sleep 1000 & sleep 1000 & exit 0"}),
             contains("leaves 2 processes behind"));
  CHECK(said({"sh", "-c", "true & wait"}) == "nothing was thrown");
  CHECK_THAT(said({"no-such-command"}), contains("cannot start no-such-command"));
  CHECK_THAT(said({}), contains("a command is empty"));
  CHECK(said({"true"}) == "nothing was thrown");
}

TEST_CASE("a program that serves explains itself to a user") {
  auto const help = stand_alone("");
  CHECK(help.code == 0);
  CHECK_THAT(help.text, contains("assay_compare " + program + " OTHER_BUILD") &&
                            contains("  works\n  prints and has blanks\n"));
  CHECK(stand_alone("--help").text == help.text);
  CHECK_THAT(stand_alone("--list").text, contains("works\nprints and has blanks\ncrashes\n"));
  auto const expect = [](std::string const& arguments, int code, std::string const& text) {
    auto const got = stand_alone(arguments);
    INFO(arguments << ": " << got.text);
    CHECK(got.code == code);
    CHECK_THAT(got.text, contains(text));
    CHECK(std::count(got.text.begin(), got.text.end(), '\n') == 1);
  };
  expect("--case works", 0, "works: results: checked\n");
  expect("--case 'by one clock'", 0, "by one clock: results: checked in part (");
  expect("--case unchecked", 0, "unchecked: results: not checked (a factory says what is right");
  expect("--case 'a call'", 0, "a call: results: not checked");
  expect("--case wrong", 1, "wrong: WRONG ANSWER, buffer set 1: element 7 is 1, not 2");
  expect("--case x", 2, "error: --case: unknown case 'x': choose one of works, prints");
  expect("--case", 2, "error: --case takes one name");
  expect("--frob", 2, "error: unknown option '--frob'; see --help");
  expect("--list now", 2, "error: unknown option 'now'");
  auto const twice = stand_alone("--list", "ASSAY_TEST_TWICE=1");
  CHECK(twice.code == 2);
  int const other = ::socket(AF_INET, SOCK_STREAM, 0);  // the program has it too
  REQUIRE(other >= 0);
  for (auto const& number : {std::string{"77"}, std::to_string(other)}) {
    auto const closed = stand_alone("--list", "ASSAY_SERVE_FD=" + number);
    CHECK(closed.code == 2);
    CHECK_THAT(closed.text, contains("ASSAY_SERVE_FD=" + number + " names no open descriptor"));
  }
  ::close(other);
}
