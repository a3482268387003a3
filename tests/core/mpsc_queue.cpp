// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread
#include "catch.hpp"

#include <assay/core/mpsc_queue.hpp>

#include <cstddef>
#include <thread>
#include <vector>

using assay::mpsc_queue;

TEST_CASE("a queue holds its capacity and gives back what came first", "[submit]") {
  for (std::size_t const capacity : {1U, 2U, 3U, 64U}) {
    INFO("capacity " << capacity);
    mpsc_queue<int> queue{capacity};
    int in = 0;
    int out = 0;
    CHECK_FALSE(queue.try_pop().has_value());
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < capacity; ++i) { REQUIRE(queue.try_push(in++)); }
      REQUIRE_FALSE(queue.try_push(-1));
      for (std::size_t i = 0; i < capacity; ++i) { REQUIRE(queue.try_pop() == out++); }
      REQUIRE_FALSE(queue.try_pop().has_value());
    }
  }
}

TEST_CASE("many producers lose nothing, and each keeps its order", "[submit]") {
  struct mail {
    int from;
    int number;
    int const* attached;
  };
  constexpr int producers = 4;
  constexpr int each = 20'000;
  for (std::size_t const capacity : {1U, 3U, 64U}) {
    INFO("capacity " << capacity);
    mpsc_queue<mail> queue{capacity};
    std::vector<std::vector<int>> written(producers, std::vector<int>(each, -1));
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p) {
      threads.emplace_back([&, p] {
        for (int i = 0; i < each; ++i) {
          // Plain memory, which only the queue hands over: the sanitizer sees it if it does not.
          auto& slot = written[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
          slot = p * each + i;
          while (!queue.try_push({p, i, &slot})) { std::this_thread::yield(); }
        }
      });
    }
    std::vector<int> next(producers, 0);
    int wrong = 0;
    for (int got = 0; got < producers * each;) {
      auto const one = queue.try_pop();
      if (!one) {
        std::this_thread::yield();
        continue;
      }
      auto& expected = next[static_cast<std::size_t>(one->from)];
      if (one->number != expected || *one->attached != one->from * each + one->number) { ++wrong; }
      ++expected;
      ++got;
    }
    for (auto& thread : threads) { thread.join(); }
    CHECK(wrong == 0);
    CHECK_FALSE(queue.try_pop().has_value());
  }
}
