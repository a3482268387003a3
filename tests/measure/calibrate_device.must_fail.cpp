// expect-error: a task with run(cudaStream_t, ...) needs <assay/dispatch/device.hpp>
// SPDX-License-Identifier: Apache-2.0
// The header with the device paths is named where it is missing.
#include <assay/measure/calibrate.hpp>

#include <span>
#include <string_view>
#include <tuple>

struct doubled {
  std::span<float> y;
  static constexpr std::string_view name = "doubled";
  assay::dispatch::work work() const { return {.size = y.size(), .bytes = 1}; }
  auto arrays() const { return std::tuple{assay::dispatch::inout(y)}; }
  void run(assay::on::host, float*) const {}
  void run(assay::dispatch::native_stream, float*) const {}
};

int main() { assay::measure::calibrate<doubled>({assay::on::host{1}}, {}); }
