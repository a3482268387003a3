// SPDX-License-Identifier: Apache-2.0
//
// How long does the choice between 6 paths take? Three arrays, curves of 12 knots, five host paths
// and one of a device, and a size that the call before did not have. How much longer does it take
// with load? Predicts: p50 of 100 ns and p99 of 250 ns.

#include "support/host_result.hpp"

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/load.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <vector>

namespace {

using namespace assay;
using clock_type = std::chrono::steady_clock;

dispatch::costs six_paths() {
  dispatch::measurements made{.task = "synthetic", .paths = {}};
  auto const add = [&](dispatch::path where, double fixed, double per_element) {
    dispatch::path_costs each{.where = where};
    for (int i = 0; i < 12; ++i) {
      double const size = std::round(std::exp2(26.0 * i / 11) + i);
      each.knots.push_back({size, fixed + size * per_element, 0.01});
    }
    made.paths.push_back(each);
  };
  for (int const threads : {1, 2, 4, 8, 16}) {
    add(on::host{threads}, 2e-6 * (threads - 1) + 1e-8, 1e-9 / std::sqrt(threads));
  }
  add(on::device{0}, 1e-5, 4e-12);
  for (auto const memory : {memory_type::pageable, memory_type::page_locked}) {
    made.links.push_back({memory, 1e-5, 1e-10, 1e-10});
  }
  return dispatch::costs{made};
}

/// Calls over all octaves, with their three arrays in both types of host memory.
std::vector<dispatch::facts> mixed_calls(std::size_t count) {
  stats::random_source random{1};
  std::vector<dispatch::facts> calls(count);
  for (auto& each : calls) {
    each.amount.size = std::size_t{1} << random.below(26);
    each.amount.size += random.below(each.amount.size);
    each.count = 3;
    for (std::size_t i = 0; i < each.count; ++i) {
      each.arrays[i] = {.bytes = 4.0 * static_cast<double>(each.amount.size),
                        .way = i == 2 ? dispatch::direction::out : dispatch::direction::in,
                        .memory = random.flip() ? memory_type::pageable : memory_type::page_locked};
    }
  }
  return calls;
}

/// Nanoseconds of a choice, sorted. Groups of 8 are timed: one choice is as short as a look at the
/// clock.
template <class Pick>
std::vector<double> times_of(Pick const& pick, int rounds, std::size_t& sum) {
  auto const calls = mixed_calls(1 << 14);
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < calls.size(); i += 8) {
      auto const begin = clock_type::now();
      for (std::size_t k = i; k < i + 8; ++k) { sum += pick(calls[k]); }
      times.push_back(std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() /
                      8);
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run_on_host(
      argc, argv, "dispatch_choose",
      [](benchmark::host_options const& options, report::document& figures) {
        auto const costs = six_paths();
        int const rounds = options.quick ? 2 : 100;
        std::size_t sum = 0;
        auto times = times_of(load::ignored{}.bound(costs), rounds, sum);
        figures["p50_ns"] = stats::quantile(times, 0.5);
        figures["p99_ns"] = stats::quantile(times, 0.99);
        figures["limit_p50_ns"] = 100;
        figures["limit_p99_ns"] = 250;
        auto const queue = load::own_queue{}.bound(costs);
        queue.board().own.begun(1, 1e6);
        times = times_of(queue, rounds, sum);
        figures["with_load"]["p50_ns"] = stats::quantile(times, 0.5);
        figures["with_load"]["p99_ns"] = stats::quantile(times, 0.99);
        figures["sum_of_choices"] = sum;
        std::cout << figures.dump(1) << '\n';
      });
}
