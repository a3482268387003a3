// SPDX-License-Identifier: Apache-2.0
// One task on the host or on a device: measured once, saved, and decided anew for each call.
#include <assay/dispatch/device.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/pool/pool.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <vector>

namespace dispatch = assay::dispatch;
namespace on = assay::on;

__global__ void saxpy_kernel(float a, float const* x, float* y, std::size_t count) {
  auto const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) { y[i] += a * x[i]; }
}

struct saxpy {
  float a;
  std::span<float const> x;
  std::span<float> y;
  static constexpr std::string_view name = "saxpy";
  dispatch::work work() const { return {.size = x.size(), .bytes = 12.0 * x.size()}; }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::inout(y)}; }
  void run(on::host place, float const* from, float* to) const {
    assay::host::parallel_for(place.threads, std::ssize(x), 4096, [=, a = a](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) { to[i] += a * from[i]; }
    });
  }
  void run(cudaStream_t stream, float const* from, float* to) const {
    saxpy_kernel<<<(x.size() + 255) / 256, 256, 0, stream>>>(a, from, to, x.size());
  }
};

saxpy make_saxpy(assay::setup& arrays, std::size_t size) {
  auto const x = arrays.random<float>(size);
  auto const y = arrays.inout<float>(size);
  return {2.0F, {x.data(), size}, {y.data(), size}};
}

int main() try {
  on::device const gpu{0};
  on::host const several{std::min(4, assay::host::all_threads())};
  auto const costs = assay::measure::calibrate<saxpy>({on::host{1}, several, gpu},
                                                      {.sizes = {1, 1 << 24}, .make = make_saxpy});
  dispatch::save("saxpy.costs", costs);
  assay::stream const stream{gpu};
  dispatch::engine const run{dispatch::load("saxpy.costs", gpu), assay::mr::pool{}.open(gpu)};
  for (std::size_t const size : {1'000U, 100'000U, 16'000'000U}) {
    std::vector<float> x(size, 1.0F), y(size, 1.0F);
    run(stream, saxpy{2.0F, x, y});
    std::cout << size << " elements on " << run.last() << '\n';
  }
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
