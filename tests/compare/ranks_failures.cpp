// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
// What one rank sees alone, and all ranks have to do together: doubts, parts of cells, memory that
// runs out, waits with a limit, options that differ. Times are computed.
#include "catch.hpp"
#include "support/rank_processes.hpp"

#include <assay/compare/ranks.hpp>
#include <assay/host/poll_until.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/serve/measure_together.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using assay::comparison;
using assay::options;
using assay::test::contains;
namespace measure = assay::measure;
namespace benchmark = assay::benchmark;

namespace {

/// What a rank's subjects do; the second variant is number 1.
struct script {
  std::function<void(int rank, int variant, int alive)> build = [](int, int, int) {};
  std::function<void(int rank, int variant, measure::epoch const&)> time =
      [](int, int, measure::epoch const&) {};
  std::function<int(int rank, int variant)> doubts = [](int, int) { return 0; };
  std::function<void(int rank, int variant, int launches)> look = [](int, int, int) {};
  std::function<int(int rank)> at_once = [](int) { return 1 << 30; };
  int most_timed = 1 << 30;  ///< cells of more launches do not time each
  bool wrong = false;        ///< rank 2 has a wrong result in the second variant
  std::function<std::string(int rank)> gpu = [](int) { return std::string{}; };
};

/// The subjects of this rank, and the launches of its looks and cells.
int alive = 0, looked = 0, launched = 0, sharing = 0;
std::vector<int> cells;
std::string caveats;

class scripted final : public measure::subject {
 public:
  scripted(script how, int rank, int variant, measure::epoch now)
      : how_(std::move(how)), rank_(rank), variant_(variant), now_(std::move(now)) {
    how_.build(rank_, variant_, alive);
    ++alive;
  }
  ~scripted() override { --alive; }
  void warm(int, int) override {}
  measure::cell time(int, int launches) override {
    now_.arrive();
    how_.time(rank_, variant_, now_);
    launched += launches;
    cells.push_back(launches);
    doubts_ = how_.doubts(rank_, variant_);
    measure::cell made;
    made[measure::clock::wall] = 1e-3 * launches;  // so the weights of parts are seen
    made.launches.assign(launches > how_.most_timed ? 0 : static_cast<std::size_t>(launches), 1e-3);
    return made;
  }
  std::optional<std::string> verify(int) override {
    doubts_ = how_.doubts(rank_, variant_);
    if (how_.wrong && rank_ == 2 && variant_ == 1) { return "y[3] is 4 and should be 5"; }
    return {};
  }
  int doubts() const override { return doubts_; }
  void look(int, int launches) override {
    looked += launches;
    doubts_ = 0;
    how_.look(rank_, variant_, launches);
  }
  int at_once() const override { return how_.at_once(rank_); }
  std::string gpu() const override { return how_.gpu(rank_); }
  void share_gpu() override { ++sharing; }

 private:
  script how_;
  int rank_, variant_;
  measure::epoch now_;
  int doubts_ = 0;
};

std::vector<measure::variant> two(script const& how, int rank) {
  std::vector<measure::variant> made;
  for (int v = 0; v < 2; ++v) {
    measure::variant one;
    one.label = v == 0 ? "old" : "new";
    one.build = [how, rank, v](measure::epoch const& now) {
      return std::make_unique<scripted>(how, rank, v, now);
    };
    made.push_back(std::move(one));
  }
  return made;
}

/// A job of three ranks, and what each has to say.
std::vector<std::string> job(std::function<std::string(assay::world const&)> const& body,
                             std::chrono::duration<double> limit = assay::membership{}.limit) {
  benchmark::reserved_port const port;
  return benchmark::run_ranks(3, [&](int rank) {
    return body(assay::world::meet(
        {.rank = rank, .ranks = 3, .host = "127.0.0.1", .port = port.number(), .limit = limit}));
  });
}

std::string verdict_of(assay::world const& all, script const& how, options chosen = {}) {
  chosen.seed = 7;
  chosen.max_seconds = 600;
  chosen.max_epochs = 8;
  auto const found = measure::measure_together(all, two(how, all.rank()),
                                               measure::against_first({"old", "new"}), chosen);
  auto const& one = found.findings.at(0);
  std::string text = std::string{to_string(one.outcome)} + ' ' + one.reason + ' ' + found.failure;
  for (auto const& each : found.caveats) { caveats += each; }  // of rank 0 alone
  return text;
}

std::string verdict_of(script const& how, std::chrono::duration<double> limit) {
  auto const said = job([&](assay::world const& all) { return verdict_of(all, how); }, limit);
  CHECK(said == std::vector<std::string>(3, said[0]));
  return said[0];
}
std::string verdict_of(script const& how) { return verdict_of(how, assay::membership{}.limit); }

/// Asks one subject of rank 0 and of the others; what each rank then has to say.
std::vector<std::string> one_subject(script const& how,
                                     std::function<void(measure::subject&)> const& ask,
                                     std::function<std::string()> const& tell,
                                     options const& chosen = {}) {
  return job([&](assay::world const& all) {
    auto const made = two(how, all.rank());
    if (all.rank() != 0) {
      (void)measure::follow(all, made, chosen);
      return tell();
    }
    auto const by = std::make_shared<measure::served::leader>(all, made, chosen);
    ask(*measure::led(by, made)[0].build({}));
    (void)all.broadcast(measure::served::encode({"end"}));
    return tell();
  });
}

}  // namespace

TEST_CASE("where one rank doubts, all ranks launch equally often and that rank decides") {
  script how;
  how.doubts = [](int rank, int) { return rank == 1 ? 16 : rank == 2 ? 1 : 0; };
  auto const equal = one_subject(
      how,
      [](measure::subject& each) {
        (void)each.verify(0);
        (void)each.time(1, 5);
      },
      [] { return std::to_string(looked) + ' ' + std::to_string(launched); });
  CHECK(equal == std::vector<std::string>(3, "32 5"));

  how.look = [](int rank, int variant, int) {
    if (rank == 1 && variant == 1) { throw std::runtime_error("it enqueues nothing"); }
  };
  CHECK_THAT(verdict_of(how), contains("UNPROVEN") && contains("variant \"new\"") &&
                                  contains("rank 1: it enqueues nothing"));
  how.wrong = true;  // a wrong result is told before a doubt
  how.look = [](int, int variant, int) {
    if (variant == 1) { throw std::runtime_error("looked"); }
  };
  CHECK_THAT(verdict_of(how), contains("WRONG ANSWER") && contains("rank 2: y[3] is 4"));
}

TEST_CASE("a cell that one rank begins in parts begins so on all ranks") {
  script how;
  how.at_once = [](int rank) { return rank == 1 ? 2 : 50; };
  auto const said = [&] {
    return one_subject(
        how,
        [](measure::subject& each) {
          each.warm(0, 2);
          auto const cell = each.time(0, 5);  // 2, 2 and 1 launches, of 2, 2 and 1 ms
          cells.push_back(static_cast<int>(std::lround(1e6 * cell[measure::clock::wall])));
          cells.push_back(static_cast<int>(cell.launches.size()));
        },
        [] {
          std::string text;
          for (int const each : cells) { text += std::to_string(each) + ' '; }
          return text;
        });
  };
  CHECK(said() == std::vector<std::string>{"2 2 1 1800 5 ", "2 2 1 ", "2 2 1 "});
  how.most_timed = 1;  // of the last part alone
  CHECK(said()[0] == "2 2 1 1800 0 ");
}

TEST_CASE("ranks that may wait for each other have a limit, and one alone has none") {
  script how;
  double patience = 0;
  how.time = [&](int, int, measure::epoch const& now) { patience = now.patience.count(); };
  verdict_of(assay::world::alone(), how);
  CHECK(std::isinf(patience));
  auto const said = job([&](assay::world const& all) {
    verdict_of(all, how);
    return std::to_string(patience == 0.5 * all.limit().count());
  });
  CHECK(said == std::vector<std::string>(3, "1"));
}

TEST_CASE("memory that runs out on one rank is met by all ranks together") {
  script how;
  how.build = [](int rank, int, int others) {
    if (rank == 1 && others > 0) { throw std::bad_alloc{}; }
  };
  auto const said = job([&](assay::world const& all) {
    auto const text = verdict_of(all, how);
    return text + " alive " + std::to_string(alive) + ' ' + caveats;
  });
  CHECK_THAT(said[0], contains("EQUIVALENT") && contains("rank 1: std::bad_alloc") &&
                          contains("do not fit into memory together") && contains("alive 0"));
  for (std::size_t rank = 1; rank < 3; ++rank) {
    CHECK_THAT(said[rank], contains("EQUIVALENT") && contains("alive 0"));
  }
  how.build = [](int rank, int variant, int) {
    if (rank == 1 && variant == 1) { throw std::bad_alloc{}; }
  };
  CHECK_THAT(verdict_of(how), contains("UNPROVEN") && contains("rank 1: std::bad_alloc") &&
                                  contains("no other variant was in memory"));
  // Another failure beside it is no shortage of memory, so nothing is tried again.
  how.build = [](int rank, int variant, int) {
    if (rank == 1 && variant == 1) { throw std::bad_alloc{}; }
    if (rank == 2 && variant == 1) { throw std::runtime_error("no file"); }
  };
  CHECK_THAT(verdict_of(how),
             contains("rank 1: std::bad_alloc; rank 2: no file") && !contains("in memory"));
}

TEST_CASE("failures that are cut are still told apart from a shortage of memory") {
  struct long_shortage : std::bad_alloc {
    char const* what() const noexcept override {
      static std::string const text(3000, 'x');
      return text.c_str();
    }
  };
  script how;
  how.build = [](int rank, int variant, int) {
    if (rank < 2 && variant == 1) { throw long_shortage{}; }
    if (rank == 2 && variant == 1) { throw std::runtime_error("no file"); }
  };
  CHECK_THAT(verdict_of(how), contains("xx; and more ranks") && !contains("in memory"));
}

TEST_CASE("all ranks are told of rank 0 that failed and of the rank that is missing then") {
  script how;
  how.time = [](int rank, int, measure::epoch const&) {
    if (rank == 0) { throw std::runtime_error("no launch"); }
    if (rank == 2) { ::raise(SIGKILL); }
  };
  auto const said = job([&](assay::world const& all) { return verdict_of(all, how); });
  CHECK_THAT(said[0], contains("rank 0: no launch; then rank 2 has ended, or its connection"));
  CHECK(said[1] == said[0]);
  CHECK(said[2] == benchmark::killed);
}

TEST_CASE("a rank hears that it shares its GPU where it does, not where it may") {
  script how;
  auto const said = [&] {
    return one_subject(
        how, [](measure::subject&) {}, [] { return std::to_string(sharing); },
        {.ranks_share_gpus = true});
  };
  CHECK(said() == std::vector<std::string>(3, "0"));  // work on the host
  how.gpu = [](int rank) { return "GPU-" + std::to_string(rank); };
  CHECK(said() == std::vector<std::string>(3, "0"));
  how.gpu = [](int rank) { return std::string{rank == 1 ? "GPU-1" : "GPU-0"}; };
  CHECK(said() == std::vector<std::string>{"1", "0", "1"});
}

TEST_CASE("a rank that fails between launches ends those that wait for its launch") {
  script how;
  how.time = [](int rank, int variant, measure::epoch const& now) {
    if (variant == 0) { return; }
    if (rank == 2) { throw std::runtime_error("no launch"); }
    if (rank == 1 && !assay::poll_until([] { return false; }, now.patience)) {
      throw std::runtime_error("its stream has not drained");
    }
  };
  CHECK_THAT(
      verdict_of(how, std::chrono::seconds{10}),
      contains("UNPROVEN") && contains("rank 1: its stream has not drained; rank 2: no launch"));
}

TEST_CASE("each option that ranks have to agree on is named") {
  std::vector<std::pair<std::string, std::function<void(options&)>>> const changes{
      {"margin", [](options& of) { of.margin = 0.02; }},
      {"alpha", [](options& of) { of.alpha = 0.01; }},
      {"max_epochs", [](options& of) { of.max_epochs = 12; }},
      {"max_seconds", [](options& of) { of.max_seconds = 11; }},
      {"clock", [](options& of) { of.clock = measure::clock::submit; }},
      {"cold_cache", [](options& of) { of.cold_cache = true; }},
      {"same_buffers", [](options& of) { of.same_buffers = true; }},
      {"require_checks", [](options& of) { of.require_checks = true; }},
      {"barrier", [](options& of) { of.barrier.name = "NCCL"; }},
      {"ranks_share_gpus", [](options& of) { of.ranks_share_gpus = true; }},
      {"run_until_sign", [](options& of) { of.run_until_sign = true; }},
      {"run_until_margin", [](options& of) { of.run_until_margin = true; }},
      {"hidden_control", [](options& of) { of.hidden_control = false; }},
      {"verify", [](options& of) { of.verify = measure::verification::every_epoch; }},
      {"cell_seconds", [](options& of) { of.cell_seconds = 2e-3; }},
      {"most_launches", [](options& of) { of.most_launches = 10; }},
      {"warm_up_seconds", [](options& of) { of.warm_up_seconds = 1; }},
      {"tick_seconds", [](options& of) { of.tick_seconds[2] = 2e-9; }},
      {"profiled_batches", [](options& of) { of.profiled_batches = 0; }},
      {"changed", [](options& of) { of.changed = "memory"; }}};
  auto const usual = measure::served::agreed({}, {});
  CHECK(usual.size() == 2 * (2 + changes.size()));  // names and program besides
  for (auto const& [name, change] : changes) {
    options chosen;
    change(chosen);
    auto const changed = measure::served::agreed({}, chosen);
    auto const [here, there] = std::ranges::mismatch(usual, changed);
    INFO(name);
    REQUIRE(here != usual.end());
    CHECK(*(here - 1) == name);
    CHECK(std::equal(here + 1, usual.end(), there + 1));
  }
  options own;  // of each rank
  own.seed = 3;
  own.place = assay::on::device{1};
  own.title = "rank 1";
  CHECK(measure::served::agreed({}, own) == usual);
}
