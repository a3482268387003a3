// SPDX-License-Identifier: Apache-2.0
/// @file
/// Time is lost where other programs run in place of a thread that wants to run.
#include <assay/core/lost_processor_time.hpp>

#include <chrono>
#include <csignal>
#include <ctime>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "catch.hpp"

using namespace assay;

namespace {

double own_seconds() {
  ::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Computes for so much processor time of this thread.
void compute(double seconds) {
  for (double const end = own_seconds() + seconds; own_seconds() < end;) {}
}

/// This thread and a child that computes, on one processor.
class one_processor {
 public:
  one_processor() {
    REQUIRE(::sched_getaffinity(0, sizeof all_, &all_) == 0);
    ::cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all_)) { CPU_SET(i, &one); }
    }
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      for (;;) { compute(1); }
    }
  }
  ~one_processor() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::sched_setaffinity(0, sizeof all_, &all_);
  }

 private:
  ::cpu_set_t all_{};
  ::pid_t child_ = -1;
};

}  // namespace

TEST_CASE("what another program takes of a thread's processor is lost, and nothing else") {
  one_processor const shared;
  lost_processor_time const watch;
  auto const begin = std::chrono::steady_clock::now();
  compute(0.2);
  double const lost = watch.seconds().value_or(0);
  double const wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(lost > 0.01);
  CHECK(wall - lost == Approx(0.2).epsilon(0.02));
}

TEST_CASE("what a thread that waits has lost is not clear") {
  one_processor const shared;
  lost_processor_time const watch;
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  compute(0.05);
  CHECK_FALSE(watch.seconds().has_value());
}

TEST_CASE("nor is it where threads of this process take its processor") {
  one_processor const shared;
  std::jthread const other{[](std::stop_token const& stop) {
    while (!stop.stop_requested()) {}
  }};
  lost_processor_time const watch;
  compute(0.1);
  CHECK_FALSE(watch.seconds().has_value());
}
