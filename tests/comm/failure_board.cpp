// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the host does when a rank's call fails or the engine is aborted. Threads that poll the word
/// as the kernels do stand for the kernels.

#include "catch.hpp"

#include <assay/comm/failure_board.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using comm::all_reduce_error;
using comm::failure_kind;
using comm::detail::stopped_by;
using test::contains;

namespace {

/// A board with the words that it keeps on the host.
struct board {
  comm::detail::failure_words words{};
  comm::detail::failure_board of{words};

  void call(int rank) {
    of.make_call(rank, 3, [] {});
  }
  void fail(int rank, std::string const& why) {
    of.make_call(rank, 3, [&] { throw std::invalid_argument(why); });
  }
  bool stopped() const { return words.stop != 0; }
  std::optional<all_reduce_error> failure() const {
    try {
      of.require_none(3);
    } catch (all_reduce_error const& error) { return error; }
    return {};
  }
};

}  // namespace

TEST_CASE("a call that throws after another rank's call ends the waits, and is named", "[comm]") {
  board all;
  all.call(0);
  CHECK_THROWS_AS(all.fail(1, "no room"), std::invalid_argument);
  REQUIRE(all.stopped());
  CHECK_THROWS_AS(all.call(0), all_reduce_error);
  auto const error = all.failure();
  REQUIRE(error);
  CHECK(error->rank() == 1);
  CHECK(error->kind() == failure_kind::call_failed);
  CHECK(std::string{error->what()} ==
        "all_reduce: the call of rank 1 failed, and other ranks wait for it; reset() makes the "
        "engine usable again. The call: no room");
  all.of.stop(stopped_by::abort);
  CHECK(all.failure()->rank() == 1);  // the first cause stays
  all.of.clear();
  CHECK_FALSE(all.failure());
  CHECK_FALSE(all.of.awaits_a_call(2));
  all.call(1);
}

TEST_CASE("a call that throws before another rank's call ends the waits with that call", "[comm]") {
  board all;
  CHECK_THROWS_AS(all.fail(2, "no room"), std::invalid_argument);
  CHECK_FALSE(all.stopped());  // nobody waits
  CHECK_THROWS_WITH(all.call(0), contains("the call of rank 2 failed") && contains("no room"));
  CHECK(all.stopped());
}

TEST_CASE("the reason stays when the rank's next call was already under way", "[comm]") {
  board all;
  CHECK_THROWS_AS(all.fail(1, "no room"), std::invalid_argument);
  auto const call_beside = [&] { CHECK_THROWS_AS(all.call(0), all_reduce_error); };
  CHECK_THROWS_WITH(all.of.make_call(1, 3, call_beside), contains("no room"));
  CHECK_THAT(all.failure()->what(), contains("the call of rank 1 failed") && contains("no room"));
}

TEST_CASE("a call that threw can be repeated while nobody waits for it", "[comm]") {
  board all;
  for (int operation = 0; operation < 3; ++operation) {
    CHECK_THROWS_AS(all.fail(0, "no room"), std::invalid_argument);
    all.call(0);
    all.call(1);
    all.call(1);  // of the next operation, for which rank 0 is late
    all.call(0);
  }
  CHECK_FALSE(all.stopped());
}

TEST_CASE("an abort ends the waits and says so", "[comm]") {
  board all;
  all.call(0);
  all.of.stop(stopped_by::abort);
  CHECK(all.stopped());
  auto const error = all.failure();
  REQUIRE(error);
  CHECK(error->rank() == -1);
  CHECK(error->kind() == failure_kind::aborted);
  CHECK_THAT(error->what(), contains("all_reduce was aborted; reset()"));
  CHECK_THROWS_AS(all.fail(1, "a call that is not made"), all_reduce_error);
  all.of.clear();
  CHECK_FALSE(all.failure());
}

TEST_CASE("a kernel's failure goes before an abort, and a cause before the timeouts", "[comm]") {
  board all;
  auto const set = [&](int rank, failure_kind kind) {
    all.words.of[rank] = {static_cast<int>(kind), 1, 2, 3};
    all.words.stop = static_cast<unsigned>(stopped_by::kernel);
  };
  set(2, failure_kind::timed_out);
  all.of.stop(stopped_by::abort);
  CHECK(all.failure()->rank() == 2);
  CHECK_THAT(all.failure()->what(), contains("rank 2 waited 3.0") && contains("for rank 1"));
  set(1, failure_kind::timed_out);
  CHECK(all.failure()->rank() == 1);
  set(3, failure_kind::disagreement);
  CHECK(all.failure()->rank() == 3);
  set(0, failure_kind::timed_out);
  CHECK(all.failure()->rank() == 3);
}

TEST_CASE("ranks of an operation that only some were asked for are known", "[comm]") {
  board all;
  CHECK_FALSE(all.of.awaits_a_call(3));
  all.call(0);
  CHECK(all.of.awaits_a_call(3));
  all.call(1);
  CHECK(all.of.awaits_a_call(3));
  CHECK_FALSE(all.of.awaits_a_call(2));
  all.call(2);
  CHECK_FALSE(all.of.awaits_a_call(3));
}

TEST_CASE("whenever a rank's call fails, the waits of all others end", "[comm]") {
  constexpr int ranks = 4;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 20; ++round) {
    board all;
    auto const late = static_cast<int>(random() % ranks);
    auto const failing = static_cast<int>(random() % 30);
    std::array<std::atomic<int>, ranks> begun{};
    std::array<std::string, ranks> errors;
    auto const run = [&](int rank) {
      // A kernel begins with the call and ends when those of all ranks have begun, or by the word.
      try {
        for (int operation = 0; operation < 40; ++operation) {
          all.of.make_call(rank, 3, [&] {
            if (rank == late && operation == failing) { throw std::runtime_error("no room"); }
            ++begun[static_cast<std::size_t>(rank)];
          });
          for (auto const& other : begun) {
            while (other <= operation && std::atomic_ref<unsigned>{all.words.stop}.load() == 0) {
              std::this_thread::yield();
            }
          }
        }
      } catch (std::exception const& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) { threads.emplace_back(run, rank); }
    for (auto& each : threads) { each.join(); }
    for (int rank = 0; rank < ranks; ++rank) {
      auto const& text = errors[static_cast<std::size_t>(rank)];
      if (rank == late) {
        CHECK(text == "no room");
      } else {
        CHECK_THAT(text, contains("the call of rank " + std::to_string(late) + " failed"));
      }
    }
  }
}

TEST_CASE("the end of an engine waits for every device, and ends no waits by itself", "[comm]") {
  board all;
  for (int rank = 0; rank < 3; ++rank) { all.call(rank); }
  std::vector<int> looked;
  std::vector<int> waited;
  all.of.end(
      3, [](int rank) { return rank; },
      [&](int rank) {
        CHECK(waited.empty());
        looked.push_back(rank);
        return static_cast<char const*>(nullptr);
      },
      [&](int rank) {
        waited.push_back(rank);
        return static_cast<char const*>(nullptr);
      });
  CHECK(looked == std::vector<int>{0, 1, 2});
  CHECK(waited == std::vector<int>{0, 1, 2});
  CHECK_FALSE(all.stopped());
}

TEST_CASE("the end of an engine first ends the waits for a rank that was not asked", "[comm]") {
  board all;
  all.call(1);
  all.of.end(
      2, [](int rank) { return rank; }, [](int) { return static_cast<char const*>(nullptr); },
      [&](int) {
        CHECK(all.stopped());  // else the kernel of rank 1 would wait
        return static_cast<char const*>(nullptr);
      });
}

TEST_CASE("a device that has failed ends the waits of the others before they are waited for",
          "[comm]") {
  board all;
  for (int rank = 0; rank < 3; ++rank) { all.call(rank); }
  int waits = 0;
  all.of.end(
      3, [](int rank) { return 4 + rank; },
      [](int rank) { return rank == 2 ? "cudaErrorIllegalAddress" : nullptr; },
      [&](int rank) {
        CHECK(all.stopped());  // else the kernel of rank 0 would wait for rank 2
        ++waits;
        return rank == 2 ? "cudaErrorIllegalAddress" : nullptr;
      });
  CHECK(waits == 3);
}

TEST_CASE("a device that fails while it is waited for ends the waits of the others", "[comm]") {
  board all;
  for (int rank = 0; rank < 2; ++rank) { all.call(rank); }
  all.of.end(
      2, [](int rank) { return rank; }, [](int) { return static_cast<char const*>(nullptr); },
      [&](int rank) {
        CHECK(all.stopped() == (rank == 1));
        return rank == 0 ? "cudaErrorLaunchFailure" : nullptr;
      });
  CHECK(all.stopped());
}
