// SPDX-License-Identifier: Apache-2.0
// assay-uses: sqlite
// assay-test-alone: it sets the locale of its process
// assay-grouped: no, since another test starts its program

/// @file
/// All that `trace_stats` writes of ranks, steps and what-if, under a locale with a decimal comma;
/// the pages of ranks and steps, for the test in a browser.
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "comma_locale.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/trace_stats.hpp>
#include <assay/nsys/sqlite.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace assay::test::golden;
using assay::test::content;
using assay::test::folder;
namespace cli = assay::cli;

namespace {

std::string run(std::vector<std::string> const& words, int code = cli::ok) {
  auto const what = assay::test::outcome_of(words, cli::trace_stats);
  INFO(what.err);
  CHECK(what.code == code);
  return what.out;
}

/// Ten steps of a rank: two kernels, one with a long name, a copy, a wait, and a collective that
/// ends at once on all ranks. `late` is the time for which the rank computes longer, in ns.
model rank(std::uint32_t number, std::int64_t late) {
  builder b;
  b.trace.host = "node-with-a-long-name-0123456789";
  b.trace.epoch_ns = 1'765'008'149'000'000'000;
  thread_key const who{10 + number, 10 + number};
  for (std::int64_t step = 0; step < 10; ++step) {
    auto const now = step * 5'000'000 + (step * 7) % 11;
    auto const done = now + 1'234'567 + late;
    b.range("step", {now, now + 4'500'000}, who);
    b.launch("void gemm_with_a_long_name<float, std::integral_constant<int, 128>>(int)",
             {now + 100, now + 6000}, {now + 20'000, done}, {}, who);
    b.launch("void elementwise(float*)", {now + 6000, now + 12'000}, {done, done + 40'000}, {},
             who);
    b.launch_copy(copy_kind::host_to_device, 1 << 20, {now + 12'000, now + 20'000},
                  {done + 41'000, done + 99'000}, {}, who)
        .from = memory_kind::pinned;
    b.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", {now + 20'000, now + 30'000},
             {done + 100'000, now + 4'000'000}, {0, 20, 1}, who);
    b.call("cudaDeviceSynchronize_v3020", {now + 40'000, now + 4'100'000}, who);
  }
  b.trace.window = {0, 50'000'000};
  return b.trace;
}

/// Exports of eight ranks.
struct ranks_in_files {
  folder here;
  std::vector<std::string> paths;
  ranks_in_files() {
    for (std::uint32_t number = 0; number < 8; ++number) {
      paths.push_back((here / ("rank" + std::to_string(number) + ".sqlite")).string());
      write_nsys(rank(number, number * 123'457), paths.back());
    }
  }
  std::vector<std::string> all(std::vector<std::string> const& more) const {
    auto words = paths;
    words.emplace_back("--ranks");
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> diff(std::vector<std::string> const& more) const {
    std::vector<std::string> words{"--diff", paths[0], paths[3], "--range", "step"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

std::map<std::string, std::string> all_formats() {
  static ranks_in_files const of;  // both times: names of files are in the texts
  auto const page = (of.here / "page.html").string(), junit = (of.here / "junit.xml").string();
  std::vector<std::string> const gate{"--fail-if", "range step > +50 %", "--junit", junit};
  std::vector<std::string> const what_if{of.paths[0], "--report", "what_if"};
  std::map<std::string, std::string> made;
  for (std::string const format : {"", "--csv", "--json"}) {
    auto const with = [&](std::vector<std::string> words) {
      if (!format.empty()) { words.push_back(format); }
      return words;
    };
    made["ranks " + format] = run(with(of.all({})));
    made["steps " + format] = run(with(of.diff({})));
    made["what if " + format] = run(with(what_if));
  }
  run(of.all({"--html", page}));
  made["page of ranks"] = content(page);
  run(of.diff({"--html", page}));
  made["page of steps"] = content(page);
  run(of.diff(gate));
  made["junit of a gate"] = content(junit);
  return made;
}

}  // namespace

TEST_CASE("ranks, steps and what-if are the same under a locale with a decimal comma") {
  assay::test::check_same_under_commas(all_formats);
}

TEST_CASE("the pages that the browser looks at", "[.pages]") {
  auto const* const path = std::getenv("ASSAY_PAGES");
  REQUIRE(path != nullptr);
  std::filesystem::path const into{path};
  ranks_in_files const of;
  run(of.all({"--html", (into / "ranks.html").string()}));
  run(of.diff({"--html", (into / "steps.html").string()}));
}
