// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/kernel/launch.cuh>
#include <assay/measure/launch_subject.cuh>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::kernel {

/// Counts one launch, and takes so many cycles.
template <class T>
__global__ void count_launch(T* count, long long cycles) {
  auto const begin = clock64();
  while (clock64() - begin < cycles) {}
  *count += T{1};
}

}  // namespace assay::kernel

using namespace assay;

namespace {

/// Launches that count themselves, one counter for each buffer_set, in managed memory.
struct counters {
  counters() {
    check(cudaMallocManaged(&values, 2 * sizeof(int)));
    values[0] = values[1] = 0;
  }
  counters(counters const&) = delete;
  counters& operator=(counters const&) = delete;
  ~counters() { check_noexcept(cudaFree(values)); }

  measure::stream_work work(long long cycles) const {
    auto* const at = values;
    return {[at, cycles](cuda::stream_ref on, int buffer_set) {
      kernel::launch(kernel::count_launch<int>, 1, 1, 0, on, at + buffer_set, cycles);
    }};
  }
  int* values = nullptr;
};

}  // namespace

TEST_CASE("a cell launches as often as it is told, in its buffer set", "[measure]") {
  counters count;
  measure::stream_subject subject{on::device{0}, count.work(0)};
  subject.warm(0, 2);
  subject.time(0, 5);
  CHECK(count.values[0] == 7);
  CHECK(count.values[1] == 0);
  subject.warm(1, 2);
  subject.time(1, 3);
  CHECK(count.values[0] == 7);
  CHECK(count.values[1] == 5);
  CHECK_FALSE(subject.verify(1).has_value());
  CHECK(count.values[1] == 6);
}

TEST_CASE("the clocks of a cell agree with what its launches do", "[measure]") {
  counters count;
  measure::stream_subject subject{on::device{0}, count.work(1'000'000)};
  subject.warm(0, 20);
  subject.time(0, 20);
  subject.warm(0, 2);
  auto const cell = subject.time(0, 20);
  auto const gpu = cell[measure::clock::gpu];
  INFO("gpu " << gpu << " wall " << cell[measure::clock::wall] << " submit "
              << cell[measure::clock::submit] << " s, SM " << cell.sm_hertz * 1e-6 << " MHz");
  if (test::small()) { return; }
  // A launch is a million cycles and what it takes to begin the next one.
  CHECK(gpu * cell.sm_hertz > 1e6);
  CHECK(gpu * cell.sm_hertz < 1.05e6);
  CHECK(cell[measure::clock::wall] > 0.95 * gpu);
  CHECK(cell[measure::clock::wall] < 1.5 * gpu);
  CHECK(cell[measure::clock::submit] > 0);
  CHECK(cell[measure::clock::submit] < 0.5 * gpu);  // queued ahead, not one at a time

  measure::stream_subject twice{on::device{0}, count.work(2'000'000)};
  twice.warm(0, 2);
  auto const slower = twice.time(0, 20);
  auto const cycles = [](auto const& c) { return c[measure::clock::gpu] * c.sm_hertz; };
  CHECK(std::abs(cycles(slower) / cycles(cell) - 2) < 0.05);
}

TEST_CASE("verification poisons, runs once, and tells what the verifier says", "[measure]") {
  counters count;
  auto work = count.work(0);
  work.poison = [&](cuda::stream_ref on, int buffer_set) {
    check(cudaStreamSynchronize(on.get()));
    count.values[buffer_set] = 100;
  };
  work.verify = [&](cuda::stream_ref, int buffer_set) -> std::optional<std::string> {
    if (count.values[buffer_set] == 101) { return std::nullopt; }
    return "buffer set " + std::to_string(buffer_set) + " holds " + std::to_string(count.values[buffer_set]);
  };
  auto made = measure::stream_variant("counting", on::device{0}, work);
  CHECK(made.label == "counting");
  auto const subject = made.build(measure::epoch{});
  CHECK_FALSE(subject->verify(0).has_value());
  CHECK_FALSE(subject->verify(1).has_value());

  work.launch = [](cuda::stream_ref, int) {};
  measure::stream_subject idle{on::device{0}, work};
  CHECK(idle.verify(1) == "buffer set 1 holds 100");
}

TEST_CASE("a subject refuses what it cannot measure", "[measure]") {
  CHECK_THROWS_AS((measure::stream_subject{on::device{0}, {}}), std::invalid_argument);
  counters count;
  measure::stream_subject subject{on::device{0}, count.work(0)};
  CHECK_THROWS_AS(subject.time(0, 0), std::invalid_argument);
}
