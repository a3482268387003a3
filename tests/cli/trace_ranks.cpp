// assay-uses: sqlite

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/trace_stats.hpp>
#include <assay/nsys/sqlite.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace assay::test::golden;
using assay::test::contains;
using assay::test::folder;
using assay::test::outcome;
namespace cli = assay::cli;

namespace {

outcome run(std::vector<std::string> const& words) {
  return assay::test::outcome_of(words, cli::trace_stats);
}

/// Ten steps of a rank that computes for `compute` ns and then reduces until 50 us after the begin
/// of the step.
constexpr auto reduction = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)";
model rank(std::uint32_t number, std::int64_t compute, std::string const& range = "step",
           std::string const& kernel = reduction) {
  builder b;
  b.trace.host = "node";
  b.trace.epoch_ns = 1'765'008'149'000'000'000;
  thread_key const who{10 + number, 10 + number};
  for (std::int64_t step = 0; step < 10; ++step) {
    auto const now = step * 100'000;
    b.range(range, {now, now + 3000}, who);
    b.launch("gemm<\"x\">(int)", {now, now + 10}, {now + 20, now + compute}, {}, who);
    b.launch(kernel, {now + 100, now + 110}, {now + compute, now + 50'000}, {0, 20, 1}, who);
  }
  b.trace.window = {0, 1'000'000};
  return b.trace;
}

struct two_ranks {
  folder here;
  std::string a = (here / "a.sqlite").string(), b = (here / "b.sqlite").string();
  two_ranks() {
    write_nsys(rank(0, 10'000), a);
    write_nsys(rank(1, 30'000), b);
  }
};

}  // namespace

TEST_CASE("--ranks says who is late, why, and what others wait") {
  two_ranks const of;
  auto const what = run({of.a, of.b, "--ranks"});
  CHECK(what.code == cli::ok);
  CHECK(what.err.empty());
  for (auto const* part : {"(ranks)", "(rank_causes)", "(rank_collectives)", "(rank_arrivals)",
                           "kernel gemm", "10 collectives of 2 ranks in 2 files", "on node"}) {
    CHECK_THAT(what.out, contains(part));
  }
  auto const read = nlohmann::json::parse(run({of.a, of.b, "--ranks", "--json"}).out);
  auto const& ranks = read.at("ranks");
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].at("Waiting (ns)") == 200'000);
  CHECK(ranks[0].at("Moving (ns)") == 200'000);
  CHECK(ranks[1].at("Waiting (ns)") == 0);
  CHECK(ranks[1].at("Held Up (ns)") == 200'000);
  CHECK(read.at("rank_causes")[0].at("Range") == "step");
  CHECK(read.at("rank_notes").size() == 2);
  auto const csv = run({of.a, of.b, "--ranks", "--csv"});
  CHECK_THAT(csv.out, contains("Rank,Collectives,Time (ns)") && contains("Note\n"));
}

TEST_CASE("of two ranks each is the other's partner; of three a trace does not tell it") {
  two_ranks const of;
  auto const pair = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)";
  write_nsys(rank(0, 10'000, "step", pair), of.a);
  write_nsys(rank(1, 30'000, "step", pair), of.b);
  auto const what = run({of.a, of.b, "--ranks", "--json"});
  CHECK(what.code == cli::ok);
  auto const read = nlohmann::json::parse(what.out);
  auto const& ranks = read.at("ranks");
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].at("Collectives") == 10);
  CHECK(ranks[0].at("Waiting (ns)") == 200'000);
  CHECK(ranks[0].at("Point to Point (ns)") == 0);
  CHECK(ranks[1].at("Held Up (ns)") == 200'000);
  auto const third = (of.here / "c.sqlite").string();
  write_nsys(rank(2, 10'000, "step", pair), third);
  CHECK_THAT(run({of.a, of.b, third, "--ranks"}).err,
             contains("0 of 3 devices ran collectives, and transfers"));
  write_nsys(rank(0, 10'000), of.a);
  write_nsys(rank(1, 30'000), of.b);
  auto const three = run({of.a, of.b, third, "--ranks", "--csv"});
  CHECK(three.code == cli::ok);
  CHECK_THAT(three.out, contains("10 kernels of point-to-point transfers"));
}

TEST_CASE("causes name a range of PyTorch without the numbers of its instances") {
  two_ranks const of;
  for (auto const* name : {"step, op_id = 17", "step, seq = 3, op_id = 17"}) {
    write_nsys(rank(1, 30'000, name), of.b);
    auto const read = nlohmann::json::parse(run({of.a, of.b, "--ranks", "--json"}).out);
    CHECK(read.at("rank_causes")[0].at("Range") == "step");
  }
}

TEST_CASE("ranks are written as a page and as files") {
  two_ranks const of;
  write_nsys(rank(1, 30'000, "<i>step"), of.b);
  auto const page = (of.here / "ranks.html").string();
  auto const what = run({of.a, of.b, "--ranks", "--html", page});
  CHECK(what.code == cli::ok);
  std::ostringstream text;
  text << std::ifstream{page}.rdbuf();
  CHECK_THAT(text.str(), contains("Rank 1 holds up collectives by 200.0 us") &&
                             contains("waiting for the last rank") && contains("</html>") &&
                             contains("&lt;i&gt;step") && !contains("<i>step"));
  auto const prefix = (of.here / "out").string();
  CHECK(run({of.a, of.b, "--ranks", "--csv", "--output", prefix}).code == cli::ok);
  CHECK(std::filesystem::exists(prefix + "_ranks.csv"));
  CHECK(std::filesystem::exists(prefix + "_rank_notes.csv"));
}

TEST_CASE("what --ranks cannot do is bad input") {
  two_ranks const of;
  auto const refused = [](outcome const& what, std::string const& with) {
    INFO(what.err);
    CHECK(what.code == cli::bad_input);
    CHECK(what.out.empty());
    CHECK_THAT(what.err, contains(with));
  };
  refused(run({of.a, "--ranks"}), "needs two");
  refused(run({of.a, of.b, "--ranks", "--diff"}), "--ranks");
  refused(run({of.a, of.b, "--ranks", "--report", "launch_sum"}), "--ranks");
  refused(run({of.a, of.b, "--html", "x.html"}), "--ranks");
  refused(run({of.a, of.b, "--ranks", "--html", of.a}), "would overwrite");
  refused(run({of.a, of.b, "--ranks", "--range", "stpe"}), "no range of that name");
  CHECK(run({of.a, of.b, "--ranks", "--html", "/no/such/folder/x.html"}).code == cli::failed);
}

TEST_CASE("several ranks without --ranks get a hint") {
  two_ranks const of;
  CHECK_THAT(run({of.a, of.b}).out, contains("hint: 2 ranks ran collectives; --ranks"));
  CHECK_THAT(run({of.a}).out, !contains("hint:"));
  CHECK_THAT(run({of.a, of.b, "--csv"}).out, !contains("hint:"));
}

TEST_CASE("what_if has bounds for each instance of a range") {
  two_ranks const of;
  auto const read =
      nlohmann::json::parse(run({of.a, "--range", "step", "--report", "what_if", "--json"}).out);
  REQUIRE(read.size() == 4);
  CHECK(read[0].at("Instances") == 10);
  CHECK(read[0].at("Med (ns)") == 49'980.0);
  CHECK(read[1].at("Med (ns)") == 40'000.0);  // the reduction's own stream
}
