// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "report/sample.hpp"

#include <assay/report/short_text.hpp>
#include <assay/report/table.hpp>
#include <assay/report/text.hpp>

#include <algorithm>
#include <iomanip>
#include <regex>
#include <sstream>

using namespace assay;
using measure::verdict;

namespace {

std::string printed(measure::comparison const& all) {
  std::ostringstream out;
  out << full(all);
  return out.str();
}

/// Everything that a report can hold, one finding for each verdict.
measure::comparison everything() {
  auto all = test::sample();
  std::vector<double> const pair{-1, 1, 0, 0};
  all.findings = {
      test::found("memory x submission", verdict::slower, {1.031, 1.02, 1.042}, {1, -1, -1, 1}),
      test::found("memory", verdict::faster, {0.97, 0.96, 0.985}, {-0.5, -0.5, 0.5, 0.5}),
      test::found("below", verdict::slower, {1.003, 1.0021, 1.0039}, pair),
      test::found("same", verdict::equivalent, {1.0001, 0.9962, 1.0041}, pair),
      test::found("open", verdict::inconclusive, {1.0001, 0.9862, 1.0141}, pair),
      test::found("guarded", verdict::unproven, {1.02, 1.01, 1.03}, pair),
      test::found("broken", verdict::wrong_answer, {}, {0, 0, -1, 1}),
      test::found("same", verdict::unproven, {1.02, 1.01, 1.03}, pair)};
  all.findings[0].what = measure::contrast::kind::interaction;
  all.findings[1].what = measure::contrast::kind::main_effect;
  all.findings[2].exceeds_margin = false;
  all.findings[4].epochs_needed = 52;
  all.findings[5].reason = "the hidden control differs from itself by +1.20 %";
  all.findings[6].reason = "row 5 is 3, expected 4";
  all.findings[7].on = measure::clock::gpu;
  all.findings[7].primary = false;
  all.findings[7].reason = "throttled: hardware slowdown";
  all.variants[0].submission = measure::submission_profile{{11000, 25000, 310000, 12000},
                                                           {900, 4100, 52000, 1000},
                                                           {0, 0, 0, 0},
                                                           {9800, 20000, 250000, 10400},
                                                           400};
  all.variants[0].memory =
      measure::memory_profile{1200, 1200, 25769803776, 64424509, 10737418240, 1190, 10};
  all.variants[3].memory = measure::memory_profile{1200, 1200, 25769803776, 64424509, {}, {}, 1200};
  all.variants[0].flops = 5e9;
  all.ceilings.push_back({"FP64 peak", 67e12, machine::ceiling::unit::flops});
  all.answers = {{"Does the allocator change the gap?",
                  {"wall clock: yes, and this line is long enough that it has to be wrapped to "
                   "the next one, where it begins under its own first word",
                   "submit clock: no"}},
                 {"Do the patterns differ?", {"they are the same"}}};
  all.notes = {
      "8 epochs were asked for and 12 needed, since the first analyses of this comparison did "
      "not settle it; that is told here to see a long note wrapped",
      "valid for this process only"};
  all.variants[3].sm_hertz = 1.755e9;
  all.where = {"NVIDIA H200, 132 SMs",
               "580.159.04",
               "13.0",
               "AMD EPYC",
               "GCC 12.2.0",
               "a76d546",
               "./null_cast --quick",
               "2026-01-31T23:59:59Z",
               16,
               1980,
               3201,
               412.4,
               51,
               {"software power cap"}};
  return all;
}

}  // namespace

TEST_CASE("everything that a report can hold, in words and tables") {
  CHECK(printed(everything()) ==
        R"(null_cast: which allocator, submitted how?
==========================================
What changed: memory x submission
Margin 1 %, confidence 95 %, decided on the wall clock, 12 epochs in 3.210 s, noise 0.21 %

Answers
  1. Does the allocator change the gap?
     - wall clock: yes, and this line is long enough that it has to be wrapped to the next one,
       where it begins under its own first word
     - submit clock: no
  2. Do the patterns differ?
     - they are the same

Verdicts
  DIFFERENT: the gap between concurrent and serialized differs by 3.10 % [2.00, 4.20] between pool
    and async: going from concurrent to serialized costs more with async (wall clock).
  FASTER: memory: faster by 3.00 % [1.50, 4.00] (wall clock).
  SLOWER, below margin: pool{10 GiB} + serialized is slower than pool{10 GiB} + concurrent by 0.30 %
    [0.21, 0.39], below your 1 % (wall clock).
  EQUIVALENT: no difference larger than 0.41 % between pool{10 GiB} + concurrent and pool{10 GiB} +
    serialized (wall clock).
  INCONCLUSIVE: cannot tell yet between pool{10 GiB} + concurrent and pool{10 GiB} + serialized:
    +0.01 % [-1.38, +1.41] after 12 epochs; about 52 epochs would settle it (wall clock).
  UNPROVEN: nothing is proven about pool{10 GiB} + concurrent and pool{10 GiB} + serialized: the
    hidden control differs from itself by +1.20 % (it looked like +2.00 % [+1.00, +3.00]) (wall
    clock).
  WRONG ANSWER: no comparison of async + concurrent and async + serialized: row 5 is 3, expected 4
    (wall clock).
  (DIFFERENT means that the effect of one choice depends on the other choice.)

Other clocks, where they differ (time against the control's)
  contrast  clock   effect        interval   noise  verdict
  same      gpu    +2.00 %  [+1.00, +3.00]  0.21 %  UNPROVEN
  same (gpu): throttled: hardware slowdown

Variants (time per launch; submit: host time per item)
  variant         clock     median            quartiles    bytes/s  of limit        FLOP/s  of limit
  pool{10 GiB} + concurrent
                  wall    1.000 ms  990.0 us - 1.010 ms  4.00 TB/s    94.3 %  5.00 TFLOP/s     7.5 %
                  gpu     1.000 ms  990.0 us - 1.010 ms  4.00 TB/s    94.3 %  5.00 TFLOP/s     7.5 %
                  submit  2.000 us  1.900 us - 2.100 us
  pool{10 GiB} + serialized
                  wall    1.100 ms  1.089 ms - 1.111 ms  3.64 TB/s    85.8 %
                  gpu     1.100 ms  1.089 ms - 1.111 ms  3.64 TB/s    85.8 %
                  submit  2.000 us  1.900 us - 2.100 us
  async + concurrent
                  wall    1.200 ms  1.188 ms - 1.212 ms  3.33 TB/s    78.6 %
                  gpu     1.200 ms  1.188 ms - 1.212 ms  3.33 TB/s    78.6 %
                  submit  2.000 us  1.900 us - 2.100 us
  async + serialized
                  wall    1.400 ms  1.386 ms - 1.414 ms  2.86 TB/s    67.4 %
                  gpu     1.400 ms  1.386 ms - 1.414 ms  2.86 TB/s    67.4 %
                  submit  2.000 us  1.900 us - 2.100 us
  limit: cudaMemcpy device to device, 4.24 TB/s
  limit: FP64 peak, 67.0 TFLOP/s
  SM clock: 1.75 GHz to 1.98 GHz

Submission (host time per item, of untimed batches; parts: means)
  variant                         p50       p99       max      mean  allocation  lock  launching
  pool{10 GiB} + concurrent  11.00 us  25.00 us  310.0 us  12.00 us    1.000 us   0 s   10.40 us

Memory (temporaries of one batch; upstream: calls that went to the driver)
  variant                    allocations  frees     bytes      peak  reserved  reused  upstream
  pool{10 GiB} + concurrent        1,200  1,200  24.0 GiB  61.4 MiB  10.0 GiB   1,190        10
  async + serialized               1,200  1,200  24.0 GiB  61.4 MiB         -       -     1,200

Notes
  - 8 epochs were asked for and 12 needed, since the first analyses of this comparison did not
    settle it; that is told here to see a long note wrapped
  - valid for this process only

Environment
  device      NVIDIA H200, 132 SMs
  state       1980 MHz SM, 3201 MHz memory, 412 W, 51 C
  throttled   software power cap
  software    driver 580.159.04, toolkit 13.0, GCC 12.2.0
  host        AMD EPYC, 16 threads
  commit      a76d546
  started     2026-01-31T23:59:59Z
  seed        42
  repeat      ./null_cast --quick --seed 42
)");
}

TEST_CASE(
    "what is unknown is left out; several changed axes are called confounded; a failure is told") {
  measure::comparison all;
  all.changed = "confounded";
  all.failure = "variant \"b\", epoch 1, timing: out of memory";
  all.variants.resize(2);
  all.variants[0].label = "a";
  all.variants[1].label = "b";
  all.findings = {test::found("b against a", verdict::unproven, {}, {-1, 1})};
  all.findings[0].noise = 0;
  all.findings[0].reason = all.failure;
  all.seed = 7;
  CHECK(printed(all) ==
        R"(comparison
==========
What changed: confounded - several axes differ at once, so no difference can be put down to one of
  them
Margin 1 %, confidence 95 %, decided on the wall clock, 0 epochs in 0 s
Ended early: variant "b", epoch 1, timing: out of memory

Verdicts
  UNPROVEN: nothing is proven about a and b: variant "b", epoch 1, timing: out of memory (wall
    clock).

Variants (time per launch; submit: host time per item)
  variant  clock     median
  a        -      not timed
  b        -      not timed

Environment
  seed        7
)");
}

TEST_CASE("the verdicts of a sweep are a table of its cells, and of other comparisons sentences") {
  auto all = test::sample();
  all.findings = {test::found("pool", verdict::slower, {1.1, 1.08, 1.125}, {-1, 1, 0, 0}),
                  test::found("async", verdict::unproven, {}, {0, 0, -1, 1})};
  all.findings[1].reason = "a guard";
  auto const text = printed(all);
  CHECK_THAT(text, test::contains("Verdicts (time against the control's") &&
                       test::contains("  memory        submission ") &&
                       test::contains("  async: a guard\n") && !test::contains("is slower than"));
  auto const row = text.substr(text.find("  pool{10 GiB}  serialized  "));
  CHECK_THAT(row.substr(0, row.find('\n')), test::contains("+10.0") &&
                                                test::contains("[+8.0, +12.5]") &&
                                                test::contains("SLOWER"));
  all.findings.push_back(all.findings[0]);  // a row that looks like another one
  CHECK_THAT(printed(all), test::contains("\nVerdicts\n  SLOWER: "));
  all.findings.pop_back();
  all.findings[1].weights = {-1, 0, 0, 1};  // no cell has both variants
  CHECK_THAT(printed(all), test::contains("\nVerdicts\n  SLOWER: "));
  all.findings.pop_back();  // one cell alone
  CHECK_THAT(printed(all), test::contains("\nVerdicts\n  SLOWER: "));
  all.findings[0].weights = {-0.5, -0.5, 0.5, 0.5};
  CHECK_THAT(printed(all), test::contains("\nVerdicts\n  SLOWER: "));
}

TEST_CASE("a secondary clock that is INCONCLUSIVE throughout takes one line") {
  auto all = test::sample();
  std::vector<double> const pair{-1, 1, 0, 0};
  all.findings = {test::found("a", verdict::slower, {1.1, 1.08, 1.125}, pair),
                  test::found("b", verdict::slower, {1.2, 1.18, 1.225}, pair),
                  test::found("a", verdict::inconclusive, {1.1, 0.95, 1.3}, pair),
                  test::found("b", verdict::inconclusive, {1.0, 0.8, 1.2}, pair)};
  for (auto i : {2U, 3U}) {
    all.findings[i].primary = false;
    all.findings[i].on = measure::clock::gpu;
  }
  auto const one = "\n  gpu clock: all 2 INCONCLUSIVE, within -20.0 % to +30.0 % ";
  CHECK_THAT(printed(all), test::contains(one) && !test::contains("  contrast  clock"));
  all.findings[3].outcome = verdict::slower;
  CHECK_THAT(printed(all), !test::contains(one) && test::contains("  contrast  clock"));
}

TEST_CASE("a long text keeps what matters, cuts between entries, and names what it leaves out") {
  std::string text = "Title\nfacts\n\nNotes\n";
  for (int i = 0; i < 8; ++i) { text += "  - note " + std::to_string(i) + "\n    goes on\n"; }
  text += "\nVerdicts (of all)\n";
  for (int i = 0; i < 4; ++i) { text += "  SLOWER: " + std::to_string(i) + "\n"; }
  CHECK(report::excerpt(text, 26, "--full", {"Verdicts"}) == text);
  CHECK(report::excerpt(text, 20, "--full", {"Verdicts"}) ==
        "Title\nfacts\n\nNotes\n  - note 0\n    goes on\n  - note 1\n    goes on\n  ...\n"
        "\nVerdicts (of all)\n  SLOWER: 0\n  SLOWER: 1\n  SLOWER: 2\n  SLOWER: 3\n"
        "\nLeft out, and printed with --full: 12 lines of Notes.\n");
  CHECK(report::excerpt(text, 11, "--full", {"Verdicts"}) ==
        "Title\nfacts\n\nVerdicts (of all)\n  SLOWER: 0\n  SLOWER: 1\n  ...\n"
        "\nLeft out, and printed with --full: 17 lines of Notes, 2 lines of Verdicts.\n");
}

TEST_CASE("both reports say in one line how much of the results was checked") {
  auto all = test::sample();
  all.variants.resize(3);
  auto const both = [&](std::string const& line) {
    for (auto const& text : {printed(all), report::short_text(all)}) {
      INFO(text);
      CHECK_THAT(text, test::contains("\n  " + line + "\n"));
      CHECK(text.find("results: ") == text.rfind("results: "));
    }
  };
  for (auto const& text : {printed(all), report::short_text(all)}) {  // a file of an older version
    CHECK(text.find("results: ") == std::string::npos);
  }
  for (std::size_t i = 0; i < 3; ++i) { all.variants[i].label = std::string(1, "abc"[i]); }
  for (auto const what : {measure::checks::none, measure::checks::part, measure::checks::all}) {
    for (auto& each : all.variants) { each.results = what; }
    both("results: " + std::string{to_string(what)});
  }
  all.variants[1].results = measure::checks::none;
  both("results: checked (a, c); not checked (b)");
  all.variants[0].results = measure::checks::part;
  both("results: checked (c); checked in part (a); not checked (b)");
  all.variants.resize(12, all.variants[1]);
  both("results: checked (c); checked in part (a); not checked (b, b, b, b and 6 more)");
}

TEST_CASE("both reports tell typical calls under a verdict, also in a table of cells") {
  auto all = test::sample();
  all.findings = {test::found("pool", verdict::slower, {1.22, 1.2, 1.24}, {-1, 1, 0, 0}),
                  test::found("async", verdict::slower, {1.3, 1.2, 1.4}, {0, 0, -1, 1})};
  for (auto const& text : {printed(all), report::short_text(all)}) {
    CHECK(text.find("typical calls") == std::string::npos);
  }
  all.findings[0].typical_ratio = 1.0002;
  std::string const line = "typical calls: +0.02 %; the mean differs by +22.0 %.\n";
  CHECK_THAT(report::short_text(all), test::contains("(wall clock).\n  " + line));
  CHECK_THAT(printed(all), test::contains("  pool: " + line));
  all.findings.pop_back();
  CHECK_THAT(printed(all), test::contains("(wall clock).\n    " + line));
}

TEST_CASE("a report is plain ASCII and at most 100 columns wide") {
  auto const text = printed(everything());
  CHECK(std::ranges::all_of(
      text, [](char each) { return each == '\n' || (each >= ' ' && each <= '~'); }));
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
    CHECK((line.empty() || line.back() != ' '));
  }
}

TEST_CASE("the report ignores and keeps the flags of the stream") {
  std::ostringstream out;
  out << std::hex << std::showbase << std::setprecision(2) << std::setfill('*');
  report::text(out, everything());
  CHECK(out.str() == printed(everything()));
  CHECK((out.flags() & std::ios::basefield) == std::ios::hex);
}

TEST_CASE("a rate beyond its limit is explained, and only such a one") {
  auto all = test::sample();
  CHECK(printed(all).find("more than 100 %") == std::string::npos);
  all.ceilings[0].per_second = 1e12;
  CHECK(printed(all).find("more than 100 % of a limit") != std::string::npos);
}

TEST_CASE("another clock has a row only where it differs from the primary one") {
  auto all = test::sample();
  auto const row = [&](verdict outcome, measure::estimate effect) {
    all.findings = {test::found("a", verdict::slower, {1.20, 1.19, 1.21}),
                    test::found("a", outcome, effect)};
    all.findings[1].on = measure::clock::gpu;
    all.findings[1].primary = false;
    return printed(all).find("Other clocks") != std::string::npos;
  };
  CHECK_FALSE(row(verdict::slower, {1.21, 1.195, 1.22}));
  CHECK(row(verdict::slower, {1.25, 1.24, 1.26}));     // another size
  CHECK(row(verdict::inconclusive, {1.2, 0.9, 1.3}));  // another verdict
  CHECK(row(verdict::wrong_answer, {}));
}

TEST_CASE("the word DIFFERENT is explained, and only where it stands") {
  auto all = everything();
  for (auto const& text : {printed(all), report::short_text(all)}) {
    CHECK(text.find("(DIFFERENT means") != std::string::npos);
  }
  all.findings.erase(all.findings.begin());
  for (auto const& text : {printed(all), report::short_text(all)}) {
    CHECK(text.find("DIFFERENT") == std::string::npos);
  }
}

TEST_CASE("a reason that several secondary findings share is printed once") {
  auto all = test::sample();
  for (auto const* name : {"a", "b"}) {
    all.findings.push_back(test::found(name, verdict::unproven, {1.02, 1.01, 1.03}));
    all.findings.back().reason = "throttled";
    all.findings.back().primary = false;
  }
  auto const text = printed(all);
  CHECK(text.find("throttled") != std::string::npos);
  CHECK(text.find("throttled") == text.rfind("throttled"));
}

TEST_CASE("a reason that several verdicts share is printed once, in both reports") {
  auto all = test::sample();
  for (auto const* name : {"a", "b", "c", "d"}) {
    all.findings.push_back(test::found(name, verdict::unproven, {1.02, 1.01, 1.03}, {-1, 1, 0, 0}));
    all.findings.back().reason = "throttled";
  }
  all.findings[2].reason = "carry-over";  // interrupts the run of equal reasons
  for (auto text : {report::short_text(all), printed(all)}) {
    INFO(text);
    text = std::regex_replace(text, std::regex{"\\s+"}, " ");
    std::size_t told = 0;
    std::size_t same = 0;
    for (auto at = text.find("throttled"); at != std::string::npos;
         at = text.find("throttled", at + 1)) {
      ++told;
    }
    for (auto at = text.find("the same reason"); at != std::string::npos;
         at = text.find("the same reason", at + 1)) {
      ++same;
    }
    CHECK(told == 2);  // "the same" would point at the carry-over
    CHECK(same == 1);
  }
}

TEST_CASE("the short report: verdicts, variants, noise and one advice") {
  auto all = test::sample();
  all.title.clear();
  all.variants.resize(2);
  for (auto& each : all.variants) { each.axes.clear(); }
  all.variants[0].label = "a";
  all.variants[1].label = "longer";
  all.where.host_cpu = "AMD EPYC";
  all.findings = {test::found("c", verdict::slower, {1.1, 1.09, 1.11}, {-1, 1})};
  CHECK(report::short_text(all) ==
        R"(SLOWER: longer is slower than a by 10.0 % [9.0, 11.0] (wall clock).
  a        1.000 ms   4.00 TB/s, 94.3 % of cudaMemcpy device to device
  longer   1.100 ms   3.64 TB/s, 85.8 % of cudaMemcpy device to device
  wall clock, noise 0.21 % between epochs, 12 epochs in 3.210 s on AMD EPYC
)");
  std::ostringstream streamed;
  streamed << all;
  CHECK(streamed.str() == report::short_text(all));

  all.findings = {test::found("c", verdict::inconclusive, {1.001, 0.98, 1.02}, {-1, 1})};
  CHECK(report::short_text(all).ends_with(
      "  more time (max_seconds) or a wider margin may settle it\n"));
  all.findings[0].epochs_needed = 60;
  CHECK(
      report::short_text(all).ends_with("  about 60 epochs would settle it in 4 of 5 cases: allow "
                                        "20 s (max_seconds), or a wider margin\n"));
  all.findings[0].epochs_needed = 120;
  auto const unwrapped = std::regex_replace(report::short_text(all), std::regex{"\\s+"}, " ");
  CHECK(unwrapped.find("allow 39 s (max_seconds) and 120 epochs (max_epochs), or") !=
        std::string::npos);
  all.findings[0] = test::found("c", verdict::unproven, {1.02, 1.01, 1.03}, {-1, 1});
  all.findings[0].reason = "carry-over";
  CHECK(report::short_text(all).find("the full report has the guards") != std::string::npos);

  // Ended early: why, once, and no advice that would not help.
  all.findings[0] = test::found("c", verdict::unproven, {}, {-1, 1});
  all.failure = all.findings[0].reason = "variant \"a\", epoch 1, timing: no";
  all.variants[0].seconds = all.variants[1].seconds = {};
  all.epochs = 0;
  CHECK(report::short_text(all) ==
        "UNPROVEN: nothing is proven about a and longer: variant \"a\", epoch 1, timing: no (wall "
        "clock).\n");
}

TEST_CASE("more than eight verdicts have a line each, with their reason") {
  auto all = test::sample();
  all.findings.assign(
      8, test::found("n=64: b against a", verdict::slower, {1.05, 1.04, 1.06}, {-1, 1, 0, 0}));
  CHECK_THAT(report::short_text(all), test::contains("is slower than"));
  all.findings.push_back(test::found("n=9: b against a", verdict::unproven, {1.02, 1.01, 1.03}));
  all.findings.back().reason = "a guard";
  auto const text = report::short_text(all);
  CHECK_THAT(text,
             test::contains("\nSLOWER +5.00 % [+4.00, +6.00], n=64: b against a (wall clock)\n") &&
                 test::contains("UNPROVEN +2.00 % [+1.00, +3.00], n=9: b against a (wall clock): "
                                "a guard\n"));
  CHECK(text.find("is slower than") == std::string::npos);
}

TEST_CASE("the short report of a table of sentences keeps to its lines and columns") {
  auto all = everything();
  all.caveats = {"streams are not held"};
  auto const text = report::short_text(all);
  CHECK(text.find("\n  streams are not held\n") < text.find("\n  " + all.variants[0].label));
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    // The line of a variant is as long as its name and its limits make it.
    if (line.find("B/s") == std::string::npos) { CHECK(line.size() <= 100); }
    CHECK((line.empty() || line.back() != ' '));
  }
  // One verdict: at most 10 lines, and one for each variant.
  for (auto const outcome : {verdict::faster, verdict::slower, verdict::equivalent,
                             verdict::inconclusive, verdict::unproven, verdict::wrong_answer}) {
    auto one = everything();
    one.findings = {test::found("c", outcome, {1.3, 0.9, 1.5}, {-1, 1, 0, 0})};
    for (int i = 0; i < 60; ++i) { one.findings[0].reason += "word "; }
    one.findings[0].reason += "end";
    one.findings[0].epochs_needed = 120;
    auto const printed_short = report::short_text(one);
    INFO(printed_short);
    CHECK(std::ranges::count(printed_short, '\n') <= 10 + 4);
  }
}

TEST_CASE("the line that repeats a run has the seed once") {
  measure::comparison all;
  all.seed = 7;
  CHECK(report::repeat_line(all).empty());
  all.where.command_line = "./x --quick";
  CHECK(report::repeat_line(all) == "./x --quick --seed 7");
  all.where.command_line = "./x --seed=7";
  CHECK(report::repeat_line(all) == "./x --seed=7");
}

TEST_CASE("the report ends with the reasons that traces gave, where there are any") {
  auto all = test::sample();
  CHECK(printed(all).find("\nWhy\n") == std::string::npos);
  all.reasons = {{"Why does b differ from a?", {"the mutex", "the allocator"}}};
  CHECK(printed(all).ends_with(
      "\nWhy\n  1. Why does b differ from a?\n     - the mutex\n     - the allocator\n"));
}
