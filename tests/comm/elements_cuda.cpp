// SPDX-License-Identifier: Apache-2.0
/// @file
/// The types that an all-reduce takes, the grid of a rank that knows its own buffers alone, and the
/// references that device tests compare with.

#include "catch.hpp"
#include "comm/element_values.cuh"

#include <assay/comm/all_reduce_checks.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using namespace assay;
using comm::reduction;
using test::contains;

namespace {

enum class answer : std::uint8_t { yes };

template <class T>
void require_reference(std::vector<T> const& ranks, reduction what, long double expected) {
  std::vector<std::vector<T>> all;
  for (auto const each : ranks) { all.push_back({each}); }
  auto const found = test::reduce_elements(all, 0, what);
  CHECK(found.expected == expected);
  CHECK((found.bound == 0) == (what == reduction::max || std::integral<T>));
}

}  // namespace

TEST_CASE("elements are the types with a sum", "[comm]") {
  CHECK(comm::element<float>);
  CHECK(comm::element<double>);
  CHECK(comm::element<std::int32_t>);
  CHECK(comm::has_sentinel<__half>);
  CHECK(comm::has_sentinel<__nv_bfloat16>);
  CHECK(comm::has_sentinel<__nv_fp8_e4m3>);
  CHECK(comm::has_sentinel<__nv_fp8_e5m2>);
  CHECK_FALSE(comm::has_sentinel<double>);
  CHECK_FALSE(comm::has_sentinel<std::int32_t>);
  CHECK_FALSE(comm::element<short>);
  CHECK_FALSE(comm::element<unsigned>);
  CHECK_FALSE(comm::element<bool>);
  CHECK_FALSE(comm::element<std::byte>);
  CHECK_FALSE(comm::element<answer>);
  CHECK((std::same_as<comm::sum_of<__nv_fp8_e4m3>, float>));
  CHECK((std::same_as<comm::sum_of<double>, double>));
}

TEST_CASE("all ones are no number of a type with a sentinel, nor is what stands for them",
          "[comm]") {
  auto const is_nan = [](auto of, unsigned word) {
    using type = decltype(of);
    std::array<type, sizeof(word) / sizeof(type)> each;
    std::memcpy(static_cast<void*>(each.data()), &word, sizeof word);
    return std::all_of(each.begin(), each.end(),
                       [](type value) { return std::isnan(static_cast<float>(value)); });
  };
  for (auto const word : {comm::protocol::sentinel, comm::protocol::sentinel_substitute}) {
    CHECK(is_nan(float{}, word));
    CHECK(is_nan(__half{}, word));
    CHECK(is_nan(__nv_bfloat16{}, word));
    CHECK(is_nan(__nv_fp8_e4m3{}, word));
    CHECK(is_nan(__nv_fp8_e5m2{}, word));
  }
}

TEST_CASE("every rank divides a message in the same way, whatever its own buffers", "[comm]") {
  alignas(16) std::array<float, 16> memory{};
  for (std::size_t count = 1; count < 9; ++count) {
    auto const aligned = comm::detail::own_grid(memory.data(), memory.data(), count);
    CHECK(aligned.wide);
    for (std::size_t late = 1; late < 4; ++late) {
      auto other = comm::detail::own_grid(memory.data() + late, memory.data() + late, count);
      CHECK_FALSE(other.wide);
      other.wide = true;
      CHECK(other == aligned);
      CHECK_FALSE(comm::detail::own_grid(memory.data(), memory.data() + late, count).wide);
    }
  }
}

TEST_CASE("kernels for elements of 8 bits are where they do not spill", "[comm]") {
  CHECK(comm::detail::fits_fifo<float>(true, 4));
  CHECK_FALSE(comm::detail::fits_fifo<__nv_fp8_e4m3>(true, 4));
  CHECK(comm::detail::fits_fifo<__nv_fp8_e4m3>(true, 2));
  CHECK_FALSE(comm::detail::fits_fifo<double>(false, 2));
  CHECK_THROWS_WITH(comm::detail::require_kernel<__nv_fp8_e5m2>(comm::algorithm::fifo_two_shot, 3),
                    contains("by fifo_two_shot") && contains("two ranks only"));
}

TEST_CASE("references of reductions are exact where they can be", "[comm]") {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  require_reference<std::int32_t>({most, 1, -1}, reduction::sum, most);
  require_reference<std::int32_t>({most, 2}, reduction::sum, -2147483647.0L);
  require_reference<std::int32_t>({-3, -4}, reduction::average, -3);  // of -7, towards zero
  require_reference<std::int32_t>({-3, -1}, reduction::max, -1);
  require_reference<double>({1, 0x1p-60}, reduction::sum, 1 + 0x1p-60L);
  require_reference<float>({1, 3}, reduction::average, 2);
  require_reference<__nv_fp8_e4m3>({__nv_fp8_e4m3{1.0F}, __nv_fp8_e4m3{17.0F}}, reduction::sum,
                                   17);  // 17 is 16 in this type
  CHECK(test::unit_roundoff<float>() == 0x1p-24);
  CHECK(test::unit_roundoff<double>() == 0x1p-53);
  CHECK(test::unit_roundoff<__half>() == 0x1p-11);
  CHECK(test::unit_roundoff<__nv_bfloat16>() == 0x1p-8);
  CHECK(test::unit_roundoff<__nv_fp8_e4m3>() == 0x1p-4);
  CHECK(test::unit_roundoff<__nv_fp8_e5m2>() == 0x1p-3);
}
