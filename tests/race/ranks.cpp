// SPDX-License-Identifier: Apache-2.0
// Subjects return times that are computed from their rank, so no result depends on the machine.
#include "catch.hpp"
#include "support/rank_processes.hpp"

#include <assay/race/json.hpp>
#include <assay/race/ranks.hpp>
#include <assay/stats/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

/// Seconds with a noise of 0.1 %; candidate 3 is wrong on rank 1.
class computed final : public measure::subject {
 public:
  computed(double seconds, int rank, int candidate, measure::epoch const& now)
      : seconds_(seconds),
        wrong_(rank == 1 && candidate == 3),
        arrive_(now.arrive),
        from_(now.seed + static_cast<std::uint64_t>(100 * rank + candidate)) {}
  void warm(int, int) override {}
  measure::cell time(int, int) override {
    if (arrive_) { arrive_(); }
    measure::cell made;
    made[measure::clock::wall] = seconds_ * (1 + 1e-6 * static_cast<double>(from_.below(1000)));
    return made;
  }
  std::optional<std::string> verify(int) override {
    return wrong_ ? std::optional<std::string>{"y[0] is 1 and should be 2"} : std::nullopt;
  }

 private:
  double seconds_;
  bool wrong_;
  std::function<void()> arrive_;
  stats::random_source from_;
};

/// "ring" has the least time on rank 0, and "tree" that of the slowest rank.
std::vector<measure::variant> candidates(int rank) {
  std::vector<std::pair<std::string, std::vector<double>>> const all{{"ring", {1.0e-3, 1.5e-3}},
                                                                     {"tree", {1.1e-3, 1.2e-3}},
                                                                     {"star", {1.3e-3, 1.3e-3}},
                                                                     {"none", {0.5e-3, 0.5e-3}}};
  std::vector<measure::variant> made;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const seconds = all[i].second[static_cast<std::size_t>(rank)];
    made.emplace_back();
    made.back().label = all[i].first;
    made.back().build = [seconds, rank, i](measure::epoch const& now) {
      return std::make_unique<computed>(seconds, rank, static_cast<int>(i), now);
    };
  }
  return made;
}

/// A result in which candidates have these seconds in epoch after epoch.
race_result result_of(std::vector<std::pair<std::string, double>> const& all, std::size_t leader) {
  race_result made;
  made.leader = static_cast<int>(leader);
  made.decided = true;
  for (auto const& [name, seconds] : all) {
    auto& each = made.racers.emplace_back();
    each.name = name;
    each.seconds = seconds;
    each.ratio = seconds / all[leader].second;
    each.survived = each.ratio < 1.05;
  }
  for (int epoch = 0; epoch < 10; ++epoch) {
    auto& each = made.epochs.emplace_back();
    for (std::size_t i = 0; i < all.size(); ++i) {
      each.seconds.push_back(all[i].second * (i == leader ? 1 : 1 + 1e-3 * epoch));
    }
  }
  return made;
}

}  // namespace

TEST_CASE("all ranks have the winner of the slowest rank, and all numbers of the race") {
  benchmark::reserved_port const port;
  auto const said = benchmark::run_ranks(2, [&](int rank) {
    auto const all =
        world::meet({.rank = rank, .ranks = 2, .host = "127.0.0.1", .port = port.number()});
    auto const found =
        measure::race_together(all, candidates(rank), {.seed = 5, .max_seconds = 600});
    auto table = measure::tabulated({1024}, [&](std::size_t) { return found; });
    return report::race_text(found) + report::size_header(table);
  });
  INFO(said[0]);
  CHECK(said[0] == said[1]);
  CHECK_THAT(said[0], contains("WINNER: tree is the best of 4"));
  CHECK_THAT(said[0], contains("rank 1: y[0] is 1 and should be 2"));
  CHECK_THAT(said[0], contains("slowest of 2 ranks"));
  CHECK_THAT(said[0], contains("{SIZE_MAX, \"tree\"}"));
}

TEST_CASE("ranks race callables on the host, one table on all") {
  benchmark::reserved_port const port;
  auto const said = benchmark::run_ranks(2, [&](int rank) {
    auto const all =
        world::meet({.rank = rank, .ranks = 2, .host = "127.0.0.1", .port = port.number()});
    auto const make = [&](std::size_t times) {
      auto const work = [times, all](std::size_t factor) {
        return [times, factor, all] {
          for (std::size_t i = 0; i < times * factor; ++i) { all.barrier(); }
        };
      };
      return std::vector<candidate>{{"twice", work(2)}, {"once", work(1)}};
    };
    auto const table = race_by_size(all, {1, 4}, make, {.max_epochs = 8, .warm_up_seconds = 0.01});
    std::string text;
    for (auto const& each : table.rows) {
      text += std::to_string(each.up_to) + each.choice + std::to_string(each.ratio.ratio) +
              std::to_string(each.race.epochs.size()) + ' ';
    }
    return text;
  });
  CHECK(said[0] == said[1]);
  CHECK(said[0].starts_with("2"));  // the geometric mean of 1 and 4
}

TEST_CASE("a table by size: order decides between equals, neighbours are one row") {
  auto const race_of = [](std::size_t size) {
    if (size <= 16) { return result_of({{"ring", 1.005}, {"tree", 1}, {"star", 2}}, 1); }
    return result_of({{"ring", 1.03}, {"tree", 1}, {"star", 2}}, 1);
  };
  auto const table = measure::tabulated({4, 16, 64}, race_of);
  REQUIRE(table.rows.size() == 3);
  CHECK(table.choice(1) == "ring");  // within the margin of tree, and before it
  CHECK(table.choice(32) == "ring");
  CHECK(table.choice(33) == "tree");
  CHECK(table.choice(SIZE_MAX) == "tree");
  CHECK(table.rows[0].next == "tree");
  CHECK(table.rows[0].ratio.high < 1);  // no epoch held ring below tree
  CHECK(table.rows[2].next == "ring");
  CHECK((table.rows[2].ratio.low > 1.03 && table.rows[2].ratio.high < 1.04));
  auto const header = report::size_header(table, "mine::sums");
  INFO(header);
  CHECK_THAT(header, contains("namespace mine::sums {") && contains("{32, \"ring\"},\n") &&
                         contains("{SIZE_MAX, \"tree\"},\n") && !contains("{8, \"ring\"}"));
  CHECK_THAT(header, contains("//   64: tree, against which ring takes +3."));
  auto const rows = report::document::parse(report::json(table)).at("rows");
  CHECK((rows.size() == 3 && rows[1].at("up_to") == 32 && rows[1].at("choice") == "ring"));
  CHECK(rows[2].at("race").at("racers").size() == 3);
  CHECK_THAT(message_of([&] { (void)measure::tabulated({4, 4}, race_of); }),
             contains("sizes that grow"));
  CHECK_THAT(message_of([&] { (void)report::size_header(table, "not a name"); }),
             contains("not a name"));
}
