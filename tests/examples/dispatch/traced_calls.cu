// SPDX-License-Identifier: Apache-2.0
// assay-uses: cupti
/// @file
/// The items of predictions beside the stages of traced calls, on a GPU.

#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include "dispatch/traced_calls.hpp"
#include "offload/prediction_errors.hpp"
#include <assay/cli/cupti_tracing.hpp>
#include <assay/dispatch/device.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/measure/calibrate.hpp>
#include <assay/stats/summary.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace assay::kernel {

template <class T>
__global__ void traced_saxpy(T a, T const* x, T* y, std::size_t count) {
  for (auto const i : grid_stride(static_cast<std::uint64_t>(count))) { y[i] += a * x[i]; }
}

}  // namespace assay::kernel

using namespace assay;

namespace {

constexpr on::device gpu{0};

struct device_saxpy : test::saxpy {
  using saxpy::run;
  void run(cudaStream_t stream, float const* from, float* to) const {
    auto const shape = kernel::stride_shape(kernel::traced_saxpy<float>, gpu, x.size(), 256);
    kernel::traced_saxpy<float><<<shape.blocks, 256, 0, stream>>>(a, from, to, x.size());
  }
};

device_saxpy make(setup& arrays, std::size_t size) { return {test::make_saxpy(arrays, size)}; }

double value_of(dispatch::traced_values const& of, std::string const& name) {
  for (auto const& [its, value] : of) {
    if (its == name) { return value; }
  }
  return std::nan("");
}

}  // namespace

TEST_CASE("items of a prediction beside the stages of traced calls") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  dispatch::size_range const sizes{1U << 16U, test::small() ? 1U << 18U : 1U << 24U};
  auto const costs = measure::calibrate<device_saxpy>(
      {on::host{1}, gpu}, {.sizes = sizes, .budget_seconds = 4, .make = make, .seed = seed});
  auto const trace = examples::traced_calls(cli::cupti_tracing());
  for (auto const memory : {memory_type::page_locked, memory_type::pageable}) {
    auto const timed = dispatch::time_calls<device_saxpy>(costs, {.sizes = sizes,
                                                                  .count = 24,
                                                                  .make = make,
                                                                  .seed = seed,
                                                                  .memory = memory,
                                                                  .trace = trace});
    for (auto const& call : timed.calls) {
      if (call.traced.empty()) { continue; }  // another tool has the tracer
      auto const of = [&](char const* name) { return value_of(call.traced, name); };
      CHECK(of("kernels_seconds") > 0);
      CHECK(of("to_device_seconds") > 0);
      CHECK(of("to_host_seconds") > 0);
      CHECK(of("idle_seconds") >= 0);
      if (auto const bytes = of("dram_bytes"); std::isfinite(bytes)) { CHECK(bytes > 0); }
    }
    std::map<std::string, std::vector<double>> errors;
    for (auto const& each : examples::stage_pairs(costs, timed)) {
      // A link also has what copies add to a call, some 20 us; the recorder costs as much.
      if (each.traced < 400e-6) { continue; }
      errors[each.stage].push_back(each.predicted / each.traced - 1);
    }
    for (auto& [stage, all] : errors) {
      auto const bias = stats::summarise(all).median;
      for (double& each : all) { each = std::abs(each); }
      auto const median = stats::summarise(all).median;
      std::cout << in_words(memory) << ", " << stage << ": " << all.size()
                << " stages, predictions are off by " << 100 * median << " %, and by " << 100 * bias
                << " % with their sign\n";
      // Fewer stages are calls that something interrupted: a submission takes 10 to 40 us.
      bool const enough = all.size() >= 5;
      if (!test::small() && enough && memory == memory_type::page_locked) { CHECK(median <= 0.10); }
    }
  }
}
