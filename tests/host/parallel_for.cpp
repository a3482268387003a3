// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/host/parallel_for.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace assay;

TEST_CASE("parallel_for visits each index once, in parts that begin at grains", "[host]") {
  for (int const threads : {-1, 1, 2, 3, 7}) {
    for (std::int64_t const count : {0, 1, 63, 64, 65, 127, 128, 129, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      std::atomic<int> parts{0};
      std::atomic<bool> aligned{true};
      host::parallel_for(threads, count, 64, [&](std::int64_t begin, std::int64_t end) {
        ++parts;
        if (begin % 64 != 0 || (end % 64 != 0 && end != count)) { aligned = false; }
        if (end - begin < 64 && end != count) { aligned = false; }
        for (auto i = begin; i < end; ++i) { ++visits[static_cast<std::size_t>(i)]; }
      });
      for (auto const& each : visits) { REQUIRE(each == 1); }
      CHECK(aligned);
      CHECK(parts ==
            std::min<std::int64_t>(std::max(threads, 1),
                                   count == 0 ? 0 : std::max<std::int64_t>(count / 64, 1)));
    }
  }
}

TEST_CASE("one thread, or less than two grains, stays on the calling thread", "[host]") {
  auto const here = std::this_thread::get_id();
  auto const ran_here = [&](int threads, std::int64_t count) {
    bool all = true;
    host::parallel_for(threads, count, 64, [&](std::int64_t, std::int64_t) {
      all = all && std::this_thread::get_id() == here;
    });
    return all;
  };
  CHECK(ran_here(1, 10'000));
  CHECK(ran_here(8, 127));
  CHECK_THROWS_WITH(host::parallel_for(2, 10, 0, [](std::int64_t, std::int64_t) {}),
                    "parallel_for: the grain is 0, and at least 1 is needed");
}

TEST_CASE("parallel_for uses as many threads as it may", "[host]") {
  std::mutex guard;
  std::set<std::thread::id> ids;
  host::parallel_for(4, 1000, 64, [&](std::int64_t, std::int64_t) {
    std::lock_guard const lock{guard};
    ids.insert(std::this_thread::get_id());
  });
  CHECK(ids.size() == 4);
}

TEST_CASE("what a part throws is rethrown once all have stopped", "[host]") {
  for (std::int64_t const failing : {0, 64, 192}) {
    std::atomic<int> done{0};
    auto const body = [&](std::int64_t begin, std::int64_t) {
      if (begin == failing) { throw std::runtime_error("part"); }
      ++done;
    };
    CHECK_THROWS_WITH(host::parallel_for(4, 256, 64, body), "part");
    CHECK(done == 3);
  }
}

TEST_CASE("a forked process has threads of its own", "[host]") {
  std::atomic<int> parts{0};
  auto const count_parts = [&] {
    host::parallel_for(3, 192, 64, [&](std::int64_t, std::int64_t) { ++parts; });
  };
  count_parts();  // starts the threads, which the child does not have
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(10);
    parts = 0;
    count_parts();
    ::_exit(parts == 3 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a process that is forked from a thread with a team can end", "[host]") {
  host::parallel_for(3, 192, 64, [](std::int64_t, std::int64_t) {});
  std::cout.flush();  // else the child writes it too
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(10);
    std::exit(0);  // destroys what is local to the thread
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
