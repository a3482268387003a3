// SPDX-License-Identifier: Apache-2.0
// One rank reaches rank 0 through a relay that delays, cuts and stalls, and splits and joins
// messages. No rank may be wrong or hang, and all whom rank 0 reaches say the same.
#include "support/relay.hpp"
#include "catch.hpp"
#include "support/world_faults.hpp"
#include "world/exchange.hpp"

#include <assay/world/world.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::check_exchange;
using assay::test::contains;
using assay::test::exchange;
using benchmark::mischief;

namespace {

/// A job whose last rank comes through a relay.
struct relayed_job {
  int ranks = 3;
  benchmark::reserved_port own{}, door{};
  benchmark::job at{.ranks = ranks, .victim = ranks - 1, .port = own.number()};

  membership of(int rank, double limit = 60) const {
    auto place = at.of(rank, limit);
    if (rank == at.victim) { place.port = door.number(); }
    return place;
  }
  /// What the ranks said. Ends when all of them and the relay have ended.
  std::vector<std::string> run(mischief what, std::function<std::string(int)> const& body,
                               std::vector<benchmark::gate*> const& gates = {}) const {
    auto all = benchmark::run_ranks(
        ranks + 1,
        [&](int rank) {
          if (rank < ranks) { return body(rank); }
          for (auto* const each : gates) { each->close(); }
          benchmark::relay{"127.0.0.1", door.number(), what}.run("127.0.0.1", own.number());
          return std::string{"ended"};
        },
        gates);
    CHECK(all.back() == "ended");
    all.pop_back();
    return all;
  }
  std::size_t hello_bytes() const {
    return benchmark::hello_of(at, detail::world_version, at.victim, ranks).size();
  }
};

std::size_t const greeting_bytes =
    (std::string{detail::world_greeting} + ' ' + std::to_string(detail::world_version) + '\n')
        .size();
constexpr std::size_t header_bytes = detail::message::header_bytes;
constexpr std::string_view gathered = "gathered";  // what `call_on` sends

}  // namespace

TEST_CASE("a relay that delays, splits or joins messages changes no byte", "[world]") {
  for (auto const how : {mischief::pass::at_once, mischief::pass::late, mischief::pass::in_pieces,
                         mischief::pass::together}) {
    INFO(static_cast<int>(how));
    relayed_job const job;
    int const rounds = how == mischief::pass::late ? 3 : 4;  // the fourth has millions of bytes
    check_exchange(job.run({.how = how},
                           [&](int rank) { return exchange(world::meet(job.of(rank)), rounds); }));
  }
}

TEST_CASE("a connection that is cut ends all ranks, wherever it is cut", "[world]") {
  relayed_job const probe;
  auto const hello = probe.hello_bytes();
  auto const whole = header_bytes + gathered.size();
  for (auto const& [after, inside] :
       {std::pair{std::size_t{0}, false},
        {std::size_t{1}, true},
        {header_bytes - 1, true},
        {header_bytes, true},
        {whole - 1, true},
        {whole, false},
        {whole + header_bytes, false},  // behind the barrier's message
        {whole + header_bytes + 1, true}}) {
    INFO(after << " bytes behind the hello");
    relayed_job const job;
    auto const said = job.run({.cut_after = hello + after}, [&](int rank) {
      return benchmark::call_on(world::meet(job.of(rank)));
    });
    CHECK(said[0] == (inside ? "rank 2 has ended in the middle of a message"
                             : "rank 2 has ended, or its connection"));
    CHECK(said[1] == said[0]);
    CHECK_THAT(said[2], contains("rank 0 has ended"));
  }
}

TEST_CASE("a connection that is cut on the way to a rank ends all ranks", "[world]") {
  auto const welcome = greeting_bytes + header_bytes;
  for (auto const& [after, says] :
       {std::pair{greeting_bytes + 3, "rank 0 has ended, or its connection"},
        {welcome, "rank 0 has ended, or its connection"},
        {welcome + 3, "rank 0 has ended in the middle of a message"},
        {welcome + header_bytes + 2, "rank 0 has ended in the middle of a message"}}) {
    INFO(after << " bytes");
    relayed_job const job;
    auto const said = job.run({.cut_back_after = after}, [&](int rank) {
      return benchmark::call_on(world::meet(job.of(rank)));
    });
    CHECK_THAT(said[0], contains("rank 2 has ended"));
    CHECK(said[1] == said[0]);
    CHECK(said[2] == says);
  }
}

TEST_CASE("a rank that is cut off before it has said who it is is missing", "[world]") {
  relayed_job const job{.ranks = 2};
  auto const said = job.run({.cut_after = job.hello_bytes() - 1}, [&](int rank) {
    return benchmark::call_on(world::meet(job.of(rank, rank == 0 ? 1 : 60)));
  });
  CHECK_THAT(said[0], contains("rank 1 of 2 did not come to 127.0.0.1:"));
  CHECK(said[1] == "rank 0 has ended, or its connection");
}

TEST_CASE("a connection that stalls ends all ranks when rank 0's limit has passed", "[world]") {
  bool const both_ways = GENERATE(false, true);
  bool const inside = GENERATE(false, true);
  INFO((both_ways ? "both ways" : "to rank 0") << (inside ? ", inside a message" : ""));
  relayed_job const job;
  mischief what{.stall_after = job.hello_bytes() + (inside ? header_bytes + 3 : 0)};
  if (both_ways) { what.stall_back_after = greeting_bytes + header_bytes; }
  benchmark::gate sent;
  auto const said =
      job.run(what,
              [&](int rank) {
                auto const links = [&] { return detail::meet(job.of(rank)); };
                if (rank == 0) {  // nobody but the victim is missing when the limit begins
                  detail::star all{job.of(0, 0.5), links()};
                  sent.wait();
                  (void)all.gather(detail::verb::gather, {}, {});
                  return std::string{"no error"};
                }
                bool const hears_nothing = both_ways && rank == job.at.victim;
                detail::star all{job.of(rank, hears_nothing ? 0.25 : 60), links()};
                (void)all.gather(detail::verb::gather, gathered, {});
                if (rank == 1) { sent.open_once(); }
                (void)all.broadcast(detail::verb::broadcast, {});
                return std::string{"no error"};
              },
              {&sent});
  CHECK(said[0] == "rank 2 did not come to gather within 0.5 s");
  CHECK(said[1] == said[0]);
  CHECK(said[2] == (both_ways ? "rank 0 did not answer in broadcast within 0.5 s" : said[0]));
}
