// SPDX-License-Identifier: Apache-2.0
/// @file
/// The problem of the device tests, of 50 us on an H100: y = a x + 1 over 2^24 floats.
#include <assay/referee.cuh>

#include <cstddef>
#include <vector>

#include "device_work.cuh"

int main() {
  assay::problem of;
  of.sizes = {std::size_t{1} << 24, 1 << 16};
  of.held_back = {1, 4'097, (1 << 20) + 13};
  of.declare = [](assay::setup& make, std::size_t n) {
    auto const a = make.scalar("a", {2.0, 1.0, -0.5});  // of which products are exact
    auto const x = make.random<float>(n);
    auto const y = make.output<float>(n);
    make.expect(y, [x, a](std::size_t i) { return a * x.seeded(i) + 1; });
    make.moves(8.0 * static_cast<double>(n));
    make.does(2.0 * static_cast<double>(n));
    return std::vector{a};
  };
  of.reference = [](void* const* buffers, std::size_t const* sizes, int, double const* scalars, int,
                    void* stream) {
    device_task const task{buffers, sizes, scalars};
    return task.run(static_cast<cudaStream_t>(stream));
  };
  return assay::serve_device_problem(of);
}
