// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread
#include "catch.hpp"

#include <assay/host/parallel_for.hpp>

#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

using namespace assay;

namespace {

/// The threads that `parts` parts run on, by part.
std::vector<std::thread::id> threads_of(host::worker_team& team, int parts) {
  std::vector<std::thread::id> found(static_cast<std::size_t>(parts));
  team.run(parts, [&](int part) noexcept {
    found[static_cast<std::size_t>(part)] = std::this_thread::get_id();
  });
  return found;
}

}  // namespace

TEST_CASE("a team keeps its threads from call to call", "[host]") {
  host::worker_team team;
  auto const four = threads_of(team, 4);
  CHECK(four[0] == std::this_thread::get_id());
  CHECK(std::set<std::thread::id>(four.begin(), four.end()).size() == 4);
  CHECK(threads_of(team, 4) == four);
  auto const two = threads_of(team, 2);
  CHECK(two == std::vector<std::thread::id>(four.begin(), four.begin() + 2));
  auto const six = threads_of(team, 6);
  CHECK(std::vector<std::thread::id>(six.begin(), six.begin() + 4) == four);
  CHECK(std::set<std::thread::id>(six.begin(), six.end()).size() == 6);
}

TEST_CASE("each call sees what the call before has written, without locks", "[host]") {
  host::worker_team team;
  std::vector<std::int64_t> sums(5, 0);
  for (int round = 0; round < 2000; ++round) {
    int const parts = 1 + round % 5;
    team.run(parts, [&](int part) noexcept { sums[static_cast<std::size_t>(part)] += round; });
    sums[static_cast<std::size_t>(round % 5)] += 1;  // the calling thread, between calls
  }
  std::int64_t total = 0;
  for (auto const each : sums) { total += each; }
  std::int64_t expected = 2000;
  for (int round = 0; round < 2000; ++round) { expected += std::int64_t{round} * (1 + round % 5); }
  CHECK(total == expected);
}

TEST_CASE("threads that loop at the same time, and loops in loops, have teams of their own",
          "[host]") {
  std::atomic<std::int64_t> sum{0};
  auto const inner = [&](std::int64_t begin, std::int64_t end) {
    host::parallel_for(2, end - begin, 1, [&](std::int64_t from, std::int64_t to) {
      for (auto i = from; i < to; ++i) { sum += begin + i; }
    });
  };
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) { host::parallel_for(3, 99, 1, inner); }
    });
  }
  for (auto& each : callers) { each.join(); }
  CHECK(sum == std::int64_t{3} * 50 * (99 * 98 / 2));
}
