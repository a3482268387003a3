// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=address
// assay-grouped: no, since its static objects must begin first and end last
// assay-precompiled: no
/// @file
/// Comparisons before main, from two threads at once, in a forked child, and while the program
/// ends.
#include <assay/compare.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>

#include "catch.hpp"

using namespace assay;

namespace {

/// What went wrong in a comparison of factories with buffers, expectations and a declared amount of
/// work; empty where nothing did.
std::string trouble() {
  auto const copy = [](setup& make) {
    constexpr std::size_t n = 40'000;
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    make.moves(8.0 * n);
    make.expect(y, [x](std::size_t i) { return x.seeded(i); });
    return [x, y] {
      for (std::size_t i = 0; i < n; ++i) { y.data()[i] = x.data()[i]; }
    };
  };
  auto const found = compare("a", copy, "b", copy, options{.max_epochs = 8, .max_seconds = 0.1});
  if (!found.failure.empty()) { return found.failure; }
  if (found.ceilings.size() != 1 || !found.ceilings[0].name.starts_with("host memcpy")) {
    return "the ceiling of the host is lost";
  }
  return found.where.compiler.empty() ? "no compiler" : "";
}

std::string const before_main = trouble();

struct at_exit {
  ~at_exit() {
    auto const why = trouble();
    if (why.empty()) { return; }
    std::fprintf(stderr, "in a destructor of a static object: %s\n", why.c_str());
    ::_exit(9);
  }
} const last;

}  // namespace

TEST_CASE("a comparison before main has its verdict") {
  (void)last;
  CHECK(before_main == "");
}

TEST_CASE("two threads compare at the same time") {
  std::string one = "did not run";
  std::string other = one;
  std::thread first{[&] { one = trouble(); }};
  std::thread second{[&] { other = trouble(); }};
  first.join();
  second.join();
  CHECK(one == "");
  CHECK(other == "");
}

TEST_CASE("a forked child compares") {
  auto const child = ::fork();
  if (child == 0) { ::_exit(trouble().empty() ? 0 : 9); }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
