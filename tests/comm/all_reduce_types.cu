// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 1200
/// @file
/// All-reduces of half and bfloat16: summed in float, rounded once.

#include "comm/world.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

using namespace assay;
using comm::reduction;

namespace {

template <class T>
void require_every_algorithm() {
  auto const seed = test::fresh_seed();
  for (auto const how : test::all_algorithms) {
    for (int const ranks : {2, 4, 8}) {
      if (test::small() && ranks == 8) { continue; }
      if (test::small()) {
        test::require_right<T>(how, ranks, {5, 777}, seed);
      } else {
        test::require_right<T>(how, ranks, {1, 7, 1001, 32771}, seed);
      }
    }
  }
}

/// Halves of words that no rank sends as the pattern of what is unwritten, and that would be it
/// together if sums kept what distinguishes a NaN.
template <class T>
void require_no_sum_looks_unwritten() {
  unsigned short one = 0;
  T const number{1.0F};
  std::memcpy(&one, &number, sizeof(one));
  std::array<unsigned short, 3> const values{0xFFFF, 0xFFFE, one};
  std::array<std::vector<unsigned short>, 2> in;
  for (unsigned pairs = 0; pairs < 81; ++pairs) {  // of each rank's two halves of a word, all
    in[0].insert(in[0].end(), {values[pairs % 3], values[pairs / 3 % 3]});
    in[1].insert(in[1].end(), {values[pairs / 9 % 3], values[pairs / 27]});
  }
  for (auto const how : test::all_algorithms) {
    test::world<T> all{2, in[0].size(), test::checked_options(how)};
    auto const at = all.buffers(0, 0, false);
    for (unsigned rank = 0; rank < 2; ++rank) {
      check(cudaMemcpy(const_cast<T*>(at.in[rank]), in[rank].data(), in[rank].size() * 2,
                       cudaMemcpyDefault));
    }
    check(cudaDeviceSynchronize());
    for (auto const what : {reduction::sum, reduction::max}) {
      all.enqueue(at, in[0].size(), what);
      all.synchronize();
      for (unsigned rank = 0; rank < 2; ++rank) {
        std::vector<T> found(in[0].size());
        check(cudaMemcpy(found.data(), at.out[rank], found.size() * 2, cudaMemcpyDefault));
        for (std::size_t i = 0; i < found.size(); ++i) {
          INFO(std::string{comm::to_string(how)} << ", " << std::string{comm::to_string(what)}
                                                 << ", element " << i << " of rank " << rank);
          bool const numbers = in[0][i] == one && in[1][i] == one;
          bool const a_number = in[0][i] == one || in[1][i] == one;
          auto const is = static_cast<float>(found[i]);
          if (what == reduction::max ? a_number : numbers) {
            CHECK(is == (what == reduction::max ? 1.0F : 2.0F));
          } else {
            CHECK(std::isnan(is));
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("halves are right", "[comm]") { require_every_algorithm<__half>(); }
TEST_CASE("bfloat16s are right", "[comm]") { require_every_algorithm<__nv_bfloat16>(); }
TEST_CASE("no sum of NaNs looks like what is unwritten", "[comm]") {
  require_no_sum_looks_unwritten<__half>();
  require_no_sum_looks_unwritten<__nv_bfloat16>();
}
