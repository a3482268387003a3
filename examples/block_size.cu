// SPDX-License-Identifier: Apache-2.0
// Which block size? A factory makes the buffers anew in each epoch, and gives the right results.
#include <assay/compare.cuh>

#include <iostream>

constexpr std::size_t n = std::size_t{1} << 24;

__global__ void scale_kernel(float const* x, float* y) {
  std::size_t const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = 2 * x[i]; }
}

auto scale(unsigned block) {
  return [block](assay::setup& make) {
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    make.moves(8.0 * n);
    make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
    unsigned const blocks = (n + block - 1) / block;
    return [=](cudaStream_t s) { scale_kernel<<<blocks, block, 0, s>>>(x.data(), y.data()); };
  };
}

int main() try {
  std::cout << assay::compare_all("64", scale(64), "128", scale(128), "256", scale(256), "1024",
                                  scale(1024), assay::options{.margin = 0.02});
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
