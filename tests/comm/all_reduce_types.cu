// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 1200
/// @file
/// All-reduces of every type but float: those of 8 and 16 bits are summed in float and rounded
/// once, double and integers in the type itself.

#include "comm/world.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace assay;
using comm::algorithm;
using comm::reduction;
using test::contains;

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
TEST_CASE("doubles are right", "[comm]") { require_every_algorithm<double>(); }
TEST_CASE("integers are right, and wrap", "[comm]") { require_every_algorithm<std::int32_t>(); }
TEST_CASE("floats of 8 bits are right", "[comm]") {
  require_every_algorithm<__nv_fp8_e4m3>();
  require_every_algorithm<__nv_fp8_e5m2>();
}
TEST_CASE("the automatic choice is right for every type", "[comm]") {
  auto const seed = test::fresh_seed();
  auto const counts = test::small() ? std::vector<std::size_t>{777}
                                    : std::vector<std::size_t>{7, 100'003, 2'000'003};
  for (int const ranks : {2, 4}) {
    for (auto const count : counts) {
      auto const require = [&](auto element) {
        test::world<decltype(element)> all{ranks, count, test::checked_options()};
        for (auto const what : test::all_reductions) {
          INFO(ranks << " ranks, " << count << " elements of " << sizeof(element) << " bytes, seed "
                     << seed);
          CHECK(all.run(count, 1, 0, false, what, seed) == "");
        }
      };
      require(double{});
      require(std::int32_t{});
      require(__nv_fp8_e4m3{});
      require(__nv_fp8_e5m2{});
    }
  }
}
TEST_CASE("what an algorithm has no kernel for is refused by name", "[comm]") {
  auto const refused = [](auto element, algorithm how, int ranks) {
    using type = decltype(element);
    test::world<type> all{ranks, 100, test::checked_options(how)};
    return test::message_of([&] { (void)all.engine.chosen(all.buffers(0, 0, false), 100); });
  };
  for (auto const how : test::all_algorithms) {
    bool const takes = comm::uses_peers_buffers(how);
    auto const text = takes ? "nothing was thrown" : "elements of this type have no value";
    CHECK_THAT(refused(double{}, how, 2), contains(text));
    CHECK_THAT(refused(std::int32_t{}, how, 2), contains(text));
  }
  if (test::has_code(algorithm::fifo_two_shot, 4)) {
    CHECK_THAT(refused(__nv_fp8_e4m3{}, algorithm::fifo_two_shot, 4), contains("two ranks only"));
  }
}
TEST_CASE("arrays of ones, which mark scratch as unwritten, arrive", "[comm]") {
  constexpr std::size_t count = 1000;
  for (auto const how : test::all_algorithms) {
    test::world<__nv_fp8_e4m3> all{2, count, test::checked_options(how)};
    auto const at = all.buffers(0, 0, false);
    for (int rank = 0; rank < 2; ++rank) { all.in.set(rank, 0, 0xFF, count); }
    for (auto const what : test::all_reductions) {
      INFO(std::string{comm::to_string(how)} << ", " << std::string{comm::to_string(what)});
      all.out.poison();
      all.enqueue(at, count, what);
      all.synchronize();
      std::vector<__nv_fp8_e4m3> found(count);
      check(cudaMemcpy(found.data(), at.out[1], count, cudaMemcpyDefault));
      CHECK(std::all_of(found.begin(), found.end(),
                        [](auto each) { return std::isnan(static_cast<float>(each)); }));
    }
  }
}
TEST_CASE("no sum of NaNs looks like what is unwritten", "[comm]") {
  require_no_sum_looks_unwritten<__half>();
  require_no_sum_looks_unwritten<__nv_bfloat16>();
}
