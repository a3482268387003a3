// SPDX-License-Identifier: Apache-2.0
// Which block size, and how many elements for each thread? A race finds both.
#include <assay/race.cuh>

#include <exception>
#include <iostream>

constexpr unsigned n = 1U << 24U;

template <int Items>
__global__ void scale(float const* x, float* y) {
  unsigned const first = blockIdx.x * blockDim.x * Items + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < Items; ++k) {
    unsigned const i = first + k * blockDim.x;
    if (i < n) { y[i] = 2 * x[i]; }
  }
}

/// Template arguments come from a table, since a point has values of run time.
auto kernel_for(long long items) {
  return items == 1 ? scale<1> : items == 2 ? scale<2> : items == 4 ? scale<4> : scale<8>;
}

int main() try {
  // docs: race
  auto const found = assay::race(
      assay::space{{"block", {64, 128, 256, 512, 1024}}, {"items", {1, 2, 4, 8}}},
      [](assay::point const& at) {
        auto const block = static_cast<unsigned>(at["block"]);
        auto const blocks = n / (block * static_cast<unsigned>(at["items"]));
        auto const kernel = kernel_for(at["items"]);
        return [=](assay::setup& make) {
          auto const x = make.random<float>(n);
          auto const y = make.output<float>(n);
          make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
          return [=](cudaStream_t s) { kernel<<<blocks, block, 0, s>>>(x.data(), y.data()); };
        };
      });
  std::cout << found;
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
