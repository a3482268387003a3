// SPDX-License-Identifier: Apache-2.0
// Ranks are processes of this machine; no step waits for a time, but for other processes.
#include "catch.hpp"
#include "support/world_faults.hpp"
#include "world/exchange.hpp"

#include <assay/world/world.hpp>

#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::check_exchange;
using assay::test::contains;
using assay::test::exchange;
using assay::test::message_of;

namespace {

membership from(std::map<std::string, std::string> const& variables) {
  return detail::membership_from([&](char const* name) -> char const* {
    auto const found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("ranks exchange bytes over connections", "[world]") {
  for (int const ranks : {2, 3, 8}) {
    benchmark::reserved_port const port;
    benchmark::job const at{.ranks = ranks, .port = port.number()};
    check_exchange(benchmark::run_ranks(
        ranks, [&](int rank) { return exchange(world::meet(at.of(rank)), ranks == 3 ? 5 : 3); }));
  }
}

TEST_CASE("sixty-four ranks meet", "[world]") {
  benchmark::reserved_port const port;
  benchmark::job const at{.ranks = 64, .port = port.number()};
  check_exchange(
      benchmark::run_ranks(64, [&](int rank) { return exchange(world::meet(at.of(rank)), 3); }));
}

TEST_CASE("a barrier ends after all ranks have come", "[world]") {
  benchmark::reserved_port const port;
  benchmark::job const at{.ranks = 3, .port = port.number()};
  benchmark::gate about, came;
  auto const said = benchmark::run_ranks(3, [&](int rank) {
    auto const all = world::meet(at.of(rank));
    for (int round = 0; round < 100; ++round) {
      if (rank == 1) { about.open_once(); }
      if (rank == 2) {  // comes after rank 1, and says so before
        about.wait();
        came.open_once();
      }
      all.barrier();
      if (rank != 1) { continue; }
      std::vector<::pollfd> asked{{came.descriptor(), POLLIN, 0}};
      if (!detail::ready_before(asked, {})) {
        return "too early in round " + std::to_string(round);
      }
      came.wait();
    }
    return std::string{"passed"};
  });
  CHECK(said == std::vector<std::string>(3, "passed"));
}

TEST_CASE("one rank alone needs nobody", "[world]") {
  CHECK(exchange(world::alone(), 4) == "rank 0 of 1, local 0");
  CHECK(exchange(world::meet({}), 4) == "rank 0 of 1, local 0");
  auto const all = world::alone();
  all.abandon("no memory");
  CHECK_THAT(message_of([&] { all.barrier(); }), contains("rank 0: no memory"));
}

TEST_CASE("ranks meet at an IPv6 address and by a name", "[world]") {
  for (auto const* const host : {"::1", "localhost"}) {
    benchmark::reserved_port const port;
    if (message_of([&] { (void)detail::listen_at(host, port.number()); }) != "nothing was thrown") {
      continue;  // a machine without that address
    }
    benchmark::job const at{.ranks = 3, .port = port.number()};
    check_exchange(benchmark::run_ranks(3, [&](int rank) {
      auto of = at.of(rank);
      of.host = host;
      return exchange(world::meet(of), 2);
    }));
  }
}

TEST_CASE("a world over a function of the caller", "[world]") {
  constexpr int ranks = 4;
  std::vector<std::string> shared(ranks), said(ranks), failed(ranks);
  std::barrier<> together{ranks};
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto const i = static_cast<std::size_t>(rank);
      auto const all = world::over(rank, ranks, rank, [&, i](std::string_view own) {
        shared[i] = own;
        together.arrive_and_wait();
        auto got = shared;
        together.arrive_and_wait();
        return got;
      });
      said[i] = exchange(all, 4);
      if (rank == 2) { all.abandon("no memory"); }
      for (int again = 0; again < 2; ++again) {  // and every later call throws the same
        failed[i] = message_of([&] { all.barrier(); });
      }
    });
  }
  threads.clear();
  check_exchange(said);
  CHECK(failed == std::vector<std::string>(ranks, "rank 2: no memory"));
  auto const short_one =
      world::over(0, 2, 0, [](std::string_view) { return std::vector<std::string>{"."}; });
  CHECK_THAT(message_of([&] { short_one.barrier(); }), contains("of 2 ranks returned 1 texts"));
}

TEST_CASE("all ranks end with the same words after a fault", "[world]") {
  for (auto const& fault : benchmark::all_faults()) {
    for (auto const& [ranks, victim] : {std::pair{2, 1}, {4, 2}, {4, 0}}) {
      if (victim == 0 && !fault.by_rank_0) { continue; }
      benchmark::reserved_port const port;
      CHECK(complaint(fault, {.ranks = ranks, .victim = victim, .port = port.number()}) == "");
    }
  }
}

TEST_CASE("a rank that does not come is named to those who came", "[world]") {
  benchmark::reserved_port const port;
  benchmark::job const at{.ranks = 3, .port = port.number()};
  auto const said = benchmark::run_ranks(
      2, [&](int rank) { return benchmark::call_on(world::meet(at.of(rank, 0.5))); });
  // Rank 1 may come late on a busy machine. Then it is missing too, and finds nobody.
  CHECK_THAT(said[0], contains("2 of 3 did not come to 127.0.0.1:") && contains("within 0.5 s"));
  CHECK((said[0] == said[1] || said[1].starts_with("rank 1 found no rank 0 at 127.0.0.1:")));
}

TEST_CASE("strangers at the door hold nobody up", "[world]") {
  benchmark::reserved_port const port;
  benchmark::job const at{.ranks = 3, .port = port.number()};
  benchmark::gate strangers;
  auto const said = benchmark::run_ranks(4, [&](int rank) {
    if (rank < 3) {
      if (rank != 0) { strangers.wait(); }
      return exchange(world::meet(at.of(rank)), 2);
    }
    auto const until = detail::after(std::chrono::seconds{40});
    std::vector<std::unique_ptr<detail::connection>> silent;
    for (auto const& line :
         {std::string{}, std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string(100'000, 'x'),
          std::string{"assay-world\n"}, std::string{"assay-world 1 1 3"},
          std::string{"assay-world 1 1 3 stolen\n"}}) {
      std::unique_ptr<detail::connection> to;
      while (!to) { to = detail::connect_to("127.0.0.1", at.port, until); }
      (void)to->send(line, until);
      if (line.ends_with('\n') || line.size() > 1000) {  // rank 0 sees at once that it is no rank
        while (to->receive([](detail::connection& by) { return by.take_line(); }, until)) {}
        if (to->was_late()) { return std::string{"not sent away: "} + line.substr(0, 40); }
      }
      silent.push_back(std::move(to));
    }
    strangers.open_once();
    strangers.open_once();
    while (silent[0]->receive([](detail::connection& by) { return by.take_line(); }, until)) {}
    return std::string{"sent away"};
  });
  CHECK(said[3] == "sent away");
  check_exchange({said.begin(), said.begin() + 3});
}

TEST_CASE("a rank finds no rank 0, or none that speaks", "[world]") {
  benchmark::reserved_port const port;
  membership of{.rank = 1, .ranks = 2, .host = "127.0.0.1", .port = port.number()};
  of.limit = std::chrono::milliseconds{30};
  CHECK_THAT(message_of([&] { (void)world::meet(of); }),
             contains("rank 1 found no rank 0 at 127.0.0.1:") &&
                 contains("within 0.03 s: nothing listens there"));
  auto const silent = detail::listen_at(of.host, of.port);
  CHECK_THAT(message_of([&] { (void)world::meet(of); }), contains("is taken by another job"));
  of.host = "no-such-host.invalid";
  CHECK_THAT(message_of([&] { (void)world::meet(of); }), contains("no-such-host.invalid: "));
  of.rank = 0;
  CHECK_THAT(message_of([&] { (void)world::meet(of); }),
             contains("rank 0 cannot listen at no-such-host.invalid:") &&
                 contains("name its host, and a free port there, by ASSAY_RENDEZVOUS"));
}

TEST_CASE("a membership that cannot be", "[world]") {
  CHECK_THAT(message_of([] { (void)world::meet({.rank = 2, .ranks = 2}); }),
             contains("rank 2 of 2 ranks"));
  CHECK_THAT(message_of([] { (void)world::over(0, 0, 0, {}); }), contains("rank 0 of 0 ranks"));
  CHECK_THAT(message_of([] { (void)world::meet({.limit = std::chrono::seconds{0}}); }),
             contains("the limit of a world is 0"));
  for (int const port : {-1, 0, 65536, 70000}) {
    CHECK_THAT(message_of([&] {
                 world::meet({.rank = 1, .ranks = 2, .host = "localhost", .port = port});
               }),
               contains("rank 0 of 2 ranks at 'localhost:" + std::to_string(port) +
                        "': name its host, and a port from 1 to 65535"));
  }
  CHECK_THAT(message_of([] { (void)world::meet({.rank = 1, .ranks = 2, .port = 29400}); }),
             contains("at ':29400': name its host"));
  CHECK_THAT(message_of([] { (void)world::meet({.token = "a\nb"}); }), contains("a line break"));
}

TEST_CASE("the variables of each launcher", "[world]") {
  auto const is = [](membership const& got, int rank, int ranks, int local, std::string_view host,
                     int port, std::string_view token) {
    return got.rank == rank && got.ranks == ranks && got.local_rank == local && got.host == host &&
           got.port == port && got.token == token;
  };
  CHECK(is(from({}), 0, 1, 0, "", 0, ""));
  CHECK(is(from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), 0, 1, 0, "", 0, ""));  // a script
  std::map<std::string, std::string> torchrun{{"RANK", "3"},
                                              {"WORLD_SIZE", "4"},
                                              {"LOCAL_RANK", "1"},
                                              {"MASTER_ADDR", "node7"},
                                              {"MASTER_PORT", "29500"},
                                              {"TORCHELASTIC_RUN_ID", "none"}};
  CHECK(is(from(torchrun), 3, 4, 1, "node7", 30500, "none."));
  torchrun["MASTER_PORT"] = "65000";
  torchrun["ASSAY_TOKEN"] = "mine";
  CHECK(is(from(torchrun), 3, 4, 1, "node7", 64000, "mine"));
  torchrun["ASSAY_RENDEZVOUS"] = "[fe80::1]:7000";
  CHECK(is(from(torchrun), 3, 4, 1, "fe80::1", 7000, "mine"));

  std::map<std::string, std::string> slurm{{"SLURM_PROCID", "5"},
                                           {"SLURM_STEP_NUM_TASKS", "8"},
                                           {"SLURM_LOCALID", "1"},
                                           {"SLURM_JOB_ID", "77"},
                                           {"SLURM_STEP_ID", "0"},
                                           {"PMI_RANK", "5"},
                                           {"ASSAY_RENDEZVOUS", "node1:7000"}};
  CHECK(is(from(slurm), 5, 8, 1, "node1", 7000, "77.0."));
  slurm["OMPI_COMM_WORLD_RANK"] = "1";
  slurm["OMPI_COMM_WORLD_SIZE"] = "2";
  slurm["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  slurm["PMIX_NAMESPACE"] = "prterun-1";
  CHECK(is(from(slurm), 1, 2, 0, "node1", 7000, "prterun-1."));
  CHECK(is(from({{"PMI_RANK", "1"},
                 {"PMI_SIZE", "2"},
                 {"MPI_LOCALRANKID", "1"},
                 {"ASSAY_RENDEZVOUS", "localhost:7000"}}),
           1, 2, 1, "localhost", 7000, ""));
  CHECK(is(from({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MPI_LOCALRANKID", "0"}}), 0, 1, 0, "", 0,
           ""));
}

TEST_CASE("ranks meet by the variables that each launcher sets", "[world]") {
  using variables = std::map<std::string, std::string>;
  for (auto const* const launcher : {"torchrun", "Open MPI", "MPICH", "Slurm"}) {
    INFO(launcher);
    benchmark::reserved_port const port;
    std::string const which = launcher;
    auto const of = [&](int number) -> variables {
      auto const rank = std::to_string(number);
      if (which == "torchrun") {
        return {{"RANK", rank},
                {"WORLD_SIZE", "3"},
                {"LOCAL_RANK", rank},
                {"MASTER_ADDR", "127.0.0.1"},
                {"MASTER_PORT", std::to_string(port.number() - 1000)},
                {"TORCHELASTIC_RUN_ID", "none"}};
      }
      variables all{{"ASSAY_RENDEZVOUS", "127.0.0.1:" + std::to_string(port.number())}};
      if (which == "Open MPI") {
        all.merge(variables{{"OMPI_COMM_WORLD_RANK", rank},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
                            {"PMIX_NAMESPACE", "1192820737"}});
      } else if (which == "MPICH") {
        all.merge(variables{{"PMI_RANK", rank}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", rank}});
      } else {
        all.merge(variables{{"SLURM_PROCID", rank},
                            {"SLURM_STEP_NUM_TASKS", "3"},
                            {"SLURM_LOCALID", rank},
                            {"SLURM_JOB_ID", "77"},
                            {"SLURM_STEP_ID", "0"},
                            {"PMI_RANK", rank}});
      }
      return all;
    };
    check_exchange(benchmark::run_ranks(3, [&](int rank) {
      ::clearenv();  // the tests may run under a launcher themselves
      for (auto const& [name, value] : of(rank)) { ::setenv(name.c_str(), value.c_str(), 1); }
      return exchange(world::from_environment(std::chrono::seconds{60}), 2);
    }));
  }
}

TEST_CASE("variables that are missing or wrong are named", "[world]") {
  std::map<std::string, std::string> const right{{"RANK", "1"},
                                                 {"WORLD_SIZE", "2"},
                                                 {"LOCAL_RANK", "1"},
                                                 {"MASTER_ADDR", "node7"},
                                                 {"MASTER_PORT", "29500"}};
  REQUIRE(from(right).rank == 1);
  for (auto const& [name, value] : right) {
    auto without = right;
    without.erase(name);
    INFO(name);
    CHECK_THAT(message_of([&] { (void)from(without); }),
               contains(name + " is not set, and other variables of torchrun are"));
  }
  for (auto const& [name, value, says] :
       {std::array{"RANK", "2", "RANK=2: it must be a number from 0 to 1, as WORLD_SIZE=2"},
        std::array{"RANK", "-1", "RANK=-1: it must be"},
        std::array{"RANK", "", "RANK is empty, and other"},
        std::array{"WORLD_SIZE", "0", "WORLD_SIZE=0: it must be a number from 1"},
        std::array{"MASTER_ADDR", "", "MASTER_ADDR is empty, and other variables of torchrun are"},
        std::array{"LOCAL_RANK", "2", "from 0 to 1, as WORLD_SIZE=2"},
        std::array{"LOCAL_RANK", "1x", "LOCAL_RANK=1x: it must be"},
        std::array{"MASTER_PORT", "70000", "MASTER_PORT=70000: it must be"},
        std::array{"ASSAY_RENDEZVOUS", "node7", "ASSAY_RENDEZVOUS=node7: write host:port"},
        std::array{"ASSAY_RENDEZVOUS", "::1:80", "write host:port, or [address]:port for IPv6"},
        std::array{"ASSAY_RENDEZVOUS", ":80", "write host:port"},
        std::array{"ASSAY_RENDEZVOUS", "node7:x",
                   "the port of ASSAY_RENDEZVOUS=x: it must be a number"}}) {
    auto wrong = right;
    wrong[name] = value;
    CHECK_THAT(message_of([&] { (void)from(wrong); }), contains(says));
  }
  CHECK_THAT(message_of([] { (void)from({{"ASSAY_RENDEZVOUS", "node7:80"}}); }),
             contains("set RANK, WORLD_SIZE and LOCAL_RANK"));
  CHECK_THAT(
      message_of([] {
        (void)from({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}});
      }),
      contains("ASSAY_RENDEZVOUS is not set: under Slurm"));
}
