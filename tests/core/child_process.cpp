// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it changes what the process does with SIGCHLD
/// @file
/// How children end where this process ignores them, and what they leave behind.
#include <assay/core/child_process.hpp>

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace assay;
using namespace std::chrono_literals;
using assay::test::contains;

namespace {

/// Another action for SIGCHLD while this lives.
class child_signal {
 public:
  child_signal(void (*handler)(int), int flags) {
    struct sigaction asked {};
    asked.sa_handler = handler;
    asked.sa_flags = flags;
    ::sigaction(SIGCHLD, &asked, &before_);
  }
  child_signal(child_signal const&) = delete;
  child_signal& operator=(child_signal const&) = delete;
  ~child_signal() { ::sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

void take_all(int) {
  int const kept = errno;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
  errno = kept;
}

std::vector<std::string> shell(std::string const& command) { return {"/bin/sh", "-c", command}; }

bool no_child_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

/// The end of a command that is given much longer than it can take.
process_end end_of(std::string const& command, child_setup const& setup = {}) {
  child_process child{shell(command), setup};
  auto const end = child.wait_for(300s);
  REQUIRE(end);
  return *end;
}

}  // namespace

TEST_CASE("the end of a child says how it ended") {
  CHECK(end_of("exit 0").success());
  CHECK(end_of("exit 3").text() == "ended with exit code 3");
  CHECK(end_of("kill -SEGV $$").text() == "ended by signal 11 (Segmentation fault)");
  CHECK(no_child_left());
}

TEST_CASE("a child that the kernel or a handler reaps has ended, and how is not known") {
  auto const check = [] {
    auto const end = end_of("exit 3");
    CHECK_FALSE(end.known);
    CHECK_FALSE(end.success());
    CHECK_THAT(end.text(), contains("how is not known: this process ignores SIGCHLD"));
    child_process killed{shell("exec sleep 1000")};
    CHECK_FALSE(killed.wait_for(0.01s));
    killed.kill();
    CHECK(killed.wait_for(300s));
  };
  {
    child_signal const ignored{SIG_IGN, 0};
    check();
  }
  {
    child_signal const not_kept{[](int) {}, SA_NOCLDWAIT};
    check();
  }
  child_signal const takes_all{take_all, 0};
  child_process child{shell("exit 3")};
  auto const end = child.wait_for(300s);  // of the handler and this call, either may be first
  REQUIRE(end);
  CHECK((!end->known || end->code == 3));
  CHECK_FALSE(end->success());
}

TEST_CASE("a child does not inherit that signals are ignored or blocked") {
  ::sigset_t all{};
  ::sigset_t before{};
  ::sigfillset(&all);
  auto const handler = ::signal(SIGTERM, SIG_IGN);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto const end = end_of("kill -TERM $$");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  auto const limit_handler = ::signal(SIGXFSZ, SIG_IGN);
  CHECK(end_of("kill -XFSZ $$").text() == "ended by signal 25 (File size limit exceeded)");
  ::signal(SIGXFSZ, limit_handler);
  ::signal(SIGTERM, handler);
  CHECK(end.text() == "ended by signal 15 (Terminated)");
}

TEST_CASE("processes that a program leaves behind are counted and killed") {
  child_setup const adopts{.adopts = true};
  CHECK(end_of("sleep 1000 & exit 0", adopts).left_behind == 1);
  CHECK(end_of("sleep 1000 & sleep 1000 & exit 3", adopts).left_behind == 2);
  CHECK(end_of("setsid sh -c 'sleep 1000; true' & sleep 0.2", adopts).left_behind == 1);
  CHECK(end_of("(sleep 1000 &) ; exit 0", adopts).left_behind == 1);
  CHECK(no_child_left());
  CHECK(end_of("true & wait", adopts).left_behind == 0);
  CHECK(end_of("true | true", adopts).left_behind == 0);
  CHECK(end_of("exit 3", adopts).text() == "ended with exit code 3");
  CHECK(no_child_left());
  int still = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &still);
  CHECK(still == 0);
}

TEST_CASE("other children of this process are left alone") {
  child_process other{shell("exec sleep 1000")};
  CHECK(end_of("sleep 1000 & exit 0", {.adopts = true}).left_behind == 1);
  CHECK(end_of("true", {.adopts = true}).left_behind == 0);
  CHECK_FALSE(other.wait_for(0.001s));
  CHECK(::kill(other.pid(), 0) == 0);
}
