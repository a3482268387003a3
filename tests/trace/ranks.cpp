// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "trace/golden.hpp"

#include <assay/trace/rank_trace.hpp>
#include <assay/trace/ranks.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay::test::golden;

namespace {

constexpr char const* reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, int)";
constexpr char const* gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, int)";
constexpr char const* pair = "ncclDevKernel_SendRecv(ncclDevComm*, int)";

/// A program of several ranks: in each step rank r computes for `compute[r]` ns, then all reduce.
/// All times are true times; `clock(t)` is what a rank's file says.
struct job {
  std::vector<std::vector<std::int64_t>> compute;  ///< by step and rank
  std::int64_t moving = 5'000;
  double drift = 0;
  std::vector<std::int64_t> offsets;                     ///< of the clock of each rank
  std::set<std::pair<std::size_t, std::size_t>> lost{};  ///< step and rank without a record
  bool idle = false;  ///< computes on the host, not on the device
  std::vector<std::int64_t> waited{}, moved{}, held_up{};

  std::vector<model> run() {
    auto const ranks = offsets.size();
    waited.assign(ranks, 0);
    moved = held_up = waited;
    std::vector<builder> made(ranks);
    std::int64_t now = 1'000;
    for (std::size_t step = 0; step < compute.size(); ++step) {
      auto const& part = compute[step];
      std::vector<std::int64_t> sorted = part;
      std::ranges::sort(sorted);
      auto const last = now + sorted.back(), end = last + moving;
      for (std::size_t r = 0; r < ranks; ++r) {
        auto const clock = [&](std::int64_t at) {
          return at - offsets[r] - (r == 0 ? 0 : std::llround(drift * static_cast<double>(at)));
        };
        thread_key const who{static_cast<std::uint32_t>(10 + r),
                             static_cast<std::uint32_t>(10 + r)};
        auto const begin = now + part[r];
        auto const asked = idle ? begin - 500 : now;
        if (!idle) {
          made[r].launch("gemm<float>(int)", {clock(now - 900), clock(now - 800)},
                         {clock(now), clock(begin)}, {}, who);
        }
        made[r].range("layer", {clock(now - 1000), clock(begin)}, who);
        if (lost.contains({step, r})) { continue; }
        made[r].launch(reduce, {clock(asked - 300), clock(asked - 200)}, {clock(begin), clock(end)},
                       {0, 20, 1}, who);
        waited[r] += last - begin;
        moved[r] += end - last;
        if (part[r] == sorted.back()) { held_up[r] += part[r] - sorted[sorted.size() - 2]; }
      }
      now = end + 1'000;
    }
    std::vector<model> traces;
    for (auto& each : made) { traces.push_back(std::move(each.trace)); }
    return traces;
  }
};

/// Steps of which each lasts another time, so that no shift of them fits.
std::vector<std::vector<std::int64_t>> uneven(std::size_t steps, std::size_t ranks) {
  std::mt19937_64 random{7};  // fixed: bounds of estimates are checked for these steps
  std::vector<std::vector<std::int64_t>> made(steps);
  for (auto& step : made) {
    for (std::size_t r = 0; r < ranks; ++r) {
      step.push_back(10'000 + static_cast<std::int64_t>(random() % 90'000));
    }
  }
  return made;
}

rank_collector collected(std::vector<model> const& traces) {
  rank_collector all;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    all.add("rank" + std::to_string(i), view{traces[i]});
  }
  return all;
}

void share_host(std::vector<model>& traces, std::vector<std::int64_t> const& epochs) {
  for (std::size_t i = 0; i < traces.size(); ++i) {
    traces[i].host = "node";
    traces[i].epoch_ns = 1'765'008'149'000'000'000 + epochs[i];
  }
}

void check_sums(rank_comparison const& found, rank_collector const& from) {
  for (std::size_t r = 0; r < found.ranks.size(); ++r) {
    INFO("rank " << r);
    auto const& sums = found.ranks[r];
    CHECK(sums.waiting_ns + sums.moving_ns + sums.unsplit_ns == sums.time_ns);
    std::int64_t time = 0, before = 0;
    for (auto const& stream : from.ranks()[r].streams) {
      for (auto const& run : stream.runs) { time += run.when.length(); }
    }
    CHECK(sums.time_ns == time);
    CHECK(sums.collectives == from.ranks()[r].collectives());
    for (auto const& [key, each] : sums.before) { before += each.ns; }
    CHECK(before == sums.held_up_ns);
  }
}

void check_truth(rank_comparison const& found, job const& truth, std::int64_t within) {
  for (std::size_t r = 0; r < truth.waited.size(); ++r) {
    INFO("rank " << r);
    CHECK(std::abs(found.ranks[r].waiting_ns - truth.waited[r]) <= within);
    CHECK(std::abs(found.ranks[r].moving_ns - truth.moved[r]) <= within);
    CHECK(std::abs(found.ranks[r].held_up_ns - truth.held_up[r]) <= within);
  }
}

std::string cause(rank_comparison const& found, rank_collector const& from, std::size_t rank) {
  auto const& before = found.ranks[rank].before;
  auto const most = std::ranges::max_element(before, {}, [](auto& each) { return each.second.ns; });
  return std::string{from.strings()[most->first.first]} + " in " +
         std::string{from.strings()[most->first.second]};
}

}  // namespace

TEST_CASE("waiting and moving of ranks on one clock are exact, and so is who was late") {
  job truth{.compute = {{10'000, 30'000, 20'000}, {50'000, 20'000, 10'000}},
            .offsets = {0, 400, -7'000}};
  auto traces = truth.run();
  share_host(traces, truth.offsets);
  auto const all = collected(traces);
  auto const found = compare_ranks(all);
  check_sums(found, all);
  check_truth(found, truth, 0);
  CHECK(found.split == 2);
  CHECK(found.ranks[1].last == 1);
  CHECK(found.ranks[0].latest_ns == 30'000);
  CHECK(found.ranks[2].last == 0);
  CHECK(cause(found, all, 0) == "kernel gemm in layer");
  REQUIRE(found.latest.size() == 2);
  CHECK(found.latest[0].rank == 0);
  CHECK(found.latest[0].late_ns == 30'000);
  CHECK(found.latest[0].waited_ns == 30'000 + 40'000);
}

TEST_CASE("a rank whose host launches late is told apart from one that computes") {
  job truth{.compute = {{10'000, 30'000}, {10'000, 40'000}}, .offsets = {0, 0}, .idle = true};
  auto traces = truth.run();
  share_host(traces, truth.offsets);
  auto const all = collected(traces);
  auto const found = compare_ranks(all);
  check_sums(found, all);
  CHECK(cause(found, all, 1) == "idle, host bound in layer");
}

TEST_CASE("clocks of two hosts that are seconds apart are estimated from the ends") {
  job truth{.compute = uneven(100, 3), .offsets = {0, 3'000'000'000, -5'000'000'123}};
  auto const all = collected(truth.run());
  auto const found = compare_ranks(all);
  check_sums(found, all);
  check_truth(found, truth, 0);
  CHECK(found.matched.clocks[1].origin == clock_origin::collectives);
  CHECK(found.matched.clocks[1].offset_ns == 3'000'000'000);
  CHECK(found.matched.clocks[2].offset_ns == -5'000'000'123);
  CHECK(found.matched.clocks[2].spread_ns < 1);
}

TEST_CASE("a clock that drifts is followed") {
  job truth{.compute = uneven(2000, 2), .drift = 2e-5, .offsets = {0, 1'000'000'000}};
  auto const all = collected(truth.run());
  auto const found = compare_ranks(all);
  check_sums(found, all);
  check_truth(found, truth, 2000 * 3);
  CHECK(found.split == 2000);
  CHECK(std::abs(found.matched.clocks[1].drift - 2e-5) < 1e-7);
}

TEST_CASE("a collective that one rank lacks is not split, and all others match") {
  for (std::size_t const lost : {0, 41, 60, 99}) {
    for (bool const shared : {true, false}) {
      INFO(lost << (shared ? ", one host" : ", two hosts"));
      job truth{.compute = uneven(100, 3), .offsets = {0, 2'000'000'000, 7}, .lost = {{lost, 1}}};
      auto traces = truth.run();
      if (shared) { share_host(traces, truth.offsets); }
      auto const all = collected(traces);
      auto const found = compare_ranks(all);
      check_sums(found, all);
      CHECK(found.split == 99);
      CHECK(found.incomplete == 1);
      CHECK(found.apart == 0);
      CHECK(found.matched.clocks[1].offset_ns == 2'000'000'000);
    }
  }
}

TEST_CASE("traces that begin and end at other collectives match by time") {
  job truth{.compute = uneven(60, 2), .offsets = {0, 4'000}, .lost = {{0, 0}, {1, 0}, {59, 1}}};
  auto traces = truth.run();
  share_host(traces, truth.offsets);
  auto const all = collected(traces);
  auto const found = compare_ranks(all);
  check_sums(found, all);
  CHECK(found.split == 57);
  CHECK(found.apart == 0);
}

TEST_CASE("a host whose files are wrong about their begin is found out") {
  job truth{.compute = uneven(50, 2), .offsets = {0, 0}};
  auto traces = truth.run();
  share_host(traces, {0, 40'000});
  auto const all = collected(traces);
  auto const found = compare_ranks(all);
  check_truth(found, truth, 0);
  CHECK(found.matched.clocks[1].refuted_ns == -40'000);
}

TEST_CASE("two communicators that interleave stay apart, whatever their streams are called") {
  for (bool const renumbered : {false, true}) {
    std::vector<builder> made(2);
    std::int64_t now = 0;
    for (int i = 0; i < 20; ++i) {
      for (std::uint32_t r = 0; r < 2; ++r) {
        thread_key const who{10 + r, 10 + r};
        auto const stream = [&](std::uint32_t lane) {
          return on_stream{0, (renumbered && r == 1 ? 50 : 20) + lane, 1};
        };
        made[r].launch(reduce, {now, now + 10}, {now + 100 * r + 50, now + 1000}, stream(0), who);
        made[r].launch(gather, {now, now + 10}, {now + 300 - 200 * r, now + 800 + 7 * i}, stream(1),
                       who);
        if (i % 2 == 0) {
          made[r].launch(gather, {now + 900, now + 910}, {now + 1100, now + 1200 + r}, stream(1),
                         who);
        }
      }
      now += 2000 + 13 * i;
    }
    std::vector<model> traces{made[0].trace, made[1].trace};
    share_host(traces, {0, 0});
    auto const all = collected(traces);
    auto const found = compare_ranks(all);
    check_sums(found, all);
    REQUIRE(found.matched.lanes.size() == 2);
    CHECK(found.split == 50);
    CHECK(found.ranks[0].last == 20);
    CHECK(found.ranks[1].last == 20);
    CHECK(found.ranks[0].waiting_ns == 20 * 100);
    CHECK(found.ranks[1].waiting_ns == 20 * 200);
  }
}

TEST_CASE(
    "point-to-point transfers are counted and not split; ranks without collectives are kept") {
  job truth{.compute = uneven(5, 2), .offsets = {0, 0}};
  auto traces = truth.run();
  builder helper;
  helper.launch("gemm", {0, 1}, {2, 3}, {}, {99, 99});
  traces.push_back(helper.trace);
  share_host(traces, {0, 0, 0});
  for (int r = 0; r < 2; ++r) {
    auto& of = traces[static_cast<std::size_t>(r)];
    auto run = of.kernels.back();
    run.name = of.strings.intern(pair);
    run.when = {10, 17};
    of.kernels.push_back(run);
  }
  auto const all = collected(traces);
  auto const found = compare_ranks(all);
  check_sums(found, all);
  check_truth(found, truth, 0);
  CHECK(all.ranks()[0].point_to_point == 1);
  CHECK(all.ranks()[0].point_to_point_ns == 7);
  REQUIRE(found.ranks.size() == 3);
  CHECK(found.ranks[2].collectives == 0);
  CHECK(all.ranks()[2].streams.empty());
}

TEST_CASE("devices of one process are ranks; ranks of several communicators are not split") {
  builder b;
  for (std::int64_t i = 0; i < 4; ++i) {
    auto const now = i * 10'000;
    b.launch(reduce, {now, now + 1}, {now + 10, now + 1000}, {0, 20, 1});
    b.launch(reduce, {now, now + 1}, {now + 210, now + 1000}, {1, 21, 2});
  }
  rank_collector two;
  two.add("a", view{b.trace});
  auto const found = compare_ranks(two);
  CHECK(found.split == 4);
  CHECK(found.ranks[0].waiting_ns == 4 * 200);
  for (std::int64_t i = 0; i < 4; ++i) {
    auto const now = i * 10'000 + 4000;
    b.launch(reduce, {now, now + 1}, {now + 10, now + 1000}, {2, 20, 3});
  }
  rank_collector three;
  three.add("a", view{b.trace});
  auto const apart = compare_ranks(three);
  check_sums(apart, three);
  CHECK(apart.split == 0);
  CHECK(apart.apart == 4);
}

TEST_CASE("fewer than two ranks with collectives are refused") {
  job truth{.compute = uneven(5, 1), .offsets = {0}};
  truth.compute = {{1, 2}};
  truth.offsets = {0, 0};
  auto const traces = truth.run();
  rank_collector one;
  one.add("a", view{traces[0]});
  CHECK_THROWS_AS(compare_ranks(one), std::invalid_argument);
  CHECK_THROWS_AS(compare_ranks(rank_collector{}), std::invalid_argument);
}

TEST_CASE("collectives of several communicators in one stream are matched by their numbers") {
  // Pairs reduce among themselves, then all four, in one stream. Each pair has times of its own.
  constexpr std::uint64_t world = 0xffff'ffff'ffff'fff0;
  for (bool const told : {true, false}) {
    std::vector<builder> made(4);
    for (std::int64_t step = 0; step < 10; ++step) {
      for (std::uint32_t r = 0; r < 4; ++r) {
        thread_key const who{10 + r, 10 + r};
        auto const now = step * 100'000 + 7 * step * step;
        auto const reduces = [&](std::int64_t at, span ran, std::uint64_t communicator) {
          made[r].range("layer", {at - 5, at + 30}, who);
          auto& own = made[r].range("ncclAllReduce", {at, at + 20}, who, "NCCL");
          if (told) { own.payload = communicator; }
          made[r].launch(reduce, {at + 5, at + 10}, ran, {0, 20, 1}, who);
        };
        auto const pair_of = r / 2;
        auto const end = now + 10'000 + 20'000 * pair_of;
        reduces(now + 10, {end - 5'000 - 1'000 * (r % 2), end}, 5 + pair_of);
        reduces(now + 50, {now + 60'000 - 100 * r, now + 70'000}, world);
      }
    }
    std::vector<model> traces;
    for (auto& each : made) { traces.push_back(std::move(each.trace)); }
    share_host(traces, {0, 0, 0, 0});
    auto const all = collected(traces);
    auto const found = compare_ranks(all);
    check_sums(found, all);
    CHECK(found.split == (told ? 30 : 10));
    if (!told) {
      CHECK(found.apart == 10);  // an end of one pair lies before the begin of the other
      continue;
    }
    REQUIRE(found.matched.lanes.size() == 3);
    CHECK(found.matched.stream(found.matched.lanes[0], 0).communicator == 5);
    CHECK(found.apart + found.incomplete == 0);
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(found.ranks[r].waiting_ns ==
            10 * (static_cast<std::int64_t>(r % 2) * 1'000 + static_cast<std::int64_t>(r) * 100));
      CHECK(found.ranks[r].last == (r % 2 == 0 ? 10 : 0) + (r == 0 ? 10 : 0));
    }
    for (auto const& run : all.ranks()[2].streams[0].runs) {
      CHECK(all.strings()[run.range] == "layer");
    }
  }
}
