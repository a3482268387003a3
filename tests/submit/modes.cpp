// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread
#include "catch.hpp"
#include "submit/host_lanes.hpp"

#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using test::host_lanes;
using test::host_test_lane;

namespace {

using namespace std::chrono_literals;

/// Which threads submit, and on which thread a lane's item ran, batch after batch.
struct visits {
  explicit visits(int items) : counts(static_cast<std::size_t>(items)), order(64) {}

  void operator()(host_test_lane& lane, int number) {
    counts[static_cast<std::size_t>(number)].fetch_add(1);
    order[static_cast<std::size_t>(lane.index)].push_back(number);
  }
  bool each_exactly(int times) const {
    return std::all_of(counts.begin(), counts.end(), [&](auto const& c) { return c == times; });
  }

  std::vector<std::atomic<int>> counts;
  std::vector<std::vector<int>> order;
};

/// The item number in the `item_error` that `call` throws and the text of its nested cause.
struct caught {
  int item;
  std::string what;
  std::string cause;
};

template <class Call>
std::optional<caught> catch_item_error(Call&& call) {
  try {
    call();
  } catch (submit::item_error const& failed) {
    try {
      std::rethrow_if_nested(failed);
    } catch (std::exception const& cause) {
      return caught{failed.item(), failed.what(), cause.what()};
    }
  }
  return std::nullopt;
}

template <class Mode>
Mode small();
template <>
submit::sequential small() {
  return {.items = 24};
}
template <>
submit::concurrent small() {
  return {.threads = 3, .items = 8};
}
template <>
submit::serialized small() {
  return {.threads = 3, .items = 8};
}

}  // namespace

TEMPLATE_TEST_CASE("a batch submits every item once, in order on its lane", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  static_assert(submits_to<TestType, host_test_lane>);
  auto const mode = small<TestType>();
  auto runner = mode.open(host_lanes(mode.lanes()));
  visits seen{mode.batch_items()};
  auto const times = runner.run(seen);
  CHECK(seen.each_exactly(1));
  int const per_lane = mode.batch_items() / mode.lanes();
  for (int lane = 0; lane < mode.lanes(); ++lane) {
    std::vector<int> wanted;
    for (int i = 0; i < per_lane; ++i) { wanted.push_back(lane * per_lane + i); }
    CHECK(seen.order[static_cast<std::size_t>(lane)] == wanted);
  }
  CHECK(times.wall > 0);
  CHECK(times.submit_per_item > 0);
  CHECK(times.submit_per_item * per_lane <= times.wall * 1.000001);
}

TEMPLATE_TEST_CASE("batches follow each other without losing or repeating items", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  TestType mode = small<TestType>();
  mode.items = 2;
  auto runner = mode.open(host_lanes(mode.lanes()));
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(mode.batch_items()));
  constexpr int batches = 10'000;
  for (int batch = 0; batch < batches; ++batch) {
    runner.run([&](host_test_lane&, int number) {
      // Relaxed: run() itself must order one batch's items before the next one's.
      counts[static_cast<std::size_t>(number)].fetch_add(1, std::memory_order_relaxed);
    });
    if (counts[0] != batch + 1) { FAIL("batch " << batch << " was not complete on return"); }
  }
  for (auto const& count : counts) { CHECK(count == batches); }
}

TEMPLATE_TEST_CASE("the lock keeps items apart, and without it they overlap", "[submit]",
                   submit::concurrent, submit::serialized) {
  TestType const mode{.threads = 2, .items = 4};
  auto runner = mode.open(host_lanes(2));
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  runner.run([&](host_test_lane&, int) {
    int const now = inside.fetch_add(1) + 1;
    int before = most.load();
    while (before < now && !most.compare_exchange_weak(before, now)) {}
    // Long enough for the other thread to come in, if nothing keeps it out.
    auto const patience = std::same_as<TestType, submit::concurrent> ? 10'000ms : 20ms;
    auto const until = std::chrono::steady_clock::now() + patience;
    while (most.load() < 2 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    inside.fetch_sub(1);
  });
  CHECK(most == (std::same_as<TestType, submit::concurrent> ? 2 : 1));
}

TEMPLATE_TEST_CASE("a probe is told of each lane and item, on the right thread", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  auto const mode = small<TestType>();
  auto runner = mode.open(host_lanes(mode.lanes()));
  std::vector<std::vector<std::thread::id>> ran(static_cast<std::size_t>(mode.lanes()));
  test::noting_probe probe{mode.lanes()};
  runner.run(
      [&](host_test_lane& lane, int) {
        ran[static_cast<std::size_t>(lane.index)].push_back(std::this_thread::get_id());
      },
      7, probe);
  int const per_lane = mode.batch_items() / mode.lanes();
  std::vector<std::thread::id> askers;
  for (int lane = 0; lane < mode.lanes(); ++lane) {
    auto const& notes = probe.notes[static_cast<std::size_t>(lane)];
    auto const& threads = ran[static_cast<std::size_t>(lane)];
    REQUIRE(notes.begins.size() == 1);
    REQUIRE(notes.ends.size() == 1);
    CHECK(notes.begins[0] == threads.at(0));
    CHECK(notes.ends[0] == threads.at(0));
    CHECK(std::count(threads.begin(), threads.end(), threads.at(0)) == per_lane);
    REQUIRE(static_cast<int>(notes.items.size()) == per_lane);
    for (int i = 0; i < per_lane; ++i) {
      auto const k = static_cast<std::size_t>(i);
      CHECK(notes.items[k] == lane * per_lane + i);
      CHECK(notes.asked[k] == notes.asked[0]);
      CHECK(notes.times[k].total > 0);
      CHECK(notes.times[k].lock_wait >= 0);
      CHECK(notes.times[k].lock_wait <= notes.times[k].total);
    }
    CHECK(notes.asked[0] == threads.at(0));
    CHECK(std::count(askers.begin(), askers.end(), notes.asked[0]) == 0);
    askers.push_back(notes.asked[0]);
  }
}

TEST_CASE("waiting for the mutex is in an item's time, and told apart", "[submit]") {
  submit::serialized const mode{.threads = 2, .items = 5};
  auto runner = mode.open(host_lanes(2));
  struct meeting_probe : test::noting_probe {
    using test::noting_probe::noting_probe;
    std::atomic<int> begun = 0;
    void lane_begin(host_test_lane&) { ++begun; }
  } probe{2};
  auto const slow = [&](host_test_lane&, int) {
    while (probe.begun < 2) { std::this_thread::yield(); }
    std::this_thread::sleep_for(4ms);
  };
  auto const times = runner.run(slow, 0, probe);
  double waited = 0;
  double total = 0;
  for (auto const& lane : probe.notes) {
    for (auto const& item : lane.times) {
      waited += item.lock_wait;
      total += item.total;
    }
  }
  // Whoever comes second waits for an item of the other.
  CHECK(waited >= 3e6);
  CHECK(total - waited >= 10 * 4e6);
  CHECK(times.wall >= 10 * 4e-3);
  CHECK(times.submit_per_item * 10e9 >= 0.999 * total);
}

TEMPLATE_TEST_CASE("the first failure stops the batch and names its item", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  auto const mode = small<TestType>();
  auto runner = mode.open(host_lanes(mode.lanes()));
  for (int const bad : {0, 1, 11, mode.batch_items() - 1}) {
    INFO("item " << bad);
    std::vector<std::atomic<int>> counts(static_cast<std::size_t>(mode.batch_items()));
    test::noting_probe probe{mode.lanes()};
    auto const error = catch_item_error([&] {
      runner.run(
          [&](host_test_lane&, int number) {
            counts[static_cast<std::size_t>(number)].fetch_add(1);
            if (number == bad) { throw std::runtime_error("bad column"); }
          },
          0, probe);
    });
    REQUIRE(error.has_value());
    CHECK(error->item == bad);
    CHECK(error->what == "item " + std::to_string(bad) + " failed: bad column");
    CHECK(error->cause == "bad column");
    for (auto const& count : counts) { CHECK(count <= 1); }
    for (auto const& lane : probe.notes) { CHECK(lane.begins.size() == lane.ends.size()); }

    visits seen{mode.batch_items()};
    runner.run(seen);
    CHECK(seen.each_exactly(1));
  }
}

TEMPLATE_TEST_CASE("no item is begun after another thread has failed", "[submit]",
                   submit::concurrent, submit::serialized) {
  TestType const mode{.threads = 2, .items = 50};
  auto runner = mode.open(host_lanes(2));
  std::atomic<bool> failed = false;
  std::atomic<int> others = 0;
  auto const error = catch_item_error([&] {
    runner.run([&](host_test_lane& lane, int) {
      if (lane.index == 0) {
        failed = true;
        throw std::runtime_error("x");
      }
      if (failed) { others.fetch_add(1); }
      std::this_thread::sleep_for(5ms);
    });
  });
  REQUIRE(error.has_value());
  CHECK(error->item == 0);
  CHECK(others < 40);  // some may slip in between throw and catch, on a busy machine
}

TEMPLATE_TEST_CASE("several failures at once give one error", "[submit]", submit::concurrent,
                   submit::serialized) {
  TestType const mode{.threads = 4, .items = 3};
  auto runner = mode.open(host_lanes(4));
  for (int round = 0; round < 200; ++round) {
    auto const error = catch_item_error([&] {
      runner.run(
          [](host_test_lane&, int number) { throw std::runtime_error(std::to_string(number)); });
    });
    REQUIRE(error.has_value());
    CHECK(error->cause == std::to_string(error->item));
    CHECK(error->item % 3 == 0);
  }
  visits seen{12};
  runner.run(seen);
  CHECK(seen.each_exactly(1));
}

TEST_CASE("what is thrown need not be a std::exception", "[submit]") {
  auto runner = submit::concurrent{.threads = 1, .items = 2}.open(host_lanes(1));
  try {
    runner.run([](host_test_lane&, int number) {
      if (number == 1) { throw 7; }
    });
    FAIL("nothing was thrown");
  } catch (submit::item_error const& failed) {
    CHECK(failed.item() == 1);
    try {
      std::rethrow_if_nested(failed);
      FAIL("nothing was nested");
    } catch (int cause) { CHECK(cause == 7); }
  }
}

TEMPLATE_TEST_CASE("a probe that throws fails the batch as an item does", "[submit]",
                   submit::concurrent) {
  struct throwing_probe : submit::no_probe {
    void lane_begin(host_test_lane& lane) const {
      if (lane.index == 1) { throw std::runtime_error("probe"); }
    }
  };
  TestType const mode{.threads = 2, .items = 3};
  auto runner = mode.open(host_lanes(2));
  auto const error =
      catch_item_error([&] { runner.run([](host_test_lane&, int) {}, 0, throwing_probe{}); });
  REQUIRE(error.has_value());
  CHECK(error->item == 3);
  CHECK(error->cause == "probe");
}

TEMPLATE_TEST_CASE("a runner can be moved between batches", "[submit]", submit::sequential,
                   submit::concurrent, submit::serialized) {
  auto const mode = small<TestType>();
  auto first = mode.open(host_lanes(mode.lanes()));
  visits seen{mode.batch_items()};
  first.run(seen);
  auto second = std::move(first);
  second.run(seen);
  auto third = mode.open(host_lanes(mode.lanes()));
  third = std::move(second);
  third.run(seen);
  CHECK(seen.each_exactly(3));
}

TEMPLATE_TEST_CASE("counts below one are refused with their value", "[submit]", submit::concurrent,
                   submit::serialized) {
  auto const refusal = [](TestType const& mode, int lanes) -> std::string {
    try {
      mode.open(host_lanes(lanes));
    } catch (std::invalid_argument const& refused) { return refused.what(); }
    return "accepted";
  };
  std::string const name{TestType::name};
  for (int const wrong : {0, -3}) {
    auto const tail = " is " + std::to_string(wrong) + ", but must be at least 1";
    CHECK(refusal({.threads = wrong, .items = 1}, 1) == name + ": threads" + tail);
    CHECK(refusal({.threads = 1, .items = wrong}, 1) == name + ": items" + tail);
  }
  CHECK(refusal({.threads = 2, .items = 1}, 3) ==
        name + ": got 3 lanes for 2 threads, but needs one for each");
  CHECK(refusal({.threads = 70'000, .items = 70'000}, 1) ==
        name + ": 70000 threads x 70000 items, but a batch can have at most 2147483647 items");
}

TEST_CASE("a mode's own fields are checked too", "[submit]") {
  CHECK_THROWS_AS(submit::sequential{.items = 0}.open(host_lanes(1)), std::invalid_argument);
  CHECK_THROWS_AS(submit::sequential{}.open(host_lanes(2)), std::invalid_argument);
}

TEST_CASE("a mode tells its parameters", "[submit]") {
  CHECK(describe(submit::sequential{.items = 5}) == "submit::sequential{items=5}");
  CHECK(describe(submit::concurrent{}) == "submit::concurrent{threads=4, items=100}");
  CHECK(describe(submit::serialized{.threads = 2, .items = 3, .sync_per_item = true}) ==
        "submit::serialized{threads=2, items=3, sync_per_item}");
  CHECK(submit::concurrent{.threads = 3, .items = 7}.batch_items() == 21);
  CHECK(submit::concurrent{} == submit::concurrent{});
  CHECK_FALSE(submit::concurrent{} == submit::concurrent{.items = 1});
}
