// SPDX-License-Identifier: Apache-2.0
// A program of three ranks that one process stands for: ranks are its children, and rank 0 has the
// socket of the test. Times are computed from the rank.
#include "catch.hpp"
#include "support/rank_processes.hpp"

#include <assay/serve/ranks.hpp>
#include <assay/serve/remote_subject.hpp>

#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;
namespace served = assay::measure::served;

namespace {

/// Takes longer on higher ranks; wrong in buffer set 1 of rank 2.
class by_rank final : public measure::subject {
 public:
  explicit by_rank(int rank) : rank_(rank) {}
  void warm(int, int launches) override {
    if (launches == 13 && rank_ == 1) { throw std::runtime_error("no 13 launches"); }
  }
  measure::cell time(int, int) override {
    measure::cell made;
    made[measure::clock::wall] = 1e-3 * (1 + rank_);
    return made;
  }
  std::optional<std::string> verify(int set) override {
    if (set == 1 && rank_ == 2) { return "y[0] is 1 and should be 2"; }
    return {};
  }

 private:
  int rank_;
};

std::vector<served_case> cases(int rank) {
  measure::variant work;
  work.build = [rank](measure::epoch const&) { return std::make_unique<by_rank>(rank); };
  return {{"sum", work}};
}

/// What each rank returns, and last the replies to requests as assay_compare sends them to rank 0.
std::vector<std::string> driven(int ranks, std::vector<served::words> const& requests,
                                std::function<int(world const&)> const& serving) {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  benchmark::reserved_port const port;
  auto told = benchmark::run_ranks(ranks + 1, [&](int rank) {
    if (rank == ranks) {
      ::close(ends[1]);
      served::channel with{ends[0]};
      std::string text;
      served::words got;
      (void)with.receive(got);
      for (auto const& asked : requests) {
        (void)with.send(asked);
        if (with.receive(got) != served::channel::receipt::message) { break; }
        text += served::encode(got);
      }
      ::shutdown(ends[0], SHUT_RDWR);  // the process of this test has the socket too
      return text;
    }
    ::close(ends[0]);
    if (rank == 0) {
      ::setenv(served::descriptor_variable, std::to_string(ends[1]).c_str(), 1);
    } else {
      ::close(ends[1]);
    }
    return std::to_string(serving(
        world::meet({.rank = rank, .ranks = ranks, .host = "127.0.0.1", .port = port.number()})));
  });
  ::close(ends[0]);
  ::close(ends[1]);
  return told;
}

}  // namespace

TEST_CASE("a program of several ranks is served by rank 0") {
  auto const said =
      driven(3,
             {{"cases"},
              {"build", "sum", "0", "1", "0", ""},
              {"time", "0", "2"},
              {"warm", "0", "13"},
              {"verify", "0"},
              {"verify", "1"}},
             [](world const& all) { return serve(all, 0, nullptr, cases(all.rank())); });
  CHECK(said[3] ==
        "ok sum wall\nok 0 0 none\nok 0.003 nan nan nan \\e\n"
        "error rank\\s1:\\sno\\s13\\slaunches\nok\n"
        "wrong rank\\s2:\\sy[0]\\sis\\s1\\sand\\sshould\\sbe\\s2\n");
  CHECK(std::vector<std::string>(said.begin(), said.begin() + 3) ==
        std::vector<std::string>(3, "0"));
}

TEST_CASE("served ranks take the slowest on the clock that decides, and no two have one GPU") {
  /// Rank 0 is the slowest by wall, rank 1 by gpu.
  struct two_clocks final : measure::subject {
    two_clocks(int rank, std::string gpu) : rank_(rank), gpu_(std::move(gpu)) {}
    void warm(int, int) override {}
    measure::cell time(int, int) override {
      measure::cell made;
      made[measure::clock::wall] = rank_ == 0 ? 5 : 1;
      made[measure::clock::gpu] = rank_ == 0 ? 1 : 3;
      made.launches = {10.0 * (rank_ + 1)};
      return made;
    }
    std::optional<std::string> verify(int) override { return {}; }
    std::string gpu() const override { return gpu_; }
    int rank_;
    std::string gpu_;
  };
  auto const said = [](bool one_gpu, bool allowed) {
    return driven(2, {{"build", "sum", "0", "1", "0", ""}, {"time", "0", "1"}},
                  [=](world const& all) {
                    auto const gpu = "GPU-" + std::to_string(one_gpu ? 0 : all.rank());
                    measure::variant work;
                    work.build = [rank = all.rank(), gpu](measure::epoch const&) {
                      return std::make_unique<two_clocks>(rank, gpu);
                    };
                    return serve(all, 0, nullptr, {{"sum", work, measure::clock::gpu}}, allowed);
                  });
  };
  for (auto const& right : {said(false, false), said(true, true)}) {
    CHECK(right[2] == "ok 0 0 none\nok 5 3 nan nan \\e 20\n");
    CHECK(right[0] == "0");
    CHECK(right[1] == "0");
  }
  auto const refused = said(true, false);
  CHECK_THAT(refused[0], contains("ranks 0 and 1 have one GPU, GPU-0"));
  CHECK(refused[0] == refused[1]);
  CHECK_THAT(refused[2], contains("ranks\\s0\\sand\\s1\\shave\\sone\\sGPU"));
}

TEST_CASE("a program of several ranks runs one case alone") {
  benchmark::reserved_port const port;
  auto const said = benchmark::run_ranks(2, [&](int rank) {
    auto const all =
        world::meet({.rank = rank, .ranks = 2, .host = "127.0.0.1", .port = port.number()});
    char const* const words[] = {"program", "--case", "sum"};
    return std::to_string(serve(all, 3, words, cases(rank + 1)));
  });
  CHECK(said == std::vector<std::string>(2, "1"));  // rank 1 has a wrong result
}
