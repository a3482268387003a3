// SPDX-License-Identifier: Apache-2.0
/// @file
/// Code of the caller that does not end, or crashes: `verify` names it and ends the process.

#include "catch.hpp"

#include <assay/verify.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::contains;

namespace {

/// Code of the caller, in the order in which a verification runs it.
enum class code { where, progress, factory, call, values, reference, judge, destructor };

/// y = 2 x. One piece of code of the caller calls `stop` at sizes from 5 on.
void verify_with(code at, double max_call_seconds, std::function<void()> const& stop) {
  auto const reach = [&](code here, std::size_t n) {
    if (here == at && n >= 5) { stop(); }
  };
  verify_options chosen{.max_call_seconds = max_call_seconds};
  chosen.only = sizes{}.at_least(1).at_most(7).where([&](std::size_t n) {
    reach(code::where, n);
    return true;
  });
  chosen.progress = [&](std::string const& words) {
    if (words.starts_with("size 5,")) { reach(code::progress, 5); }
  };
  (void)verify(
      [&](setup& make, std::size_t n) {
        auto const x = make.random<float>(n);
        auto const y = make.output<float>(n), z = make.output<float>(n);
        reach(code::factory, n);
        auto const right = [=, &reach](std::size_t i) {
          reach(code::values, n);
          return 2.0 * x.seeded(i);
        };
        make.expect_from(
            y,
            [=, &reach](float* out) {
              reach(code::reference, n);
              for (std::size_t i = 0; i < n; ++i) { out[i] = 2 * x.data()[i]; }
            },
            right);
        make.expect_that(z, [=, &reach](std::span<float const>) -> std::optional<std::string> {
          reach(code::judge, n);
          return {};
        });
        std::shared_ptr<void> const end{nullptr,
                                        [=, &reach](void*) { reach(code::destructor, n); }};
        return [=, &reach] {
          reach(code::call, n);
          for (std::size_t i = 0; i < n; ++i) { z.data()[i] = y.data()[i] = 2 * x.data()[i]; }
          (void)end;
        };
      },
      chosen);
}

/// The same in a process of its own.
class child {
 public:
  child(code at, double max_call_seconds, std::function<void()> const& stop) {
    REQUIRE(pipe(ends_.data()) == 0);
    id_ = fork();
    REQUIRE(id_ >= 0);
    if (id_ == 0) {
      dup2(ends_[1], STDERR_FILENO);
      for (int const each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) { (void)signal(each, SIG_DFL); }
      alarm(60);  // ends what nothing else ends
      verify_with(at, max_call_seconds, stop);
      std::_Exit(0);
    }
    close(ends_[1]);
  }

  /// What it prints as errors, and how it ends.
  std::pair<std::string, int> ended() const {
    std::string told;
    std::array<char, 256> part{};
    for (ssize_t n = 0; (n = read(ends_[0], part.data(), part.size())) > 0;) {
      told.append(part.data(), static_cast<std::size_t>(n));
    }
    close(ends_[0]);
    int status = 0;
    REQUIRE(waitpid(id_, &status, 0) == id_);
    return {told, status};
  }

 private:
  std::array<int, 2> ends_{};
  pid_t id_ = -1;
};

std::array<std::pair<code, char const*>, 8> const all_code{
    {{code::where, "size 5: a function of sizes::where"},
     {code::progress, "size 5: the function progress"},
     {code::factory, "n = 5, zeros: the factory"},
     {code::call, "n = 5, zeros: a call"},
     {code::values, "n = 5, zeros: a function of expect, expect_from or expect_that"},
     {code::reference, "n = 5, zeros: a function of expect, expect_from or expect_that"},
     {code::judge, "n = 5, zeros: a function of expect, expect_from or expect_that"},
     {code::destructor, "n = 5, zeros: the end of the factory's work"}}};

/// The end of a message. A rule of sizes and progress run before a case is chosen.
std::string repeat_of(code at) {
  bool const has_case = at != code::where && at != code::progress;
  return has_case ? "; repeat with assay::verify(..., {.seed = 1, .only = {5}})\n" : "\n";
}

}  // namespace

TEST_CASE("code of the caller that does not end is named, and ends the process", "[verify]") {
  // All at once: each waits for its limit. A busy machine delays what ends by less.
  std::vector<child> children;
  for (auto const& [at, name] : all_code) {
    children.emplace_back(at, 2, [] {
      for (;;) { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
    });
  }
  for (std::size_t i = 0; i < all_code.size(); ++i) {
    auto const [told, status] = children[i].ended();
    INFO(told);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE));
    CHECK_THAT(told, contains(std::string{"assay::verify: "} + all_code[i].second +
                              " did not end within 2 s; later cases did not run; "
                              ".max_call_seconds allows it more" +
                              repeat_of(all_code[i].first)));
  }
}

TEST_CASE("code of the caller that crashes is named", "[verify]") {
  for (auto const& [at, name] : all_code) {
    auto const [told, status] = child{
        at, 600, [] {
          float volatile* nowhere = nullptr;
          *nowhere = 1;
        }}.ended();
    INFO(told);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
    CHECK_THAT(told, contains(std::string{"assay::verify: "} + name +
                              " crashed; later cases did not run" + repeat_of(at)));
  }
}

TEST_CASE("code of the caller that ends is not called a hang", "[verify]") {
  auto const [told, status] = child{code::call, 600, [] {}}.ended();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(told.empty());
}
