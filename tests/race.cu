// SPDX-License-Identifier: Apache-2.0
/// @file
/// The best of many launches: known work, a wrong kernel, one that cannot start, and large buffers.
// assay-test-timeout: 600

#include "catch.hpp"

#include <assay/race.cuh>
#include <assay/race/result.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// `steps` dependent multiply-adds in each thread.
__global__ void chain(float* out, int steps) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  auto x = static_cast<float>(i);
  for (int s = 0; s < steps; ++s) { x = x * 0.5F + 1.0F; }
  out[i] = x;
}

__global__ void fill(float* out, float value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

auto steps(int count) {
  return [count](setup& make) {
    auto const out = make.output<float>(std::size_t{1} << 16U);
    return [=](cudaStream_t s) { chain<<<256, 256, 0, s>>>(out.data(), count); };
  };
}

/// Writes `value` where 1 is right, with blocks of `block` threads.
auto filling(float value, unsigned block) {
  return [=](setup& make) {
    auto const out = make.output<float>(4096);
    make.expect(out, [](std::size_t) { return 1; });
    return [=](cudaStream_t s) { fill<<<4096 / block, block, 0, s>>>(out.data(), value); };
  };
}

}  // namespace

TEST_CASE("the shortest of 20 chains of launches wins, by the gpu clock") {
  std::vector<candidate> all;
  int const candidates = test::small() ? 3 : 20;
  for (int i = 0; i < candidates; ++i) {
    int const count = 2000 + 100 * ((7 * i) % 20);
    all.emplace_back(std::to_string(count), steps(count));
  }
  auto const found = race(all, {.max_seconds = test::small() ? 3.0 : 30.0});
  INFO(report::race_text(found, 20));
  // A sanitizer makes the first launches of each candidate many times slower, in no fair order.
  if (!test::small()) {
    CHECK(found.winner() == "2000");
    CHECK(found.decided);
  }
  CHECK(found.primary == measure::clock::gpu);
  CHECK_FALSE(found.where.device.empty());
}

TEST_CASE("a wrong launch is never timed, and one that cannot start is listed") {
  auto const found = race("wrong", filling(2, 256), "right", filling(1, 256), "too large",
                          filling(1, 2048), "also right", filling(1, 128));
  INFO(report::race_text(found));
  CHECK_THAT(found.racers[0].out, contains("before timing") && contains("is 2, expected 1"));
  CHECK_THAT(found.racers[2].out, contains("too large") && contains("cudaError"));
  CHECK(found.best().name.find("right") != std::string::npos);
}

TEST_CASE("a space of block sizes has a winner with its constants") {
  auto const found = race(space{{"block", {32, 256, 1024}}}, [](point const& at) {
    return filling(1, static_cast<unsigned>(at["block"]));
  });
  INFO(report::race_text(found));
  CHECK_THAT(report::race_header(found), contains("inline constexpr long long block = "));
}
