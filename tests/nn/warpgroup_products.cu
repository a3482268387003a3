// SPDX-License-Identifier: Apache-2.0
// assay-architectures: 90a
/// @file
/// Products of tiles, by warps and by a warpgroup: exact, since all sums are small whole numbers.
#include "catch.hpp"
#include "device_array.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/nn/warpgroup_products.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace assay;

namespace {

constexpr int size = 64;
constexpr int threads = 128;
template <int HeadSize>
using tile_of = nn::detail::row_tile<size, HeadSize>;

/// scores = a b^T of 64 x 64 and sums = scores b, `columns` of the products at once. (The passes
/// for host and device may differ in what `products_of` is: no kernel has it as an argument.)
template <int HeadSize, bool Together>
__global__ void multiply(bfloat16 const* a, bfloat16 const* b, float* scores, float* sums) {
  if constexpr (ptx::architecture >= 80) {
    using tile = tile_of<HeadSize>;
    using products = std::conditional_t<Together, nn::detail::products_of<HeadSize>,
                                        nn::detail::products_by_warp>;
    auto* const a_tile = nn::detail::swizzle_aligned(kernel::dynamic_shared());
    auto* const b_tile = a_tile + tile::bytes;
    nn::detail::start_rows<tile, threads>(a_tile, a, HeadSize, size);
    nn::detail::start_rows<tile, threads>(b_tile, b, HeadSize, size);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    products::settle_copies();
    __syncthreads();
    int const first = static_cast<int>(threadIdx.x) / 32 * 16;
    auto const put = [first](float* to, int width, int column, auto& from) {
      nn::detail::for_each_sum(from, [&](float& sum, nn::detail::place_of_sum at) {
        to[(first + at.row) * width + column + at.column] = sum;
      });
    };
    typename products::template kept_rows<tile> const rows{a_tile, first};
    float sum[HeadSize / 8][4];
    nn::detail::clear(sum);
    for (int c = 0; c < size; c += products::columns) {
      float score[products::columns / 8][4];
      products::template start_transposed<tile>(score, rows, b_tile, c);
      products::template await<0>(score);
      put(scores, size, c, score);
      products::template start<tile>(sum, score, b_tile, c);
      products::template await<0>(sum);
    }
    put(sums, HeadSize, 0, sum);
  }
}

/// -1, 0 or 1.
std::vector<bfloat16> few_values(std::size_t count, std::uint64_t seed) {
  std::vector<bfloat16> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = bfloat16{static_cast<float>(random_value(uniform<int>{-1, 1}, seed, i))};
  }
  return made;
}

template <int HeadSize, bool Together>
void check_products() {
  INFO("head size " << HeadSize << (Together ? ", by a warpgroup where it is one" : ", by warps"));
  constexpr int count = size * HeadSize, scores = size * size;
  auto const a = few_values(count, 1), b = few_values(count, 2);
  examples::device_array<bfloat16> const on_a{count}, on_b{count};
  examples::device_array<float> const found{scores + count};
  check(cudaMemcpy(on_a.get(), a.data(), 2 * count, cudaMemcpyDefault));
  check(cudaMemcpy(on_b.get(), b.data(), 2 * count, cudaMemcpyDefault));
  stream const where{on::device{0}};
  constexpr int shared_bytes = nn::detail::swizzle_bytes + 2 * tile_of<HeadSize>::bytes;
  kernel::launch(multiply<HeadSize, Together>, dim3{1}, dim3{threads}, shared_bytes, where,
                 on_a.get(), on_b.get(), found.get(), found.get() + scores);
  where.synchronize();
  std::vector<float> values(scores + count);
  check(cudaMemcpy(values.data(), found.get(), 4 * values.size(), cudaMemcpyDefault));
  auto const at = [](auto const& of, int row, int d) {
    return static_cast<float>(of[static_cast<std::size_t>(row * HeadSize + d)]);
  };
  for (int i = 0; i < size; ++i) {
    std::vector<float> sum(HeadSize);
    for (int j = 0; j < size; ++j) {
      float score = 0;
      for (int d = 0; d < HeadSize; ++d) { score += at(a, i, d) * at(b, j, d); }
      for (int d = 0; d < HeadSize; ++d) { sum[d] += score * at(b, j, d); }
      CAPTURE(i, j);
      REQUIRE(values[i * size + j] == score);
    }
    for (int d = 0; d < HeadSize; ++d) {
      CAPTURE(i, d);
      REQUIRE(values[scores + i * HeadSize + d] == sum[d]);
    }
  }
}

}  // namespace

TEST_CASE("products of tiles by warps and by a warpgroup are exact", "[nn]") {
  check_products<64, false>();
  check_products<64, true>();
  check_products<80, false>();
  check_products<80, true>();
  check_products<128, false>();
  check_products<128, true>();
}
