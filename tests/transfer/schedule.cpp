// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every schedule does each stage of each chunk once, after all that it needs, and breadth-first.

#include "catch.hpp"

#include <assay/transfer/schedule.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay::transfer;

/// The first error in a schedule, by its definition alone; "" if there is none.
std::string wrong_with(std::vector<operation> const& all, int chunks, int slots, bool inputs,
                       bool outputs) {
  std::map<std::pair<stage, int>, std::size_t> place;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& op = all[i];
    if (!place.emplace(std::pair{op.what, op.chunk}, i).second) { return "a stage is there twice"; }
    if (op.slot != op.chunk % slots) { return "a slot is not the chunk's"; }
    if (op.queue < 0 || op.queue >= queue_count) { return "there is no such queue"; }
  }
  auto const stages = std::size_t{1} + (inputs ? 1 : 0) + (outputs ? 1 : 0);
  if (all.size() != stages * static_cast<std::size_t>(chunks)) { return "a stage is missing"; }

  // The operations that are over before one begins, by any order that streams may have: the earlier
  // ones of its queue, those that it waits for, and all that are over before these.
  std::vector<std::set<std::size_t>> before(all.size());
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const add = [&](std::size_t earlier) {
      before[i].insert(earlier);
      before[i].insert(before[earlier].begin(), before[earlier].end());
    };
    if (auto const found = last.find(all[i].queue); found != last.end()) { add(found->second); }
    last[all[i].queue] = i;
    for (int const earlier : all[i].waits()) {
      auto const at = static_cast<std::size_t>(earlier);
      if (at >= i) { return "it waits for what is enqueued later"; }
      if (all[at].queue != all[i].queue && !all[at].awaited) { return "no event for a wait"; }
      // An event is known by stage and slot: a later use of it must not come in between.
      for (auto between = at + 1; between < i; ++between) {
        if (all[between].what == all[at].what && all[between].slot == all[at].slot) {
          return "an event is recorded again before it is waited for";
        }
      }
      add(at);
    }
  }
  auto const ordered = [&](stage first, int chunk, stage second, int other) {
    auto const a = place.find({first, chunk});
    auto const b = place.find({second, other});
    return a == place.end() || b == place.end() || before[b->second].contains(a->second);
  };
  for (int c = 0; c < chunks; ++c) {
    if (!ordered(stage::copy_in, c, stage::compute, c)) { return "computed before it is there"; }
    if (!ordered(stage::compute, c, stage::copy_out, c)) { return "leaves before it is computed"; }
    if (!ordered(stage::compute, c, stage::copy_in, c + slots)) { return "input overwritten"; }
    if (!ordered(stage::copy_out, c, stage::compute, c + slots)) { return "output overwritten"; }
  }
  // The first queues follow the caller, and come before all others; the caller follows the last
  // queues, which come after all others.
  auto const begins = first_queues(all);
  auto const ends = last_queues(all);
  auto const among = [](std::vector<int> const& queues, int queue) {
    return std::find(queues.begin(), queues.end(), queue) != queues.end();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool follows = among(begins, all[i].queue);
    bool followed = among(ends, all[i].queue);
    for (std::size_t j = 0; j < all.size(); ++j) {
      follows = follows || (before[i].contains(j) && among(begins, all[j].queue));
      followed = followed || (before[j].contains(i) && among(ends, all[j].queue));
    }
    if (!follows) { return "it may begin before the job"; }
    if (!followed) { return "it may be under way after the job"; }
  }
  return "";
}

}  // namespace

TEST_CASE("schedules keep every order that they must", "[schedule]") {
  for (int chunks : {1, 2, 3, 4, 5, 9, 17}) {
    for (int slots : {1, 2, 3, 4, 8, 20}) {
      for (int arrays = 0; arrays < 4; ++arrays) {
        bool const inputs = (arrays & 1) != 0;
        bool const outputs = (arrays & 2) != 0;
        auto const made = schedule(chunks, slots, inputs, outputs);
        INFO(chunks << " chunks, " << slots << " slots, inputs " << inputs << ", outputs "
                    << outputs);
        REQUIRE(wrong_with(made, chunks, slots, inputs, outputs).empty());
      }
    }
  }
}

TEST_CASE("a job without chunks is no work", "[schedule]") {
  CHECK(schedule(0, 3, true, true).empty());
}

TEST_CASE("one chunk has one queue", "[schedule]") {
  for (auto const& op : schedule(1, 1, true, true)) {
    CHECK(op.queue == copy_out_queue);
    CHECK_FALSE(op.awaited);
  }
}

TEST_CASE("each direction has its queue, and the next chunk is in before one is out",
          "[schedule]") {
  auto const made = schedule(4, 3, true, true);
  std::vector<std::pair<stage, int>> order;
  for (auto const& op : made) {
    CHECK(op.queue == (op.what == stage::copy_in    ? 0
                       : op.what == stage::copy_out ? 2
                       : op.chunk % 2 == 0          ? 1
                                                    : 3));
    order.emplace_back(op.what, op.chunk);
  }
  using enum stage;
  CHECK(order == std::vector<std::pair<stage, int>>{{copy_in, 0},
                                                    {copy_in, 1},
                                                    {compute, 0},
                                                    {copy_in, 2},
                                                    {compute, 1},
                                                    {copy_out, 0},
                                                    {copy_in, 3},
                                                    {compute, 2},
                                                    {copy_out, 1},
                                                    {compute, 3},
                                                    {copy_out, 2},
                                                    {copy_out, 3}});
  CHECK(made[0].awaited);
  CHECK_FALSE(made.back().awaited);
}

TEST_CASE("a compiled schedule has all that follows from its chunks", "[schedule]") {
  auto const made = compile({3, 5, 4}, 2, true, true);
  CHECK(made.first == std::vector<std::int64_t>{0, 3, 8, 12});
  CHECK(made.largest_chunk == 5);
  CHECK(made.operations.size() == 9);
  CHECK(made.begins == first_queues(made.operations));
  CHECK(made.ends == last_queues(made.operations));
  CHECK(made.chunks.size() == 3);
  CHECK(compile({7}, 1, true, false).operations.size() == 2);
}

TEST_CASE("no more queues are joined than need be", "[schedule]") {
  using queues = std::vector<int>;
  auto const both = schedule(9, 3, true, true);
  CHECK(first_queues(both) == queues{0});
  CHECK(last_queues(both) == queues{2});
  auto const made = schedule(9, 3, false, true);
  CHECK(first_queues(made) == queues{1, 3});
  CHECK(last_queues(made) == queues{2});
  auto const used = schedule(9, 3, true, false);
  CHECK(first_queues(used) == queues{0});
  CHECK(last_queues(used) == queues{1, 3});
  CHECK(first_queues({}).empty());
}

TEST_CASE("no event is recorded that nobody waits for", "[schedule]") {
  int awaited = 0;
  for (auto const& op : schedule(9, 3, true, true)) { awaited += op.awaited; }
  CHECK(awaited ==
        9 + 9 + 6);  // copies in, kernels, and the copies out of slots that are used again
}
