// SPDX-License-Identifier: Apache-2.0
// assay-uses: openmp
//
// What does it cost the host to begin and end a parallel loop? Empty loops on the threads that
// `host::parallel_for` keeps, on threads that are started for each loop, and on those of OpenMP.
// Predicts: waking costs a tenth of starting, and as much as OpenMP where cores are free.
// Measured on two cores: waking costs 0.22 of starting with 2 threads, 0.71 with 4 and 0.16 with
// 16. OpenMP takes 0.39 of the time of waking with 2 threads, since its threads spin, and more time
// with 4 and 16.

#include "support/host_result.hpp"

#include <assay/host/parallel_for.hpp>
#include <assay/stats/summary.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

namespace {

using namespace assay;

/// Medians of the time of one loop, in microseconds.
struct row {
  double kept = 0;
  double started = 0;
  double openmp = 0;
};

template <class Loop>
double microseconds(int loops, Loop const& loop) {
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < loops; ++i) { loop(); }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
             .count() /
         loops;
}

void start_threads(int threads) {
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([] {});
  }
}

void openmp_loop(int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int i = 0; i < threads; ++i) { asm volatile("" ::: "memory"); }
}

row time_loops(int threads, int rounds, int loops) {
  std::vector<double> kept, started, openmp;
  for (int i = 0; i < rounds; ++i) {  // interleaved, so that other load meets all three
    kept.push_back(microseconds(loops, [&] {
      host::parallel_for(threads, threads, 1, [](std::int64_t, std::int64_t) {});
    }));
    started.push_back(microseconds(loops / 10 + 1, [&] { start_threads(threads); }));
    openmp.push_back(microseconds(loops, [&] { openmp_loop(threads); }));
  }
  return {stats::summarise(kept).median, stats::summarise(started).median,
          stats::summarise(openmp).median};
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run_on_host(
      argc, argv, "parallel_for",
      [](benchmark::host_options const& options, report::document& figures) {
        figures["hardware_threads"] = host::all_threads();
        for (int const threads : {2, 4, 8, 16}) {
          auto const found = time_loops(threads, options.quick ? 3 : 41, options.quick ? 20 : 200);
          figures["loops"].push_back(report::document{{"threads", threads},
                                                      {"kept_us", found.kept},
                                                      {"started_us", found.started},
                                                      {"openmp_us", found.openmp}});
          std::cout << threads << " threads: kept " << found.kept << " us, started "
                    << found.started << " us, OpenMP " << found.openmp << " us\n";
        }
      });
}
