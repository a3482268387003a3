// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/comm/process_rank.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

using variables = std::map<std::string, std::string>;

std::optional<comm::process_rank> found_in(variables const& all) {
  return comm::find_process_rank([&](char const* name) -> std::optional<std::string> {
    auto const at = all.find(name);
    if (at == all.end()) { return std::nullopt; }
    return at->second;
  });
}

variables with(variables all, variables const& more) {
  for (auto const& [name, value] : more) { all[name] = value; }
  return all;
}

variables const torchrun{{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "10.0.0.7"},
                         {"MASTER_PORT", "29400"}};
variables const open_mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
variables const slurm{{"SLURM_PROCID", "9"},
                      {"SLURM_STEP_NUM_TASKS", "16"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_JOB_ID", "12345678"},
                      {"SLURM_STEP_NODELIST", "gpu[003-004],login"}};

}  // namespace

TEST_CASE("a process that nobody launched is no rank", "[comm]") {
  CHECK_FALSE(found_in({}));
  CHECK_FALSE(found_in({{"RANK", "0"}}));
  CHECK_FALSE(found_in({{"MASTER_ADDR", "10.0.0.7"}, {"NCCL_COMM_ID", "a:1"}}));
}

TEST_CASE("torchrun's ranks meet at the port above its store's", "[comm]") {
  auto const found = found_in(torchrun);
  REQUIRE(found);
  CHECK(*found == comm::process_rank{5, 8, 1, "10.0.0.7:29401", "torchrun"});
  auto no_port = torchrun;
  no_port.erase("MASTER_PORT");
  CHECK(found_in(no_port)->meeting == "10.0.0.7:29501");
  CHECK(found_in(with(torchrun, {{"MASTER_ADDR", "fe80::1"}}))->meeting == "[fe80::1]:29401");
  CHECK(found_in(with(torchrun, {{"MASTER_ADDR", "[fe80::1]"}}))->meeting == "[fe80::1]:29401");
  CHECK(found_in(with(torchrun, {{"NCCL_COMM_ID", "head:4000"}}))->meeting == "head:4000");
}

TEST_CASE("MPI's ranks of one machine meet on its loopback, others where they are told", "[comm]") {
  auto const found = found_in(open_mpi);
  REQUIRE(found);
  CHECK(*found == comm::process_rank{1, 2, 1, "127.0.0.1:20000", "Open MPI"});
  auto const far = with(open_mpi, {{"OMPI_COMM_WORLD_SIZE", "4"}});
  CHECK_THAT(message_of([&] { (void)found_in(far); }),
             contains("Open MPI started rank 1 of 4") && contains("NCCL_COMM_ID=host:port"));
  CHECK(found_in(with(far, {{"MASTER_ADDR", "head"}, {"MASTER_PORT", "7000"}}))->meeting ==
        "head:7001");

  variables const pmi{{"PMI_RANK", "3"},
                      {"PMI_SIZE", "4"},
                      {"MPI_LOCALRANKID", "1"},
                      {"MPI_LOCALNRANKS", "2"},
                      {"NCCL_COMM_ID", "[::1]:5"}};
  CHECK(*found_in(pmi) == comm::process_rank{3, 4, 1, "[::1]:5", "MPI with PMI"});
}

TEST_CASE("Slurm's ranks meet at its first machine, each job at a port of its own", "[comm]") {
  auto const found = found_in(slurm);
  REQUIRE(found);
  CHECK(*found == comm::process_rank{9, 16, 1, "gpu003:25678", "Slurm"});
  auto const mpirun_inside = with(slurm, open_mpi);
  CHECK(found_in(mpirun_inside)->launcher == "Open MPI");
  CHECK(found_in(mpirun_inside)->rank == 1);
  CHECK(found_in(mpirun_inside)->meeting == "127.0.0.1:25678");

  CHECK(comm::first_host("one") == "one");
  CHECK(comm::first_host("one,two[3-4]") == "one");
  CHECK(comm::first_host("n[7,9-12]") == "n7");
  CHECK(comm::first_host("rack[01-02]-gpu,other") == "rack01-gpu");
  CHECK_THROWS_AS(comm::first_host("rack[01-"), std::invalid_argument);
}

TEST_CASE("srun tells local ranks also of MPI's programs; a batch script is no rank", "[comm]") {
  auto const started = with(slurm, {{"PMI_RANK", "9"}, {"PMI_SIZE", "16"}});
  REQUIRE(found_in(started));
  CHECK(*found_in(started) == comm::process_rank{9, 16, 1, "gpu003:25678", "MPI with PMI"});
  auto script = slurm;
  script.erase("SLURM_STEP_NUM_TASKS");
  script["SLURM_NTASKS"] = "16";
  CHECK_FALSE(found_in(script));
}

TEST_CASE("without a local rank it is the rank itself", "[comm]") {
  auto alone = torchrun;
  alone.erase("LOCAL_RANK");
  CHECK(found_in(alone)->local_rank == 5);
}

TEST_CASE("variables that make no sense are refused by name", "[comm]") {
  for (auto const& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"RANK", "8"},
                                                        {"RANK", "-1"},
                                                        {"WORLD_SIZE", "0"},
                                                        {"WORLD_SIZE", "two"},
                                                        {"LOCAL_RANK", "8"},
                                                        {"MASTER_PORT", "65535"},
                                                        {"MASTER_PORT", "29400x"}}) {
    auto const said =
        message_of([&, n = name, v = value] { (void)found_in(with(torchrun, {{n, v}})); });
    CHECK_THAT(said, contains(name + "='" + value + "'") && contains("whole number from"));
  }
}

TEST_CASE("an empty variable counts as one that is not set", "[comm]") {
  CHECK_FALSE(comm::environment_variable("ASSAY_NO_SUCH_VARIABLE"));
  REQUIRE(setenv("ASSAY_TEST_EMPTY", "", 1) == 0);
  CHECK_FALSE(comm::environment_variable("ASSAY_TEST_EMPTY"));
  REQUIRE(setenv("ASSAY_TEST_EMPTY", "x", 1) == 0);
  CHECK(comm::environment_variable("ASSAY_TEST_EMPTY") == "x");
}
