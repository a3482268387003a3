// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arrays as the views of CCCL: mdspans of the layouts that they have, and spans.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/mdspan.hpp>
#include <assay/arrays/setup.hpp>

#include <cuda/std/mdspan>
#include <cuda/std/span>

#include <cstddef>
#include <type_traits>

using namespace assay;
using test::contains;
using test::on_host;
namespace cs = ::cuda::std;

namespace {

// Parameters of a user's launchers.
std::size_t count(cs::span<float const> all) { return all.size(); }
float at(cs::mdspan<float const, cs::dextents<int, 2>, cs::layout_stride> of, int row, int column) {
  return of(row, column);
}

}  // namespace

TEST_CASE("a contiguous array is an mdspan of its extents", "[arrays]") {
  auto make = on_host();
  auto const x = make.random<float>(2 * 3 * 5);
  auto const cube = mdspan_of(x, 2, 3, 5);
  static_assert(std::is_same_v<decltype(cube)::layout_type, cs::layout_right>);
  static_assert(std::is_same_v<decltype(cube)::index_type, std::size_t>);
  CHECK(&cube(1, 2, 3) == x.data() + 1 * 15 + 2 * 5 + 3);
  CHECK(cube.extent(1) == 3);
  static_assert(std::is_same_v<decltype(mdspan_of<int>(x, 30))::index_type, int>);
  CHECK_THROWS_WITH(mdspan_of(x, 6, 6), contains("extents of 36 elements for an array of 30"));
  CHECK(count(x) == 30);
}

TEST_CASE("a matrix is an mdspan without its padding", "[arrays]") {
  auto make = on_host();
  auto const x = make.random<float>(matrix{3, 5, 8});
  auto const all = mdspan_of<int>(x);
  CHECK(all.extent(0) == 3);
  CHECK(all.extent(1) == 5);
  CHECK(all.stride(0) == 8);
  CHECK(&all(2, 4) == x.data() + 2 * 8 + 4);
  CHECK(at(all, 2, 4) == x.seeded(2, 4));
}
