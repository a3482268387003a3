// SPDX-License-Identifier: Apache-2.0
// What does it cost that ranks follow rank 0? The time from the call of rank 0 to the first launch
// of the last of two ranks on loopback, of which 60 us are allowed. Then verdicts on equal work of
// 100 us by 16 ranks on this machine, for which 15 s are allowed each. Predicts: 30 us, and 11 s.
#include "support/host_result.hpp"
#include "support/rank_processes.hpp"

#include <assay/compare/ranks.hpp>
#include <assay/core/keep.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/stats/five_numbers.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;

double now_seconds() {  // of a clock that all processes of a machine share
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// "Takes" as long as the clock of the machine shows at its first launch.
class first_launch final : public measure::subject {
 public:
  explicit first_launch(measure::epoch const& now) : arrive_(now.arrive) {}
  void warm(int, int) override {}
  measure::cell time(int, int) override {
    arrive_();
    measure::cell made;
    made[measure::clock::wall] = now_seconds();
    return made;
  }
  std::optional<std::string> verify(int) override { return {}; }

 private:
  std::function<void()> arrive_;
};

world join(benchmark::reserved_port const& port, int rank, int ranks) {
  return world::meet({.rank = rank, .ranks = ranks, .host = "127.0.0.1", .port = port.number()});
}

/// Seconds from the call of rank 0 to the first launch of the last rank, sorted.
std::vector<double> verbs(int ranks, int calls) {
  benchmark::reserved_port const port;
  auto const said = benchmark::run_ranks(ranks, [&](int rank) {
    auto const all = join(port, rank, ranks);
    std::vector<measure::variant> one(1);
    one[0].build = [](measure::epoch const& now) { return std::make_unique<first_launch>(now); };
    options const chosen;
    if (rank != 0) {
      (void)measure::follow(all, one, chosen);
      return std::string{};
    }
    auto const by = std::make_shared<measure::served::leader>(all, one, chosen);
    std::ostringstream text;
    {
      auto const made = measure::led(by, one)[0].build({});
      for (int i = 0; i < calls; ++i) {
        double const begin = now_seconds();
        text << made->time(0, 1)[measure::clock::wall] - begin << ' ';
      }
    }
    (void)all.broadcast(measure::served::encode({"end"}));
    return text.str();
  });
  std::istringstream from{said[0]};
  std::vector<double> all;
  for (double each = 0; from >> each;) { all.push_back(each); }
  std::ranges::sort(all);
  return all;
}

/// Seconds and outcome of one verdict on equal work, as all ranks have it.
std::pair<double, std::string> verdict_of(int ranks) {
  benchmark::reserved_port const port;
  double const begin = now_seconds();
  auto const said = benchmark::run_ranks(ranks, [&](int rank) {
    auto const all = join(port, rank, ranks);
    auto const work = [](setup& make) {
      auto const x = make.random<float>(100'000);
      return [from = x.data()] {  // 100 us on one core at 3 GHz
        float sum = 0;
        for (std::size_t i = 0; i < 100'000; ++i) { sum += from[i]; }
        keep(sum);
      };
    };
    auto const found = compare(all, "one", work, "other", work);
    return std::string{to_string(found.findings.at(0).outcome)} + ' ' + found.failure;
  });
  bool const alike = std::ranges::all_of(said, [&](auto const& each) { return each == said[0]; });
  return {now_seconds() - begin, alike ? said[0] : "ranks say different things"};
}

double load() {
  double now = 0;
  return ::getloadavg(&now, 1) == 1 ? now : -1;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run_on_host(
      argc, argv, "following",
      [](benchmark::host_options const& options, report::document& figures) {
        auto const at = [](std::vector<double> const& all, double share) {
          return 1e6 * all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
        };
        figures["load_before"] = load();
        for (int const ranks : {2, 16}) {
          auto const taken = verbs(ranks, options.quick ? 20 : 5000);
          figures["verbs"].push_back(report::document{
              {"ranks", ranks}, {"p50_us", at(taken, 0.5)}, {"p99_us", at(taken, 0.99)}});
          std::cout << ranks << " ranks: a cell begins after " << at(taken, 0.5) << " us, p99 "
                    << at(taken, 0.99) << " us\n";
        }
        int const runs = options.quick ? 1 : 5;
        double longest = 0;
        for (int i = 0; i < runs; ++i) {
          auto const [seconds, outcome] = verdict_of(options.quick ? 2 : 16);
          longest = std::max(longest, seconds);
          figures["verdicts"].push_back(
              report::document{{"seconds", seconds}, {"outcome", outcome}});
          std::cout << seconds << " s: " << outcome << std::endl;
        }
        figures["longest_verdict_s"] = longest;
        figures["load_after"] = load();
      });
}
