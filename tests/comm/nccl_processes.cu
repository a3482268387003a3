// SPDX-License-Identifier: Apache-2.0
// assay-uses: nccl
// Ranks in processes of their own. On one GPU a rank alone, else two ranks.
#include "catch.hpp"
#include "folder.hpp"
#include "support/rank_processes.hpp"

#include <assay/core/child_process.hpp>
#include <assay/core/device.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;

namespace {

/// What each rank of a job prints.
std::vector<std::string> run(std::string const& what, int ranks, std::string const& set = {}) {
  auto const program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "nccl_rank_program";
  test::folder const here;
  benchmark::reserved_port const port;
  std::vector<std::unique_ptr<child_process>> running;
  for (int rank = 0; rank < ranks; ++rank) {
    auto const number = std::to_string(rank);
    auto const command =
        set + "RANK=" + number + " LOCAL_RANK=" + number + " WORLD_SIZE=" + std::to_string(ranks) +
        " ASSAY_RENDEZVOUS=127.0.0.1:" + std::to_string(port.number()) + " exec '" +
        program.string() + "' " + what + " > '" + (here / number).string() + "'";
    running.push_back(
        std::make_unique<child_process>(std::vector<std::string>{"/bin/sh", "-c", command}));
  }
  std::vector<std::string> said;
  for (int rank = 0; rank < ranks; ++rank) {
    auto const end = running[static_cast<std::size_t>(rank)]->wait_for(std::chrono::seconds{120});
    said.push_back(!end             ? "(hung)"
                   : end->by_signal ? "(killed)"
                                    : test::content(here / std::to_string(rank)));
  }
  return said;
}

}  // namespace

TEST_CASE("ranks in processes reduce every type", "[comm]") {
  auto const ranks = std::min(device_count(), 2);
  CHECK(run("types", ranks) ==
        std::vector<std::string>(static_cast<std::size_t>(ranks), "0 wrong\n"));
}

TEST_CASE("parts of a communicator, and parts of parts", "[comm]") {
  auto const ranks = std::min(device_count(), 2);
  CHECK(run("split", ranks) ==
        std::vector<std::string>(static_cast<std::size_t>(ranks), "0 wrong\n"));
}

TEST_CASE("two processes with one GPU are named by both", "[comm]") {
  auto const said = run("one_gpu", 2);
  CHECK(said[0] == said[1]);
  CHECK_THAT(said[0], contains("ranks 0 and 1 have one GPU, "));
}

TEST_CASE("a rank that stays away ends the others at the limit", "[comm]") {
  auto const never = run("never_joins", 2);
  CHECK(never[0] == never[1]);
  CHECK_THAT(never[0], contains("ncclCommInitRankConfig did not end within 5 s on rank 0"));
  if (device_count() < 2) { return; }
  auto const missing = run("missing", 2);
  CHECK(missing[0] == missing[1]);
  CHECK_THAT(missing[0], contains("the stream did not end within 5 s on rank 0"));
  auto const killed = run("killed", 2);
  CHECK(killed[1] == "(killed)");
  CHECK_THAT(killed[0], contains("on rank 0"));
}

TEST_CASE("one verdict over NCCL, with and without its barrier", "[comm]") {
  auto const ranks = std::min(device_count(), 2);
  auto const said = run("compares", ranks);
  for (auto const& each : said) { CHECK(each == said[0]); }
  CHECK(std::count(said[0].begin(), said[0].end(), '|') == 8);
  auto const wrong = run("wrong", ranks);
  for (auto const& each : wrong) { CHECK(each == wrong[0]); }
  auto const name = "rank " + std::to_string(ranks - 1) + ": ";
  CHECK_THAT(wrong[0], contains("WRONG ANSWER") && contains(name));
  auto const throws = run("throws", ranks);
  for (auto const& each : throws) { CHECK(each == throws[0]); }
  CHECK_THAT(throws[0], contains("UNPROVEN") && contains(name + "no more room"));
}

TEST_CASE("two ranks with one GPU compare only where that is allowed", "[comm]") {
  auto const said = run("one_gpu_compared", 2);
  CHECK(said[0] == said[1]);
  CHECK_THAT(said[0],
             contains("ranks 0 and 1 have one GPU, ") && contains("; ranks_share_gpus allows it"));
  auto const shared = run("one_gpu_compared", 2, "SHARED=1 ");
  CHECK(shared[0] == shared[1]);
  CHECK_THAT(shared[0], !contains("have one GPU"));
}
