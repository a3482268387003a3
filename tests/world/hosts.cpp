// assay-grouped: no, since it may be skipped
// SPDX-License-Identifier: Apache-2.0
// Ranks on hosts with addresses of their own, which meet at an address that is not loopback.
#include "support/hosts.hpp"
#include "catch.hpp"
#include "support/relay.hpp"
#include "support/world_faults.hpp"
#include "world/exchange.hpp"

#include <assay/world/world.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::check_exchange;
using benchmark::hosts;

namespace {

constexpr int port = 29400;  // the networks are new, so it is free

/// What a function returns on a network of hosts, which ends with it: texts by rank.
std::vector<std::string> on_hosts(
    int count, std::function<std::vector<std::string>(hosts const&)> const& body) {
  auto const said = benchmark::run_ranks(1, [&](int) {
    hosts const network{count};
    std::string all;
    for (auto const& each : body(network)) { all += each + '\n'; }
    return all;
  });
  std::vector<std::string> texts;
  std::string_view left = said[0];
  for (auto end = left.find('\n'); end != left.npos; end = left.find('\n')) {
    texts.emplace_back(left.substr(0, end));
    left.remove_prefix(end + 1);
  }
  if (!left.empty()) { texts.emplace_back(left); }
  return texts;
}

/// Ends the program as skipped where this machine has no networks for it.
void require_networks() {
  static std::string const lacking = [] {
    auto const said = on_hosts(1, [](hosts const&) { return std::vector<std::string>{"usable"}; });
    return said.at(0) == "usable" ? "" : said.at(0);
  }();
  if (lacking.empty()) { return; }
  std::printf("skipped: this machine makes no hosts for tests: %s\n", lacking.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

/// Each rank on a host of its own; rank 0 on host 1.
benchmark::job job_on(hosts const& network, int ranks, bool six) {
  benchmark::job at{.ranks = ranks, .victim = ranks - 1, .port = port};
  at.host = hosts::address(1, six);
  at.begin = [&network](int rank) { network.go_to(rank + 1); };
  return at;
}

}  // namespace

TEST_CASE("ranks of several hosts exchange bytes over IPv4 and IPv6", "[world]") {
  require_networks();
  for (bool const six : {false, true}) {
    INFO(six);
    check_exchange(on_hosts(4, [six](hosts const& network) {
      auto const at = job_on(network, 4, six);
      return at.run([&](int rank) { return test::exchange(world::meet(at.of(rank)), 4); });
    }));
  }
}

TEST_CASE("ranks of several hosts end with the same words after a fault", "[world]") {
  require_networks();
  bool const six = GENERATE(false, true);
  CHECK(on_hosts(4, [six](hosts const& network) {
          std::vector<std::string> wrong;
          for (auto const& fault : benchmark::all_faults()) {
            for (auto const& [ranks, victim] : {std::pair{2, 1}, {4, 2}, {4, 0}}) {
              if (victim == 0 && !fault.by_rank_0) { continue; }
              auto at = job_on(network, ranks, six);
              at.victim = victim;
              if (fault.on_one_host) { network.go_to(1); }
              auto const why = complaint(fault, at);
              network.go_back();
              if (!why.empty()) { wrong.push_back(why); }
            }
          }
          wrong.emplace_back("end");
          return wrong;
        }) == std::vector<std::string>{"end"});
}

TEST_CASE("rank 0 listens at the address that it is named by, and at no other", "[world]") {
  require_networks();
  auto const said = on_hosts(2, [](hosts const& network) {
    auto const at = job_on(network, 2, false);
    return at.run([&](int rank) {
      if (rank == 0) { hosts::add_address("10.51.0.101/24"); }
      auto const until = detail::after(std::chrono::seconds{60});
      if (rank == 1) {  // rank 0 listens, so its other addresses could be reached
        while (!detail::connect_to(at.host, at.port, until)) {}
        for (auto const& other : {std::string{"10.51.0.101"}, hosts::address(1, true)}) {
          if (detail::connect_to(other, at.port, until)) { return "reached at " + other; }
        }
      }
      return test::exchange(world::meet(at.of(rank)), 1);
    });
  });
  check_exchange(said);
}

TEST_CASE("ranks meet at an address that leads to rank 0 and is not its own", "[world]") {
  require_networks();
  for (bool const six : {false, true}) {
    INFO(six);
    auto said = on_hosts(2, [six](hosts const& network) {
      auto at = job_on(network, 2, six);
      at.host = hosts::address(254, six);  // as that of a service before rank 0
      return benchmark::run_ranks(3, [&](int rank) {
        if (rank == 2) {  // the service, on the switch; its bytes come in pieces
          benchmark::relay{at.host, port, {.how = benchmark::mischief::pass::in_pieces}}.run(
              hosts::address(1, six), port);
          return std::string{"ended"};
        }
        at.begin(rank);
        return test::exchange(world::meet(at.of(rank)), 2);
      });
    });
    REQUIRE(said.size() == 3);
    CHECK(said[2] == "ended");
    said.pop_back();
    check_exchange(said);
  }
}

TEST_CASE("a host that falls off the network is named, and its rank ends too", "[world]") {
  require_networks();
  bool const six = GENERATE(false, true);
  auto const said = on_hosts(3, [six](hosts const& network) {
    auto const at = job_on(network, 3, six);
    benchmark::gate sent, met, unplugged;
    return benchmark::run_ranks(4,
                                [&](int rank) {
                                  if (rank == 3) {
                                    met.wait();
                                    hosts::unplug(3);
                                    unplugged.open_once();
                                    unplugged.open_once();
                                    return std::string{"unplugged"};
                                  }
                                  at.begin(rank);
                                  double const limit = rank == 0 ? 2 : rank == 1 ? 60 : 0.25;
                                  detail::star all{at.of(rank, limit), detail::meet(at.of(rank))};
                                  if (rank == 2) { met.open_once(); }
                                  if (rank != 1) { unplugged.wait(); }
                                  if (rank == 0) { sent.wait(); }
                                  (void)all.gather(detail::verb::gather, "gathered", {});
                                  if (rank == 1) { sent.open_once(); }
                                  (void)all.broadcast(detail::verb::broadcast, {});
                                  return std::string{"no error"};
                                },
                                {&sent, &met, &unplugged});
  });
  CHECK(said == std::vector<std::string>{"rank 2 did not come to gather within 2 s",
                                         "rank 2 did not come to gather within 2 s",
                                         "rank 0 did not answer in broadcast within 0.5 s",
                                         "unplugged"});
}
