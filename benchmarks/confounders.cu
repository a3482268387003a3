// SPDX-License-Identifier: Apache-2.0
// Can a label own an advantage that no variant has? The time of this equal work depends on chance:
// on the address of a buffer, on the content of the cache, on the order of first launches.
// 100 comparisons of each. Predicts: at most 5 of 100 say FASTER or SLOWER.

#include "support/calibration.cuh"
#include "support/resumable_trials.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace assay::benchmark {

namespace kernel {

/// `steps` dependent multiply-adds in each thread, then one store.
template <class T>
__global__ void chain(T* out, int steps) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  T x = static_cast<T>(i);
  for (int s = 0; s < steps; ++s) { x = x * T(0.5) + T(1); }
  out[i] = x;
}

/// Adds up two arrays, always in the same order.
template <class T>
__global__ void read_both(T const* common, T const* own, std::size_t count, T* out) {
  T sum = 0;
  for (std::size_t const i : assay::kernel::grid_stride(count)) { sum += common[i] + own[i]; }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

}  // namespace kernel

namespace {

constexpr unsigned blocks = 528;  // four for each of 132 SMs
constexpr unsigned threads = 256;
constexpr int steps = 4000;  // about 10 us

/// Each of the address bits 12 to 14 of the output adds 1 % of work.
enqueue_function placed(setup& make) {
  auto const out = make.output<float>(std::size_t{blocks} * threads);
  auto const bits = reinterpret_cast<std::uintptr_t>(out.data()) >> 12U;
  auto const set = static_cast<int>((bits & 1U) + (bits >> 1U & 1U) + (bits >> 2U & 1U));
  return [=](cudaStream_t on) {
    kernel::chain<float><<<blocks, threads, 0, on>>>(out.data(), steps + set * steps / 100);
  };
}

/// All variants read one array of 20 MiB, and one of their own: the L2 cache of 50 MiB cannot hold
/// the arrays of two variants.
work_maker warm_cache(on::device place) {
  constexpr std::size_t count = (std::size_t{20} << 20U) / sizeof(float);
  auto const filled_on = std::make_shared<stream>(place);
  auto const own = std::make_shared<setup>(own_arrays(place, *filled_on, 1));
  auto const common = own->random<float>(count);
  filled_on->synchronize();
  return [=](setup& make) -> enqueue_function {
    auto const mine = make.random<float>(count);
    auto const out = make.output<float>(std::size_t{blocks} * threads);
    // The stream and the common array live as long as the work.
    return [=, keep = std::pair{filled_on, own}](cudaStream_t on) {
      kernel::read_both<float>
          <<<blocks, threads, 0, on>>>(common.data(), mine.data(), count, out.data());
    };
  };
}

/// The first launch of each new work takes a block from a pool that all share, and is slow. The
/// pool's first block is the fastest, each later one adds 0.5 % of work. An epoch takes six blocks.
enqueue_function first_touch(setup& make) {
  static std::atomic<int> taken{0};
  auto const out = make.output<float>(std::size_t{blocks} * threads);
  auto const rank = std::make_shared<int>(-1);
  return [=](cudaStream_t on) {
    if (*rank < 0) {
      *rank = taken++ % 6;
      for (int i = 0; i < 100; ++i) {
        kernel::chain<float><<<blocks, threads, 0, on>>>(out.data(), steps);
      }
    }
    kernel::chain<float><<<blocks, threads, 0, on>>>(out.data(), steps + *rank * steps / 200);
  };
}

/// The work is made when a comparison begins, so that `--list` needs no device.
trial_kind kind_of(std::string name, on::device const& place,
                   std::function<work_maker()> const& made) {
  return {std::move(name), {"factory"}, [&place, made](std::string const&) {
            auto const work = made();
            return compare("a", work, "b", work, measure::options{.place = place});
          }};
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  on::device place;
  std::vector<trial_kind> const kinds{
      kind_of("placement", place, [] { return work_maker{placed}; }),
      kind_of("warm_cache", place, [&place] { return warm_cache(place); }),
      kind_of("first_touch", place, [] { return work_maker{first_touch}; })};
  if (lists_kinds(argc, argv, kinds)) { return 0; }
  trial_plan plan;
  return benchmark::run(
      argc, argv, "confounders",
      [&](benchmark::options const& chosen, report::document& figures) {
        place = chosen.place;
        if (chosen.quick) { plan.count = 2; }
        resumable_trials trials{chosen, plan, figures};
        trials.run("factories", kinds);
        trials.count_false_alarms("factories", kinds);
      },
      plan.options());
}
