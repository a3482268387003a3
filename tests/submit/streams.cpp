// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread
// assay-grouped: no, since it specialises a template of the library
#include "catch.hpp"
#include "submit/host_lanes.hpp"

#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace assay::test {

/// What a stream was asked for; `pending` items have been enqueued since it was last drained.
struct stream_log {
  int synchronised = 0;
  int pending = 0;
  int most_pending = 0;
  bool fails = false;
};

/// A stream that keeps a log, and heap memory on it.
struct logged_stream {
  stream_log* log = nullptr;
  bool operator==(logged_stream const&) const = default;
};

struct logged_heap {
  void* allocate(logged_stream, std::size_t bytes, std::size_t) { return ::operator new(bytes); }
  void deallocate(logged_stream, void* pointer, std::size_t, std::size_t) noexcept {
    ::operator delete(pointer);
  }
  bool operator==(logged_heap const&) const = default;
};

/// A place that threads are bound to, and which may refuse.
struct logged_place {
  struct notes {
    std::mutex lock;
    std::vector<std::thread::id> bound;
    bool refuses = false;
  };
  notes* log = nullptr;
};

using logged_lane = lane<logged_place, logged_stream, logged_heap>;

}  // namespace assay::test

template <>
struct assay::stream_traits<assay::test::logged_stream> {
  static void synchronize(test::logged_stream which) {
    ++which.log->synchronised;
    which.log->pending = 0;
    if (which.log->fails) { throw std::runtime_error("illegal address"); }
  }
  static void bind_thread(test::logged_place place) {
    std::scoped_lock const held{place.log->lock};
    place.log->bound.push_back(std::this_thread::get_id());
    if (place.log->refuses) { throw std::runtime_error("no such device"); }
  }
};

using namespace assay;
using test::logged_lane;

namespace {

struct logged_lanes {
  explicit logged_lanes(int count) : logs(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) {
      lanes.push_back({{&place}, {&logs[static_cast<std::size_t>(i)]}, {}, i});
    }
  }
  test::logged_place::notes place;
  std::vector<test::stream_log> logs;
  std::vector<logged_lane> lanes;
};

void enqueue(logged_lane& where, int) {
  auto& log = *where.stream.log;
  log.most_pending = std::max(log.most_pending, ++log.pending);
}

}  // namespace

TEMPLATE_TEST_CASE("each thread is bound once, and each lane is drained once a batch", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  TestType mode;
  mode.items = 7;
  logged_lanes made{mode.lanes()};
  auto runner = mode.open(made.lanes);
  int const threads = mode.lanes();
  for (int batch = 1; batch <= 3; ++batch) {
    runner.run(enqueue);
    for (auto const& log : made.logs) {
      CHECK(log.synchronised == batch);
      CHECK(log.pending == 0);
      CHECK(log.most_pending == 7);
    }
  }
  auto bound = made.place.bound;
  CHECK(static_cast<int>(bound.size()) == threads);
  std::sort(bound.begin(), bound.end());
  CHECK(std::unique(bound.begin(), bound.end()) == bound.end());
  CHECK(std::count(bound.begin(), bound.end(), std::this_thread::get_id()) == 0);
}

TEMPLATE_TEST_CASE("sync_per_item drains the lane after each item", "[submit]", submit::sequential,
                   submit::concurrent, submit::serialized) {
  TestType mode;
  mode.items = 7;
  mode.sync_per_item = true;
  logged_lanes made{mode.lanes()};
  auto runner = mode.open(made.lanes);
  runner.run(enqueue);
  test::noting_probe probe{mode.lanes()};
  runner.run(enqueue, 0, probe);
  for (auto const& log : made.logs) {
    CHECK(log.synchronised == 2 * (7 + 1));
    CHECK(log.most_pending == 1);
  }
}

TEST_CASE("a serialized item that synchronises still holds the mutex", "[submit]") {
  submit::serialized const mode{.threads = 3, .items = 20, .sync_per_item = true};
  logged_lanes made{3};
  // One log for all, written without a lock of its own: the sanitizer sees it if the mutex is not
  // held. The lanes' drains come last, and would race, so they go to other logs.
  auto runner = mode.open(made.lanes);
  test::stream_log shared;
  struct swapping_probe : submit::no_probe {
    test::stream_log* shared;
    std::vector<test::stream_log>* own;
    void lane_begin(logged_lane& where) const { where.stream.log = shared; }
    void lane_end(logged_lane& where) const {
      where.stream.log = &(*own)[static_cast<std::size_t>(where.index)];
    }
  };
  runner.run(enqueue, 0, swapping_probe{{}, &shared, &made.logs});
  CHECK(shared.synchronised == 60);
  CHECK(shared.most_pending == 1);
}

TEMPLATE_TEST_CASE("all lanes are drained after a failure", "[submit]", submit::sequential,
                   submit::concurrent, submit::serialized) {
  TestType mode;
  mode.items = 5;
  logged_lanes made{mode.lanes()};
  auto runner = mode.open(made.lanes);
  CHECK_THROWS_AS(runner.run([](logged_lane& where, int number) {
    enqueue(where, number);
    if (number == 3) { throw std::runtime_error("x"); }
  }),
                  submit::item_error);
  for (auto const& log : made.logs) {
    CHECK(log.synchronised == 1);
    CHECK(log.pending == 0);
  }
}

TEMPLATE_TEST_CASE("work that fails on the device is reported when its lane is drained", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  TestType mode;
  mode.items = 5;
  logged_lanes made{mode.lanes()};
  auto runner = mode.open(made.lanes);
  auto const bad = made.logs.size() - 1;
  made.logs[bad].fails = true;
  auto const failure = [&]() -> std::string {
    try {
      runner.run(enqueue);
    } catch (submit::item_error const& failed) {
      CHECK(failed.item() == mode.batch_items() - 1);
      return failed.what();
    }
    return "";
  }();
  CHECK(failure.find("this or an earlier item of the lane: illegal address") != std::string::npos);
  made.logs[bad].fails = false;
  runner.run(enqueue);
}

TEMPLATE_TEST_CASE("a place that refuses a thread fails the opening", "[submit]",
                   submit::sequential, submit::concurrent, submit::serialized) {
  TestType const mode;
  logged_lanes made{mode.lanes()};
  made.place.refuses = true;
  CHECK_THROWS_WITH(mode.open(made.lanes), "no such device");
}
