// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it starts other programs
// The referee over the candidates of tests/referee/candidates.cpp: cheats are named, honest ones
// are not accused, failing ones get one line, and nothing is left running.
// assay-test-timeout: 900
#include <assay/referee.hpp>
#include <assay/referee/candidate_place.hpp>
#include <assay/referee/examination.hpp>
#include <assay/referee/rotation.hpp>

#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "referee/tried.hpp"

using namespace assay;
using assay::test::contains;
using assay::test::message_of;
using assay::test::tried;
using kind = charge::kind;

namespace {

/// True if this process has no child, not even a dead one.
bool no_child_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

std::map<std::string, kind> const cheats{
    {"late-thread", kind::escaped_work},
    {"late-half", kind::escaped_work},
    {"slow-thread", kind::escaped_work},
    {"kept-by-address", kind::kept_results},
    {"kept-by-content", kind::kept_results},
    {"kept-sum", kind::kept_results},
    {"kept-from-the-fifth", kind::kept_results},
    {"only-beside-other-memory", kind::kept_results},
    {"only-over-poison", kind::kept_results},
    {"nothing", kind::unwritten_output},
    {"all-but-one", kind::unwritten_output},
    {"past-the-end", kind::out_of_bounds},
    {"before-the-begin", kind::out_of_bounds},
    {"multiples-of-eight", kind::wrong_size},
    {"known-sizes", kind::wrong_size},
    {"no-nan", kind::wrong_values},
    {"no-nan-in-many", kind::wrong_values},
    {"zeros-stay-zeros", kind::wrong_values},
    {"in-place", kind::modified_input},
    {"bfloat16", kind::low_precision},
    {"float-sum", kind::low_precision},
    {"next-call", kind::lazy_work},
    {"leak", kind::growing_memory},
    {"leaked-pages", kind::growing_memory},
    {"threads-stay", kind::growing_memory},
    {"open-files", kind::growing_memory},
    {"rounding", kind::changed_environment},
    {"one-core", kind::changed_environment},
    {"nice", kind::changed_environment},
    {"variable", kind::changed_environment},
    {"handler", kind::changed_environment},
    {"clock", kind::changed_environment},
    {"first-buffers", kind::kept_buffer},
    {"left-behind", kind::left_behind},
    {"thread-left-behind", kind::left_behind},
};

std::set<std::string> const honest{
    "names-threads",     "tunes-itself",   "workspace-of-256",    "plain",
    "two-threads",       "pool",           "spinning-pool",       "async",
    "scratch",           "mapped-scratch", "workspace",           "jitter",
    "slow-first-call",   "three-times",    "backwards",           "fma",
    "pairwise-sum",      "prints",         "reads-a-file",        "zeros-first",
    "shuffled",          "catches",        "rounds-and-restores", "blocks-a-signal",
    "rounds-when-loaded"};

}  // namespace

TEST_CASE("each cheat is named") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES};
  for (auto const& [name, what] : cheats) {
    if (name == "one-core" && std::thread::hardware_concurrency() < 2) { continue; }
    auto const found = referee.judge(name);
    INFO(name << ": " << report::json_line(found));
    CHECK(found.is_accused());
    if (found.is_accused()) { CHECK(to_string(found.charges[0].what) == to_string(what)); }
    if (name == "left-behind") {
      CHECK_THAT(found.charges.at(0).text, contains("in the destructor of a static object"));
    }
  }
}

TEST_CASE("no honest candidate is accused, however odd or noisy") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES};
  for (auto const& name : honest) {
    auto const found = referee.judge(name);
    INFO(name << ": " << report::json_line(found));
    CHECK_FALSE(found.is_accused());
  }
}

TEST_CASE("a candidate that is not accused is timed, and a late cheat is found behind it") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES, true};
  for (auto const* name : {"three-times", "spinning-pool"}) {
    auto const found = referee.judge(name);
    INFO(report::json_line(found));
    CHECK_FALSE(found.is_accused());
    REQUIRE(found.timed.has_value());
    CHECK(found.timed->failure.empty());
    CHECK(found.timed->epochs > 0);
    CHECK(found.timed->variants.at(1).bytes == 8 * 30'000);
    double waited = 0;
    std::map<std::string, int> times;
    for (auto const& each : found.waits) {
      waited += each.seconds;
      times[each.request] += each.times;
    }
    CHECK((waited > 0 && waited <= found.seconds));
    CHECK(times.size() == found.waits.size());
    CHECK((times["examine sizes"] == 1 && times["judge whole"] >= 1));
    CHECK((times["run"] > 0 && times["prepare usual"] + times["prepare special"] == times["run"]));
  }
  auto const found = referee.judge("idle-once-timed");
  INFO(report::json_line(found));
  REQUIRE(found.is_accused());
  CHECK(found.charges[0].what == kind::wrong_answer);
  auto const blames = referee.judge("blames-the-reference");
  INFO(report::json_line(blames));
  REQUIRE(blames.is_accused());
  CHECK(blames.charges[0].what == kind::failure);
}

TEST_CASE("a scalar in the code of a candidate is found where the problem varies it") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES};
  CHECK(referee.judge("scalar-of-two").is_accused());
}

TEST_CASE("a cheat that begins once it is timed is named") {
  std::map<std::string, kind> const late{
      {"idle-once-timed", kind::wrong_answer},    {"every-fourth-idle", kind::wrong_answer},
      {"half-once-timed", kind::wrong_answer},    {"no-nan-once-timed", kind::wrong_answer},
      {"threads-once-timed", kind::escaped_work}, {"slow-clock", kind::changed_environment},
      {"slow-until-timed", kind::kept_results}};
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES, true};
  for (auto const& [name, what] : late) {
    auto const found = referee.judge(name);
    INFO(name << ": " << report::json_line(found));
    REQUIRE(found.is_accused());
    CHECK(to_string(found.charges[0].what) == to_string(what));
    if (name == "slow-clock") {  // by its cells, or by its clock where a busy machine hides that
      CHECK_THAT(found.charges[0].text, contains("by the clock of the referee") ||
                                            contains("clock of its process is off"));
    }
  }
  CHECK(referee.judge("threads-once-timed").is_accused());  // its threads may also crash
}

TEST_CASE("candidates that are honest when timed are not accused") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES, true};
  for (auto const* name : {"plain", "pool", "two-threads", "jitter", "tunes-itself",
                           "slow-first-call", "workspace-of-256"}) {
    auto const found = referee.judge(name);
    INFO(report::json_line(found));
    CHECK_FALSE(found.is_accused());
  }
#ifdef ASSAY_REFEREE_OPENMP
  auto const openmp = referee.judge("openmp", ASSAY_REFEREE_OPENMP);
  INFO(report::json_line(openmp));
  CHECK_FALSE(openmp.is_accused());
#endif
}

TEST_CASE("calls of 0.6 s are honest") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES, false, std::chrono::seconds{2}};
  auto const found = referee.judge("slow");
  INFO(report::json_line(found));
  CHECK_FALSE(found.is_accused());
}

TEST_CASE("processes of a candidate end with it, in sessions of their own too") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES};
  (void)referee.judge("starts-a-session");
  ::pid_t started = 0;
  std::ifstream{referee.files() / "started"} >> started;
  REQUIRE(started > 0);
  CHECK(::kill(started, 0) == -1);
}

TEST_CASE("a rate above a ceiling is refused with both numbers") {
  std::map<std::string, std::string> const boasting{
      {"problem-boasts", "B/s where copies by"},
      {"problem-boasts-flops", "FLOP/s where tensor cores reach 1e+12 FLOP/s"},
      {"problem-boasts-alone-flops", {}}};  // where no ceiling of FLOPs is known
  for (auto const& [name, text] : boasting) {
    assay::test::folder const here;
    std::filesystem::create_symlink(ASSAY_REFEREE_PROBLEM, here / name);
    tried referee{(here / name).c_str(), ASSAY_REFEREE_CANDIDATES, true};
    auto const found = referee.judge("plain");
    INFO(name << ": " << report::json_line(found));
    REQUIRE(found.is_accused() == !text.empty());
    if (text.empty()) { continue; }
    CHECK(found.charges[0].what == kind::impossible_rate);
    CHECK_THAT(found.charges[0].text, contains(text));
  }
}

TEST_CASE("rows have padding that no candidate may write, and samples are named") {
  assay::test::folder const here;
  std::filesystem::create_symlink(ASSAY_REFEREE_PROBLEM, here / "problem-rows");
  auto const problem = (here / "problem-rows").string();
  tried referee{problem.c_str(), ASSAY_REFEREE_CANDIDATES};
  auto const padding = referee.judge("writes-padding");
  INFO(report::json_line(padding));
  REQUIRE(padding.is_accused());
  CHECK(padding.charges[0].what == kind::out_of_bounds);
  CHECK_THAT(padding.charges[0].text, contains("it wrote into the padding behind row 0 of array 1 "
                                               "(leading dimension "));
  CHECK(referee.judge("one-leading-dimension").is_accused());
  auto const found = tried{problem.c_str(), ASSAY_REFEREE_CANDIDATES, true}.judge("rows");
  INFO(report::json_line(found));
  CHECK_FALSE(found.is_accused());
  REQUIRE(found.timed.has_value());
  REQUIRE(found.timed->caveats.size() == 1);
  CHECK_THAT(found.timed->caveats[0],
             contains("array 1 is checked by samples: a check looks at 256 of 30002 elements"));
}

TEST_CASE("a problem that accepts what is wrong is refused, and the expectation is named") {
  assay::test::folder const here;
  auto const why = [&](std::string const& name) {
    std::filesystem::create_symlink(ASSAY_REFEREE_PROBLEM, here / name);
    return message_of([&] { referee_session{{(here / name).string()}}; });
  };
  CHECK_THAT(why("problem-loose-sum"), contains("accepts zeros as array 2 of those declared"));
  CHECK_THAT(why("problem-near-its-input"), contains("accepts its own inputs as array 1"));
  CHECK_THAT(why("problem-unchecked"), contains("it has no `expect`"));
}

TEST_CASE("a reference that is wrong where a candidate is wrong too is refused") {
  assay::test::folder const here;
  std::filesystem::create_symlink(ASSAY_REFEREE_PROBLEM, here / "problem-skips-nan");
  tried referee{(here / "problem-skips-nan").c_str(), ASSAY_REFEREE_CANDIDATES};
  CHECK_FALSE(referee.judge("plain").is_accused());
  for (auto const* name : {"no-nan", "no-nan-in-many"}) {
    CHECK_THAT(message_of([&] { referee.judge(name); }),
               contains("the problem's own reference: size ") && contains("inputs of NaN"));
  }
}

TEST_CASE("no inputs are those of an earlier verdict, whatever the seed is") {
  tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES};  // all have one seed
  for (int i = 0; i < 2; ++i) {
    auto const found = referee.judge("knows-inputs");
    INFO(report::json_line(found));
    CHECK_FALSE(found.is_accused());
  }
}

TEST_CASE("a candidate that fails gets one line, and nothing of it is left") {
  std::map<std::string, std::string> const failures{
      {"crashes", "ended by signal 11"},
      {"exits", "ended with exit code 3"},
      {"refuses", "a call returned 42"},
      {"throws", "not today"},
  };
  {
    tried referee{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES};
    for (auto const& [name, text] : failures) {
      auto const found = referee.judge(name);
      REQUIRE(found.is_accused());
      CHECK(found.charges[0].what == kind::failure);
      CHECK_THAT(found.charges[0].text, contains(text));
    }
    auto const text = [&](std::string const& name, char const* library) {
      return referee.judge(name, library).charges.at(0).text;
    };
    CHECK_THAT(text("missing", "/nonexistent.so"), contains("cannot be loaded"));
    CHECK_THAT(text("program", "/bin/true"),
               contains("a candidate is a shared library (g++ -shared -fPIC) that exports the "
                        "symbols of <assay/referee/candidate.h>"));
    ::Dl_info libc{};  // a library that is no candidate
    REQUIRE(::dladdr(reinterpret_cast<void*>(&::waitpid), &libc) != 0);
    CHECK_THAT(text("other", libc.dli_fname), contains("no symbol assay_candidate_version"));
    CHECK_THAT(text("other-version", ASSAY_REFEREE_OTHER_VERSION), contains("has version 2"));
    CHECK_FALSE(referee.judge("plain").is_accused());
    tried hasty{ASSAY_REFEREE_PROBLEM, ASSAY_REFEREE_CANDIDATES, false, std::chrono::seconds{2}};
    CHECK_THAT(hasty.judge("hangs").charges.at(0).text, contains("no answer within 2 s"));
  }
  CHECK(no_child_left());
}

#ifdef ASSAY_REFEREE
TEST_CASE("the program judges names from its input, one line of JSON for each") {
  assay::test::folder const here;
  for (auto const* name : {"plain", "nothing"}) {
    std::filesystem::create_symlink(ASSAY_REFEREE_CANDIDATES, here / (name + std::string{".so"}));
  }
  auto const run = [&](std::string const& arguments) {
    auto const all = "cd '" + here.path().string() +
                     "' && printf 'plain.so\\n\\nnothing.so\\n' | '" + ASSAY_REFEREE "' " +
                     arguments + " > out 2> err";
    return WEXITSTATUS(std::system(all.c_str()));
  };
  std::string const problem = "'" ASSAY_REFEREE_PROBLEM "' ";
  CHECK(run(problem + "--json --untimed") == 1);
  std::istringstream lines{assay::test::content(here / "out")};
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) { all.push_back(nlohmann::json::parse(line)); }
  REQUIRE(all.size() == 2);
  CHECK(all[0].at("candidate") == "plain.so");
  CHECK(all[0].at("outcome") == "NOT ACCUSED");
  CHECK(all[0].at("charges").empty());
  CHECK(all[1].at("outcome") == "ACCUSED");
  CHECK(all[1].at("charges").at(0).at("kind") == "unwritten output");

  CHECK(run(problem + "plain.so --max-seconds 1 --json --seed 7") == 0);
  auto const timed = nlohmann::json::parse(assay::test::content(here / "out"));
  CHECK(timed.at("low") <= timed.at("ratio"));
  CHECK(timed.at("clock") == "wall");
  CHECK(timed.at("seconds_per_call").at("candidate") > 0);
  CHECK(run(problem + "plain.so nothing.so --untimed") == 1);
  CHECK_THAT(assay::test::content(here / "out"), contains("nothing.so: ACCUSED\n  unwritten"));
  CHECK(run("/bin/true plain.so") == 2);
  CHECK(assay::test::content(here / "err") ==
        "error: /bin/true: the program does not call assay::serve_problem: it ended with exit code "
        "0\n");
}
#endif

namespace {

/// y = 2 x, for buffer sets of a rotation.
problem of_doubles() {
  problem of;
  of.sizes = {10'000};
  of.declare = [](setup& make, std::size_t n) -> std::vector<double> {
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
    return {};
  };
  return of;
}

/// The charges of passes of several calls. `call(x, y, n, i)` is call number i of a pass;
/// `between(y, n, is_before)` writes to outputs of all of them before and behind a pass.
std::map<std::string, int> charges_of(
    std::function<void(float*, float*, std::size_t, std::size_t)> const& call,
    std::function<void(std::vector<std::pair<float*, float*>> const&, bool)> const& between) {
  referee_detail::host_candidate_place place;
  auto const of = of_doubles();
  std::size_t number = 0;
  candidate_function const function = [&](void* const* buffers, std::size_t const* sizes, int,
                                          double const*, int, void*) {
    call(static_cast<float*>(buffers[0]), static_cast<float*>(buffers[1]), sizes[0], number++);
    return 0;
  };
  referee_detail::rotation with{place, of, function, of.sizes[0], 7, 4};
  std::map<std::string, int> found;
  for (int pass = 0; pass < 40; ++pass) {  // each judges one call of four; the seed is fixed
    referee_detail::asked const how{kind::wrong_answer, "a pass"};
    with.prepare(4, how);
    std::vector<std::pair<float*, float*>> all;
    for (std::size_t i = 0; i < 4; ++i) {
      auto const arrays = with.set(i).arrays().declared();
      all.emplace_back(static_cast<float*>(arrays[0].data), static_cast<float*>(arrays[1].data));
    }
    between(all, true);
    number = 0;
    (void)with.run();
    between(all, false);
    auto const charge = with.judge(how);
    ++found[charge ? std::string{to_string(charge->what)} : ""];
  }
  return found;
}

void doubles(float const* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) { y[i] = 2 * x[i]; }
}

}  // namespace

TEST_CASE("what is done beside the calls of a pass is seen in any of them") {
  auto const nothing = [](auto const&, bool) {};
  auto const honest = [](float* x, float* y, std::size_t n, std::size_t) { doubles(x, y, n); };
  CHECK(charges_of(honest, nothing) == std::map<std::string, int>{{"", 40}});

  auto const writes_early = [](auto const& all, bool is_before) {
    for (auto const& [x, y] : all) {
      if (is_before) { doubles(x, y, 10'000); }
    }
  };
  CHECK(charges_of(honest, writes_early) == std::map<std::string, int>{{"escaped work", 40}});

  // All but the last call are done behind the pass, before results are looked at.
  auto const last_alone = [](float* x, float* y, std::size_t n, std::size_t i) {
    if (i == 3) { doubles(x, y, n); }
  };
  auto const repairs = [](auto const& all, bool is_before) {
    if (is_before) { return; }
    for (auto const& [x, y] : all) { doubles(x, y, 10'000); }
  };
  auto const repaired = charges_of(last_alone, repairs);
  CHECK(repaired.size() == 2);
  CHECK(repaired.at("escaped work") > 20);

  auto const borrows = [](float* x, float* y, std::size_t n, std::size_t i) {
    doubles(x, y, n);
    if (i < 3) { x[17] = 0; }
  };
  auto const borrowed = charges_of(borrows, nothing);
  CHECK(borrowed.size() == 2);
  CHECK(borrowed.at("modified input") > 20);
}

TEST_CASE("NaN of one input is asked for where NaN of another hides it") {
  problem of;
  of.sizes = {100};
  of.values = {special_values::nan};
  of.declare = [](setup& make, std::size_t n) -> std::vector<double> {
    auto const a = make.named("a").random<float>(n * n), x = make.named("x").random<float>(n);
    auto const y = make.output<float>(n);
    auto const right = [=](std::size_t i) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) { sum += double{a.seeded(i * n + k)} * x.seeded(k); }
      return sum;
    };
    make.expect(y, right, sum_of(2 * n));
    return {};
  };
  auto const examined = [&](bool skips_nan) {
    auto const multiply = [=](void* const* buffers, std::size_t const* sizes, int, double const*,
                              int, void*) {
      auto const* const a = static_cast<float const*>(buffers[0]);
      auto const* const x = static_cast<float const*>(buffers[1]);
      auto const n = sizes[1];
      for (std::size_t i = 0; i < n; ++i) {
        float sum = 0;
        for (std::size_t k = 0; k < n; ++k) {
          auto const each = a[i * n + k];
          sum += (skips_nan && each != each ? 0 : each) * x[k];
        }
        static_cast<float*>(buffers[2])[i] = sum;
      }
      return 0;
    };
    referee_detail::host_candidate_place place;
    referee_detail::rotation timed{place, of, multiply, of.sizes[0], 7, 2};
    for (std::size_t i = 0; i < 3; ++i) {  // as beside timed cells
      auto const how = timed.special({kind::wrong_answer, "a cell"}, of.values, i);
      timed.prepare(1, how);
      (void)timed.run();
      auto const wrong = timed.judge(how);
      CHECK(wrong.has_value() == (skips_nan && i == 1));
      if (wrong) { CHECK_THAT(wrong->text, contains("a cell, inputs of NaN in a alone: ")); }
    }
    return referee_detail::examination{place, of, multiply, 7}.run("sizes");
  };
  CHECK_FALSE(examined(false));
  auto const found = examined(true);
  REQUIRE(found);
  CHECK(found->what == kind::wrong_values);
  CHECK_THAT(found->text, contains("size 100, inputs of NaN in a alone: "));
}

TEST_CASE("outputs hold kept results only where these are those of other inputs") {
  auto const kept = [](bool varies) {
    problem of;
    of.sizes = {100};
    of.declare = [=](setup& make, std::size_t n) -> std::vector<double> {
      auto const x = varies ? make.random<float>(n) : make.from(std::vector<float>(n, 0.5F));
      auto const y = make.output<float>(n);
      make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
      return {};
    };
    int found = 0;
    candidate_function const twice = [&](void* const* buffers, std::size_t const* sizes, int,
                                         double const*, int, void*) {
      auto* const y = static_cast<float*>(buffers[1]);
      found += y[0] == y[0] ? 1 : 0;  // no poison
      doubles(static_cast<float const*>(buffers[0]), y, sizes[0]);
      return 0;
    };
    referee_detail::host_candidate_place place;
    referee_detail::rotation with{place, of, twice, of.sizes[0], 7, 2};
    referee_detail::asked const how{.otherwise = kind::wrong_answer,
                                    .when = "a pass",
                                    .outputs = referee_detail::poisoned::none};
    for (int pass = 0; pass < 4; ++pass) {
      with.prepare(2, how);
      (void)with.run();
      CHECK_FALSE(with.judge(how).has_value());
    }
    return found;
  };
  CHECK(kept(true) == 6);  // of eight, two are the first in their buffers
  CHECK(kept(false) == 0);
}

TEST_CASE("outputs are looked at in places that a candidate does not know") {
  std::vector<std::uint64_t> content(100'000);
  for (std::size_t i = 0; i < content.size(); ++i) { content[i] = i; }
  referee_detail::host_candidate_place place;
  auto const sum = [&](std::uint64_t seed) {
    std::array const all{referee_detail::array_memory{content.data(), 8 * content.size()}};
    return place.sampled_checksum(all, seed);
  };
  CHECK(sum(1) == sum(1));
  CHECK(sum(1) != sum(2));
  auto const before = sum(1);
  content.back() ^= 1;
  CHECK(sum(1) != before);
}

TEST_CASE("time in which a process of the candidate ran counts") {
  referee_detail::host_candidate_place place;
  ::cpu_set_t before, one;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  auto const child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) { ::sched_yield(); }
  }
  double seconds = 0;  // by a clock within the call
  auto const mean = place.run({[&](void*) {
    auto const begin = std::chrono::steady_clock::now();
    for (std::clock_t const from = std::clock(); std::clock() - from < CLOCKS_PER_SEC / 20;) {
      ::sched_yield();
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::sched_setaffinity(0, sizeof before, &before);
  CHECK(mean[measure::clock::wall] >= seconds);
}

TEST_CASE("a candidate can be written in C") {
  auto const header =
      std::string{std::getenv("ASSAY_SOURCE_DIR")} + "/include/assay/referee/candidate.h";
  CHECK(std::system(("cc -x c -std=c99 -pedantic -Wall -Werror -fsyntax-only -include '" + header +
                     "' /dev/null")
                        .c_str()) == 0);
}

TEST_CASE("a problem that is none is refused") {
  auto const none = [](referee_options const& chosen) {
    return message_of([&] { referee_session{{"/bin/true"}, chosen}; });
  };
  CHECK(none({}) ==
        "/bin/true: the program does not call assay::serve_problem: it ended with exit code 0");
  CHECK(none({.measuring = {.clock = measure::clock::wall}}) == none({}));
  CHECK_THAT(message_of([] { referee({"/nonexistent"}, "x.so"); }), contains("cannot start"));
  for (auto const each : {kind::escaped_work, kind::wrong_answer, kind::failure}) {
    CHECK(charge_kind(to_string(each)) == each);
  }
  CHECK_THAT(message_of([] { charge_kind("x"); }), contains("'x' is no kind"));
}
