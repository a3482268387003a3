// SPDX-License-Identifier: Apache-2.0
// Does the verdict hold for the host functions that a stranger writes first? Equal plain callables
// of 4 us and 1 ms, callables without work and of 3 ns, and a call of which every 9th is slow.
// Predicts: at most 9 of 200 equal ones get a sign and 80 of 100 are decided; no sign for empty
// work; every variant with slow calls is SLOWER, and the true ratio lies in its interval.

#include "support/host_result.hpp"
#include "support/trials.hpp"

#include <assay/compare.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace assay;
using benchmark::trial;

void spin(double seconds) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {}
}

/// Two lambdas that add up one vector `times` times.
comparison equal_sums(int times) {
  std::vector<int> const numbers(1 << 14, 1);
  long sum = 0;
  auto const adding = [&] {
    return [&numbers, &sum, times] {
      for (int i = 0; i < times; ++i) {
        sum += std::accumulate(numbers.begin(), numbers.end(), 0L);
        keep(sum);
      }
    };
  };
  return compare("one", adding(), "other", adding());
}

comparison equal_steps(int steps) {
  int volatile x = 0;
  auto const stepping = [&x, steps] {
    for (int i = 0; i < steps; ++i) { x = x + 1; }
  };
  return compare("one", stepping, "other", [&x, steps] {
    for (int i = 0; i < steps; ++i) { x = x + 1; }
  });
}

comparison removed() {
  return compare(
      "one",
      [] {
        long sum = 0;
        for (int i = 0; i < 100'000; ++i) { sum += i; }
      },
      "other",
      [] {
        long sum = 0;
        for (int i = 0; i < 100'000; ++i) { sum += i ^ 3; }
      });
}

/// A comparison in which every ninth call of one side takes three times as long.
trial every_ninth() {
  long calls = 0;
  auto row = benchmark::trial_of(compare(
      "steady", [] { spin(1e-3); }, "uneven", [&calls] { spin(++calls % 9 == 0 ? 3e-3 : 1e-3); }));
  row["truth"] = 1 + 2.0 / 9;
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run_on_host(
      argc, argv, "plain_host_calls",
      [](benchmark::host_options const& chosen, report::document& figures) {
        auto const run = [&](std::string const& name, int count,
                             std::function<trial()> const& one) {
          std::vector<trial> rows;
          for (int i = 0; i < (chosen.quick ? 1 : count); ++i) { rows.push_back(one()); }
          figures[name] = benchmark::counts_of(rows);
          benchmark::print_counts(name, figures[name]);
          figures[name]["rows"] = rows;
          return rows;
        };
        auto const compared = [](comparison const& found) { return benchmark::trial_of(found); };
        run("equal, 4 us", 100, [&] { return compared(equal_sums(1)); });
        run("equal, 1 ms", 100, [&] { return compared(equal_sums(250)); });
        run("no work", 16, [&] { return compared(compare("one", [] {}, "other", [] {})); });
        run("removed work", 16, [&] { return compared(removed()); });
        run("work of 3 ns", 16, [&] { return compared(equal_steps(2)); });
        int covered = 0;
        for (auto const& row : run("every 9th call slow", 4, every_ninth)) {
          covered += row.at("low") <= row.at("truth") && row.at("truth") <= row.at("high");
        }
        figures["every 9th call slow"]["covered"] = covered;
        std::printf("truth in %d intervals\n", covered);
      });
}
