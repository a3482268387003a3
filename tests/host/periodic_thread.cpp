// assay-test-flags: -fsanitize=thread
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/host/periodic_thread.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace assay;

TEST_CASE("a thread that sleeps ends at once, and one that is told to stops by itself") {
  using clock = std::chrono::steady_clock;
  std::atomic<int> calls = 0;
  clock::time_point begin;
  {
    host::periodic_thread const hourly{3600, [&] { return ++calls > 0; }};
    while (calls == 0) { std::this_thread::yield(); }
    begin = clock::now();
  }
  CHECK(std::chrono::duration<double>(clock::now() - begin).count() < 1);
  CHECK(calls == 1);
  host::periodic_thread const often{1e-3, [&] { return ++calls < 10; }};
  while (calls < 10) { std::this_thread::yield(); }
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  CHECK(calls == 10);
}

TEST_CASE("the destructor waits for a call that runs") {
  std::atomic<bool> began = false, ended = false;
  {
    host::periodic_thread const slow{3600, [&] {
                                       began = true;
                                       std::this_thread::sleep_for(std::chrono::milliseconds{50});
                                       ended = true;
                                       return true;
                                     }};
    while (!began) { std::this_thread::yield(); }
  }
  CHECK(ended);
}
