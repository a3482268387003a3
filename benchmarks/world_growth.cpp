// SPDX-License-Identifier: Apache-2.0
// How does a world grow? Rank 0 has a connection to each other rank, so its share of a call grows
// with the ranks. One process has both ends of all connections: the main thread is rank 0, and
// another thread answers for all other ranks. The time is that of the main thread's processor.
// Predicts: 1 us for each rank and call, so a tree would be worth its code from some 1,000 ranks.
//
// Sends of loopback carry the bytes to the other end, which a network card would do. So a rank on a
// network takes less.

#include "support/host_result.hpp"
#include "support/rank_processes.hpp"

#include <assay/measure/factorial.hpp>
#include <assay/serve/measure_together.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>
#include <assay/world/world.hpp>

#include <sys/resource.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace assay;
/// Seconds that this thread has had a processor.
double processor_seconds() {
  ::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// All ranks of a job but rank 0. They do the same at the same time.
class crowd final : public detail::transport {
 public:
  explicit crowd(membership const& of) {
    auto const until = detail::after(of.limit);
    std::vector<std::unique_ptr<detail::connection>> links;
    for (int rank = 1; rank < of.ranks; ++rank) {
      std::unique_ptr<detail::connection> to;
      while (!to) { to = detail::connect_to(of.host, of.port, until); }
      (void)to->receive([](detail::connection& by) { return by.take_line(); }, until);
      (void)to->send(std::string{detail::world_greeting} + ' ' +
                         std::to_string(detail::world_version) + ' ' + std::to_string(rank) + ' ' +
                         std::to_string(of.ranks) + " \n",
                     until);
      links.push_back(std::move(to));
    }
    for (int rank = 1; rank < of.ranks; ++rank) {
      auto& to = links[static_cast<std::size_t>(rank) - 1];
      if (!to->receive([](detail::connection& by) { return by.take_message(); }, until)) {
        throw std::runtime_error("rank 0 let a rank not in");
      }
      auto own = of;
      own.rank = rank;
      std::vector<std::unique_ptr<detail::connection>> one;
      one.push_back(std::move(to));
      stars_.push_back(std::make_unique<detail::star>(own, std::move(one)));
    }
  }

  std::vector<std::string> gather(detail::verb which, std::string_view bytes,
                                  std::string_view before) override {
    ++gathers_;
    for (auto const& each : stars_) { (void)each->gather(which, bytes, before); }
    return {};
  }
  std::string broadcast(detail::verb which, std::string_view) override {
    ++broadcasts_;
    std::string got;
    for (auto const& each : stars_) { got = each->broadcast(which, {}); }
    return got;
  }
  void abandon(std::string const& why) noexcept override { stars_.front()->abandon(why); }

  int gathers() const { return gathers_; }
  int broadcasts() const { return broadcasts_; }

 private:
  std::vector<std::unique_ptr<detail::star>> stars_;
  int gathers_ = 0, broadcasts_ = 0;
};

/// Runs rank 0 on this thread, and all others on another one.
void with_world(int ranks, std::function<void(world const&)> const& rank_0,
                std::function<void(crowd&)> const& others) {
  benchmark::reserved_port const port;
  membership const of{.ranks = ranks, .host = "127.0.0.1", .port = port.number()};
  std::exception_ptr failure;
  std::jthread const beside{[&] {
    try {
      crowd all{of};
      others(all);
    } catch (...) { failure = std::current_exception(); }
  }};
  rank_0(world::meet(of));
  if (failure) { std::rethrow_exception(failure); }
}

/// What a rank answers to a request to time is about as long.
std::string const reply(120, 'x');

/// Microseconds of rank 0's processor in each call: medians.
void time_calls(int ranks, int rounds, report::document& figures) {
  std::vector<double> gathers, broadcasts, barriers;
  auto const timed = [](std::vector<double>& into, auto const& call) {
    auto const begin = processor_seconds();
    call();
    into.push_back(1e6 * (processor_seconds() - begin));
  };
  with_world(
      ranks,
      [&](world const& all) {
        for (int i = 0; i < rounds; ++i) {
          timed(broadcasts, [&] { (void)all.broadcast(reply); });
          timed(gathers, [&] { (void)all.gather(reply); });
          timed(barriers, [&] { all.barrier(); });
        }
      },
      [&](crowd& all) {
        for (int i = 0; i < rounds; ++i) {
          (void)all.broadcast(detail::verb::broadcast, {});
          (void)all.gather(detail::verb::gather, reply, {});
          (void)all.gather(detail::verb::barrier, {}, {});
          (void)all.broadcast(detail::verb::barrier, {});
        }
      });
  auto const median = [](std::vector<double> const& of) { return stats::summarise(of).median; };
  report::document const row{{"ranks", ranks},
                             {"broadcast_us", median(broadcasts)},
                             {"gather_us", median(gathers)},
                             {"barrier_us", median(barriers)}};
  figures["calls"].push_back(row);
  std::cout << row.dump() << std::endl;
}

/// A subject that takes no time, and says that it took 1 ms.
class instant final : public measure::subject {
 public:
  explicit instant(std::uint64_t seed) : from_(seed) {}
  void warm(int, int) override {}
  measure::cell time(int, int) override {
    measure::cell made;
    made[measure::clock::wall] = 1e-3 * (1 + 1e-6 * static_cast<double>(from_.below(1000)));
    return made;
  }
  std::optional<std::string> verify(int) override { return {}; }
  measure::checks checked() const override { return measure::checks::all; }

 private:
  stats::random_source from_;
};

/// Calls of the world, and rank 0's processor time, in a comparison of two variants.
void compare(int ranks, report::document& figures) {
  std::vector<measure::variant> variants(2);
  for (std::size_t i = 0; i < 2; ++i) {
    variants[i].label = i == 0 ? "old" : "new";
    variants[i].build = [](measure::epoch const& now) {
      return std::make_unique<instant>(now.seed + static_cast<std::uint64_t>(now.instance));
    };
  }
  auto const measured = [&](world const& all) {
    return measure::measure_together(all, variants, measure::against_first({"old", "new"}),
                                     {.seed = 51, .max_seconds = 600});
  };
  int gathers = 0, broadcasts = 0, epochs = 0;
  double seconds = 0;
  with_world(
      ranks,
      [&](world const& all) {
        auto const begin = processor_seconds();
        epochs = measured(all).epochs;
        seconds = processor_seconds() - begin;
      },
      [&](crowd& others) {
        std::shared_ptr<detail::transport> const to{std::shared_ptr<void>{}, &others};
        (void)measured(world{{.rank = 1, .ranks = ranks}, to});
        gathers = others.gathers();
        broadcasts = others.broadcasts();
      });
  int const calls = gathers + broadcasts;  // each is a message from or to each rank
  report::document const row{
      {"ranks", ranks},
      {"epochs", epochs},
      {"calls_per_epoch", static_cast<double>(calls) / epochs},
      {"messages_per_epoch", static_cast<double>(calls) * (ranks - 1) / epochs},
      {"ms_per_epoch", 1e3 * seconds / epochs},
      {"us_per_call", 1e6 * seconds / calls}};
  figures["comparisons"].push_back(row);
  std::cout << row.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  ::rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;  // both ends of each connection
  ::setrlimit(RLIMIT_NOFILE, &most);
  return benchmark::run_on_host(
      argc, argv, "world_growth",
      [](benchmark::host_options const& options, report::document& figures) {
        for (int const ranks : {2, 4, 16, 64, 256, 1024}) {
          time_calls(ranks, options.quick ? 10 : 100, figures);
        }
        for (int const ranks : {2, 4, 16, 64, 256, 1024}) { compare(ranks, figures); }
      });
}
