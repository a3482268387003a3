// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=address
// assay-grouped: no, since its static objects must end last
// assay-precompiled: no
/// @file
/// Values of a thread after the thread's objects have ended.
#include <assay/core/thread_value.hpp>
#include <assay/host/parallel_for.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "catch.hpp"

using namespace assay;

namespace {

std::atomic<int> alive{0};

struct counted {
  counted() { ++alive; }
  counted(counted&&) noexcept { ++alive; }
  ~counted() { --alive; }
  std::string text = "longer than the text that a string holds in itself";
};

std::string& kept() {
  return detail::thread_value([] { return counted{}; }).text;
}

std::int64_t summed() {
  std::atomic<std::int64_t> sum{0};
  host::parallel_for(4, 1000, 10,
                     [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  return sum;
}

/// Ends after all values of the main thread.
struct at_exit {
  ~at_exit() {
    if (kept().size() != 50 || summed() != 1000 || summed() != 1000) { ::_exit(9); }
  }
} const last;

/// Ends after the value of its thread, which is made later.
struct at_thread_end {
  ~at_thread_end() { size = kept().size(); }
  static inline std::atomic<std::size_t> size{0};
};

}  // namespace

TEST_CASE("each thread has a value, which ends with the thread") {
  (void)last;
  CHECK(kept().size() == 50);
  int const before = alive;
  std::thread{[] {
    kept() += " and more";
    CHECK(&kept() == &kept());
  }}.join();
  CHECK(alive == before);
  CHECK(kept().size() == 50);
  CHECK(summed() == 1000);
}

TEST_CASE("an object that ends later than the value of its thread gets a new value") {
  std::thread{[] {
    thread_local at_thread_end const ends_later;
    (void)&ends_later;
    kept() += " and more";
  }}.join();
  CHECK(at_thread_end::size == 50);
}
