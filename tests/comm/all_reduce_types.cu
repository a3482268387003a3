// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 1200
/// @file
/// All-reduces of half and bfloat16: summed in float, rounded once.

#include "comm/world.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using namespace assay;
using comm::algorithm;

namespace {

template <class T>
void require_every_algorithm() {
  auto const seed = test::fresh_seed();
  for (auto const how :
       {algorithm::ll_push, algorithm::lamport_push, algorithm::lamport_two_shot,
        algorithm::ring_push, algorithm::ring_two_shot, algorithm::pull, algorithm::two_shot}) {
    for (int const ranks : {2, 4}) {
      if (test::small()) {
        test::require_right<T>(how, ranks, {5, 777}, seed);
      } else {
        test::require_right<T>(how, ranks, {1, 7, 1001, 32771}, seed);
      }
    }
  }
}

}  // namespace

TEST_CASE("halves are right", "[comm]") { require_every_algorithm<__half>(); }
TEST_CASE("bfloat16s are right", "[comm]") { require_every_algorithm<__nv_bfloat16>(); }
