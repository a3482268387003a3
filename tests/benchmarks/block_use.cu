// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a block is said to have in flight is what its kernel brings in.
#include "catch.hpp"

#include "support/block_use.cuh"

#include <type_traits>

using namespace assay;
using benchmark::use_of;

namespace {

constexpr std::integral_constant<int, 256> threads{};

}  // namespace

TEST_CASE("tiles in shared memory are in flight, all of them", "[examples]") {
  workloads::streaming_sum<float> const sum{.threads = threads};
  workloads::scale_add<float> const scaled{.threads = threads};
  workloads::row_gather const gather{.threads = threads};
  auto const in_flight = [](auto how, auto const& work) {
    return use_of<decltype(how)>(work).in_flight;
  };
  using two = copy::cp_async<2>;
  CHECK(in_flight(two{}, sum) == kernel::sum_kernel<two, float>(threads).shared_bytes);
  CHECK(in_flight(two{}, scaled) == kernel::scale_add_kernel<two, float>(threads).shared_bytes);
  CHECK(in_flight(two{}, gather) == kernel::gather_kernel<two>(threads).shared_bytes);
  CHECK(in_flight(two{}, sum) == 32 * 1024);
  CHECK(in_flight(copy::bulk<4>{}, scaled) == 64 * 1024);
  CHECK(in_flight(two{}, workloads::transpose{.threads = threads}) == 2 * 64 * 64 * 4);
}

TEST_CASE("plain loads are in flight, those of each input", "[examples]") {
  workloads::streaming_sum<float> const sum{.threads = threads};
  workloads::scale_add<float> const scaled{.threads = threads};
  CHECK(use_of<copy::regular<>>(sum).in_flight == 256 * 4 * 16);
  CHECK(use_of<copy::regular<>>(scaled).in_flight == 256 * 4 * 16);
  // A vector of each of two inputs is the least that a thread of scale_add brings in.
  CHECK(use_of<copy::regular<16, 1>>(sum).in_flight == 256 * 16);
  CHECK(use_of<copy::regular<16, 1>>(scaled).in_flight == 2 * 256 * 16);
  CHECK(use_of<copy::regular<>>(sum).shared_bytes == 0);
}
