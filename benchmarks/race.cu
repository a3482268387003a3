// SPDX-License-Identifier: Apache-2.0
// Does a race find the best of 48 configurations of a product and of a stencil, and what does it
// save? The truth is of 41 epochs over all 48 that drop none. 40 races each; beside each race a
// tuner builds every configuration once, times it in cells in a row, as many as the race has per
// configuration, and takes the smallest median. The third space is dense: one chain of products is
// the shortest, and 47 are 1.2 to 3.5 % longer. Another process copies in bursts beside its races.
// Predicts: 95 % of the winners are within 1 % of the best, at half of the device time of measuring
// all of them as often as the winner, and fewer winners are wrong than the tuner's.
// What that missed, on one H100: the winners of both were right in all 80 races without a load.
#include "support/bursts.hpp"
#include "support/result.hpp"

#include <assay/core/child_process.hpp>
#include <assay/race.cuh>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace assay;

constexpr int n = 1024;     // of the product
constexpr int side = 4096;  // of the stencil

/// C = A x B by tiles of `M` x `N`, in steps of `K`; each thread has `T` x `T` elements.
template <int M, int N, int K, int T>
__global__ void product(float const* a, float const* b, float* c) {
  constexpr int across = N / T;
  constexpr int threads = M / T * across;
  __shared__ float tile_a[K][M];
  __shared__ float tile_b[K][N];
  int const row = blockIdx.y * M;
  int const col = blockIdx.x * N;
  int const own_row = threadIdx.x / across * T;
  int const own_col = threadIdx.x % across * T;
  float sum[T][T] = {};
  for (int step = 0; step < n; step += K) {
    for (int i = threadIdx.x; i < M * K; i += threads) {
      tile_a[i % K][i / K] = a[(row + i / K) * n + step + i % K];
    }
    for (int i = threadIdx.x; i < K * N; i += threads) {
      tile_b[i / N][i % N] = b[(step + i / N) * n + col + i % N];
    }
    __syncthreads();
    for (int k = 0; k < K; ++k) {
      for (int i = 0; i < T; ++i) {
        for (int j = 0; j < T; ++j) {
          sum[i][j] += tile_a[k][own_row + i] * tile_b[k][own_col + j];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < T; ++j) { c[(row + own_row + i) * n + col + own_col + j] = sum[i][j]; }
  }
}

/// The mean of five neighbours; each thread goes down `rows` rows.
__global__ void stencil(float const* x, float* y, int rows) {
  int const col = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int const first = (blockIdx.y * blockDim.y + threadIdx.y) * rows + 1;
  if (col >= side - 1) { return; }
  for (int row = first; row < min(first + rows, side - 1); ++row) {
    float const* const at = x + row * side + col;
    y[row * side + col] = 0.2F * (at[0] + at[-1] + at[1] + at[-side] + at[side]);
  }
}

/// `steps` dependent multiply-adds in each thread.
__global__ void chain(float* out, int steps) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  auto x = static_cast<float>(i);
  for (int s = 0; s < steps; ++s) { x = x * 0.5F + 1.0F; }
  out[i] = x;
}

/// Makes one configuration's arrays and launch.
using factory = std::function<std::function<void(cudaStream_t)>(setup&)>;
struct configuration {
  std::string name;
  factory make;
};

template <int M, int N, int K, int T>
void add_product(std::vector<configuration>& to) {
  if constexpr (M * N / T / T <= 1024 && M * N / T / T >= 32) {
    auto const name = std::to_string(M) + "x" + std::to_string(N) + "x" + std::to_string(K) + "/" +
                      std::to_string(T);
    to.push_back({name, [](setup& make) -> std::function<void(cudaStream_t)> {
                    auto const a = make.random<float>(std::size_t{n} * n);
                    auto const b = make.random<float>(std::size_t{n} * n);
                    auto const c = make.output<float>(std::size_t{n} * n);
                    return [=](cudaStream_t s) {
                      product<M, N, K, T><<<dim3{n / N, n / M}, M * N / T / T, 0, s>>>(
                          a.data(), b.data(), c.data());
                    };
                  }});
  }
}

template <int M, int N, int T>
void add_steps(std::vector<configuration>& to) {
  add_product<M, N, 8, T>(to);
  add_product<M, N, 16, T>(to);
  add_product<M, N, 32, T>(to);
}

/// 48: 18 with 2 x 2 elements in a thread, 27 with 4 x 4 and three of 8 x 8.
std::vector<configuration> products() {
  std::vector<configuration> all;
  add_steps<32, 32, 2>(all);
  add_steps<32, 64, 2>(all);
  add_steps<64, 32, 2>(all);
  add_steps<64, 64, 2>(all);
  add_steps<32, 128, 2>(all);
  add_steps<128, 32, 2>(all);
  add_steps<32, 32, 4>(all);
  add_steps<32, 64, 4>(all);
  add_steps<32, 128, 4>(all);
  add_steps<64, 32, 4>(all);
  add_steps<64, 64, 4>(all);
  add_steps<64, 128, 4>(all);
  add_steps<128, 32, 4>(all);
  add_steps<128, 64, 4>(all);
  add_steps<128, 128, 4>(all);
  add_product<64, 64, 8, 8>(all);
  add_product<64, 128, 8, 8>(all);
  add_product<128, 128, 8, 8>(all);
  return all;
}

std::vector<configuration> stencils() {
  std::vector<configuration> all;
  for (auto const& at :
       space{{"x", {32, 64, 128, 256}}, {"y", {1, 2, 4}}, {"rows", {1, 2, 4, 8}}}.points()) {
    dim3 const block{static_cast<unsigned>(at["x"]), static_cast<unsigned>(at["y"])};
    int const rows = static_cast<int>(at["rows"]);
    unsigned const down = block.y * static_cast<unsigned>(rows);
    dim3 const grid{(side + block.x - 1) / block.x, (side + down - 1) / down};
    all.push_back({at.label(), [=](setup& make) -> std::function<void(cudaStream_t)> {
                     auto const x = make.random<float>(std::size_t{side} * side);
                     auto const y = make.output<float>(std::size_t{side} * side);
                     return [=](cudaStream_t s) {
                       stencil<<<grid, block, 0, s>>>(x.data(), y.data(), rows);
                     };
                   }});
  }
  return all;
}

constexpr int shortest = 8000;  // of some 20 us

/// The steps of the dense space; the first is the best.
std::vector<int> lengths() {
  std::vector<int> all{shortest};
  while (all.size() < 48) {
    all.push_back(shortest * 1012 / 1000 + 4 * (static_cast<int>(all.size()) - 1));
  }
  return all;
}

std::vector<configuration> chains() {
  std::vector<configuration> all;
  for (int const steps : lengths()) {
    all.push_back({std::to_string(steps), [=](setup& make) -> std::function<void(cudaStream_t)> {
                     auto const out = make.output<float>(std::size_t{1} << 16U);
                     return [=](cudaStream_t s) { chain<<<256, 256, 0, s>>>(out.data(), steps); };
                   }});
  }
  return all;
}

std::vector<double> ratios_of_chains() {
  std::vector<double> all;
  for (int const steps : lengths()) { all.push_back(static_cast<double>(steps) / shortest); }
  return all;
}

std::vector<candidate> candidates_of(std::vector<configuration> const& all) {
  std::vector<candidate> made;
  for (auto const& each : all) { made.emplace_back(each.name, factory{each.make}); }
  return made;
}

/// The ratio of each to the best, by 41 epochs over all: at this level no sooner one is dropped.
std::vector<double> truth_of(std::vector<candidate> const& all, on::device place) {
  auto const found = race(
      all, {.margin = 1e-9, .alpha = 1e-12, .max_epochs = 41, .max_seconds = 1e9, .place = place});
  std::cout << found;
  double best = 1e300;
  for (auto const& each : found.racers) {
    if (each.ratio > 0) { best = std::min(best, each.ratio); }
  }
  std::vector<double> ratios;
  for (auto const& each : found.racers) {  // those cut off are far from the best
    ratios.push_back(each.ratio > 0 ? each.ratio / best : 2);
  }
  return ratios;
}

double cells_of(race_result const& of) {
  double cells = 0;
  for (auto const& epoch : of.epochs) {
    for (double const each : epoch.seconds) { cells += std::isfinite(each) ? epoch.cells : 0; }
  }
  return cells;
}

/// The smallest median of `cells` cells in a row, in one build of each.
std::size_t smallest_of_medians(std::vector<candidate> const& all, race_result const& beside,
                                on::device place, int cells, std::uint64_t seed) {
  std::size_t best = 0;
  double smallest = 1e300;
  for (std::size_t i = 0; i < all.size(); ++i) {
    measure::options const there{.place = place};
    auto const built = measure::variant_of(all[i].place, all[i].called, there)
                           .build({static_cast<int>(i), seed, 0});
    built->warm(0, 3);
    std::vector<double> seconds;
    for (int k = 0; k < cells; ++k) {
      built->warm(k % 2, 3);
      seconds.push_back(built->time(k % 2, beside.launches)[measure::clock::gpu]);
    }
    auto const median = stats::summarise(seconds).median;
    if (median < smallest) {
      smallest = median;
      best = i;
    }
  }
  return best;
}

/// `truth` has the ratio of each to the best; empty: it is measured first.
report::document study(std::string const& name, std::vector<configuration> const& configurations,
                       benchmark::options const& chosen, int races,
                       std::vector<double> truth = {}) {
  auto const all = candidates_of(configurations);
  if (truth.empty()) { truth = truth_of(all, chosen.place); }
  int near = 0, medians_near = 0, decided = 0, best_dropped = 0;
  double saved = 0, seconds = 0;
  auto const best = static_cast<std::size_t>(std::ranges::min_element(truth) - truth.begin());
  for (int i = 0; i < races; ++i) {
    auto const found = race(all, {.max_seconds = 10, .place = chosen.place});
    if (found.leader < 0) {
      std::printf("%s %d: no winner: %s\n", name.c_str(), i + 1, found.failure.c_str());
      continue;
    }
    if (i == 0) { std::cout << found; }
    near += truth[static_cast<std::size_t>(found.leader)] <= 1.01 ? 1 : 0;
    decided += found.decided ? 1 : 0;
    best_dropped += found.racers[best].survived ? 0 : 1;
    saved += found.cells_saved / races;
    seconds += found.seconds / races;
    int const cells =
        std::max(1, static_cast<int>(cells_of(found) / static_cast<double>(all.size())));
    auto const tuned = smallest_of_medians(all, found, chosen.place, cells, found.seed);
    medians_near += truth[tuned] <= 1.01 ? 1 : 0;
    std::printf("%s %d: winner %.4f of the best, by the smallest of medians %.4f; %.1f s\n",
                name.c_str(), i + 1, truth[static_cast<std::size_t>(found.leader)], truth[tuned],
                found.seconds);
    std::fflush(stdout);  // a run that is cut short has told what it had
  }
  std::printf(
      "%s: %d of %d winners within 1 %% of the best, %d by the smallest of medians; %d decided, "
      "the "
      "best dropped in %d, %.0f %% of timed seconds saved, %.2f s a race\n",
      name.c_str(), near, races, medians_near, decided, best_dropped, 100 * saved, seconds);
  return {
      {"configurations", all.size()},
      {"races", races},
      {"within_1_percent", near},
      {"medians_within_1_percent", medians_near},
      {"decided", decided},
      {"best_dropped", best_dropped},
      {"cells_saved", saved},
      {"seconds_per_race", seconds},
      {"near_the_best", std::ranges::count_if(truth, [](double each) { return each <= 1.01; })}};
}

/// This program as the load, `--load DEVICE`: copies in bursts.
[[noreturn]] void load_in_bursts(on::device place) {
  check(cudaSetDevice(place.id));
  constexpr std::size_t bytes = std::size_t{256} << 20U;
  void* block = nullptr;
  check(cudaMalloc(&block, 2 * bytes));
  benchmark::work_in_bursts(stats::draw_seed(), true, [&] {
    check(cudaMemcpy(block, static_cast<std::byte*>(block) + bytes, bytes, cudaMemcpyDefault));
    check(cudaDeviceSynchronize());
  });
}

report::document beside_bursts(benchmark::options const& chosen, int races) {
  child_process const load{{"/proc/self/exe", "--load", std::to_string(chosen.place.id)}};
  std::this_thread::sleep_for(std::chrono::seconds{3});  // a context takes about 1 s
  return study("dense, beside bursts", chains(), chosen, races, ratios_of_chains());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string{argv[1]} == "--load") {
    load_in_bursts(on::device{std::stoi(argv[2])});
  }
  std::string only;
  int races = 0;
  auto const body = [&](benchmark::options const& chosen, report::document& figures) {
    auto const run = [&](char const* name, auto const& of) {
      if (!only.empty() && only != name) { return; }
      figures[name] = of(races > 0 ? races : chosen.quick ? 2 : 40);
      chosen.save(figures);
    };
    run("product", [&](int count) { return study("product", products(), chosen, count); });
    run("stencil", [&](int count) { return study("stencil", stencils(), chosen, count); });
    run("dense", [&](int count) { return beside_bursts(chosen, count); });
  };
  return benchmark::run(
      argc, argv, "race", body,
      {{"--only", "SPACE", "product, stencil or dense", [&](auto const& text) { only = text; }},
       {"--races", "N", "races in each space; 40 by default",
        [&](auto const& text) { races = std::stoi(text); }}});
}
