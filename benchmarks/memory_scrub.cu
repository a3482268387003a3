// SPDX-License-Identifier: Apache-2.0
// What does freeing memory cost those who go on? Frees up to 80 GiB and copies 1 GiB over and over
// at once, and once more after a pause. Predicts: nothing. Measured: the device clears the freed
// memory in the background, some 2.2 ms a GiB, and copies are an eighth slower meanwhile.
#include "support/result.hpp"

#include <assay/core/stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace assay;

constexpr std::size_t gib = std::size_t{1} << 30U;

struct free_device {
  void operator()(std::byte* pointer) const noexcept { check_noexcept(cudaFree(pointer)); }
};
using block = std::unique_ptr<std::byte, free_device>;

block allocate(std::size_t bytes) {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, bytes));
  return block{static_cast<std::byte*>(pointer)};
}

struct slowed {
  double seconds = 0;                ///< until the last slow copy ended
  double slow_bytes_per_second = 0;  ///< median of the slow copies
  double bytes_per_second = 0;       ///< median of the others
};

double median(std::vector<double> of) {
  if (of.empty()) { return 0; }
  auto const middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

/// Copies for as long as the clearing could take; slow is what takes 4 % longer than the last half.
slowed copy_on(::cuda::stream_ref where, block const& from, block const& to, int copies) {
  std::vector<event> marks;
  for (int i = 0; i <= copies; ++i) { marks.emplace_back(event::kind::timed); }
  marks[0].record(where);
  for (int i = 0; i < copies; ++i) {
    check(cudaMemcpyAsync(to.get(), from.get(), gib, cudaMemcpyDeviceToDevice, where.get()));
    marks[static_cast<std::size_t>(i) + 1].record(where);
  }
  check(cudaStreamSynchronize(where.get()));
  std::vector<double> rates;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    rates.push_back(2.0 * gib / marks[i].seconds_since(marks[i - 1]));
  }
  slowed found;
  found.bytes_per_second = median({rates.begin() + copies / 2, rates.end()});
  std::vector<double> slow;
  for (std::size_t i = 1; i < rates.size(); ++i) {  // the first copy starts an idle device
    if (rates[i] > found.bytes_per_second / 1.04) { continue; }
    slow.push_back(rates[i]);
    found.seconds = marks[i + 1].seconds_since(marks[0]);
  }
  found.slow_bytes_per_second = median(slow);
  return found;
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  auto const from = allocate(gib);
  auto const to = allocate(gib);
  stream const where{chosen.place};
  check(cudaMemset(from.get(), 0x5a, gib));
  auto const pause = std::chrono::milliseconds{500};
  for (std::size_t const freed : {0, 2, 10, 40, 80}) {
    for (bool const paused : {false, true}) {
      std::this_thread::sleep_for(pause);
      std::vector<block> held;
      for (std::size_t done = 0; done < freed; done += 2) { held.push_back(allocate(2 * gib)); }
      held.clear();
      if (paused) { std::this_thread::sleep_for(pause); }
      auto const found = copy_on(where, from, to, 100 + 12 * static_cast<int>(freed));
      std::printf("freed %2zu GiB%s: %5.1f ms of slow copies at %.2f, then %.2f TB/s\n", freed,
                  paused ? ", after a pause" : "               ", found.seconds * 1e3,
                  found.slow_bytes_per_second * 1e-12, found.bytes_per_second * 1e-12);
      figures["rows"].push_back({{"freed_gib", freed},
                                 {"paused", paused},
                                 {"slow_seconds", found.seconds},
                                 {"slow_bytes_per_second", found.slow_bytes_per_second},
                                 {"bytes_per_second", found.bytes_per_second}});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "memory_scrub", measure_all);
}
