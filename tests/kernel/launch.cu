// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/verify.cuh>

#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::kernel {

template <class T>
__global__ void count_visits(T* visits, std::int64_t count, T by) {
  for (std::int64_t const i : grid_stride(count)) { atomicAdd(visits + i, by); }
}

template <int Unused>
__global__ void no_parameters() {}

}  // namespace assay::kernel

using namespace assay;

TEST_CASE("a grid-stride launch visits each index exactly once", "[kernel]") {
  on::device const place{0};
  auto const factory = [place](setup& make, std::size_t n) {
    auto const visits = make.inout<unsigned>(n);
    make.expect(visits, [visits](std::size_t i) { return visits.seeded(i) + 1U; });
    auto const kernel = kernel::count_visits<unsigned>;
    auto const shape = kernel::stride_shape(kernel, place, n, 256);
    CHECK(shape.blocks >= 1);
    CHECK(shape.blocks <= kernel::resident_shape(kernel, place, 256).blocks);
    return [=](cudaStream_t on) {
      kernel::launch(kernel, shape, 0, on, visits.data(), static_cast<std::int64_t>(n), 1U);
    };
  };
  auto const seen = verify(factory, {.only = {0, 1, 255, 256, 257, 1'000'003}});
  REQUIRE(seen);
}

TEST_CASE("a kernel without parameters can be launched", "[kernel]") {
  stream const on{on::device{0}};
  kernel::launch(kernel::no_parameters<0>, 3, 32, 0, on);
  on.synchronize();
}

TEST_CASE("the resident shape is a whole number of blocks for each SM", "[kernel]") {
  on::device const place{0};
  int const sms = attribute(place, cudaDevAttrMultiProcessorCount);
  auto const shape = kernel::resident_shape(kernel::no_parameters<1>, place, 128);
  CHECK(static_cast<int>(shape.blocks) % sms == 0);
  CHECK(shape.threads == 128);
  CHECK(shape == kernel::resident_shape(kernel::no_parameters<1>, place, 128));
}

TEST_CASE("a launch that fails names the kernel and its shape", "[kernel]") {
  stream const on{on::device{0}};
  try {
    kernel::launch(kernel::no_parameters<2>, 1, 4096, 0, on);
    FAIL("a block of 4096 threads was launched");
  } catch (kernel::launch_error const& failed) {
    std::string const what = failed.what();
    INFO(what);
    bool const refused =
        failed.code() == cudaErrorInvalidConfiguration || failed.code() == cudaErrorInvalidValue;
    CHECK(refused);
    CHECK(what.find("no_parameters") != std::string::npos);
    CHECK(what.find("{4096, 1, 1}") != std::string::npos);
  }
  kernel::launch(kernel::no_parameters<2>, 1, 32, 0, on);
  on.synchronize();
}
