// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ranks that are threads of one process.
#include "ranks/rank_worlds.hpp"
#include "catch.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

TEST_CASE("threads are ranks of one world") {
  std::atomic<int> right{0};
  examples::run_on_ranks(3, [&](world const& all) {
    auto const got = all.gather(std::to_string(all.rank()));
    if (all.rank() == 0 && got == std::vector<std::string>{"0", "1", "2"}) { ++right; }
    if (all.broadcast("of " + std::to_string(all.rank())) == "of 0") { ++right; }
    all.barrier();
    if (all.ranks() == 3 && all.local_rank() == all.rank()) { ++right; }
  });
  CHECK(right == 1 + 3 + 3);
}

TEST_CASE("a rank that throws ends the others, and its exception is thrown") {
  std::atomic<int> told{0};
  auto const run = [&] {
    examples::run_on_ranks(3, [&](world const& all) {
      if (all.rank() == 1) { throw std::invalid_argument("no such GPU"); }
      try {
        all.barrier();
      } catch (world_error const& cause) {
        if (std::string{cause.what()} == "rank 1: no such GPU") { ++told; }
        throw;
      }
    });
  };
  CHECK_THROWS_AS(run(), std::invalid_argument);
  CHECK(told == 2);
  // The others may have ended before.
  CHECK_THAT(message_of([] {
               examples::run_on_ranks(2, [](world const& all) {
                 if (all.rank() == 0) { throw std::runtime_error("late"); }
               });
             }),
             contains("late"));
}
