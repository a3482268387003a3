// SPDX-License-Identifier: Apache-2.0
/// @file
/// All-reduces on whole buffers are right with every copy strategy.

#include "comm/world.cuh"

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>

using namespace assay;
using comm::algorithm;

namespace {

template <class Copy, int Threads = 512>
void require_strategy() {
  if (place_traits<on::device>::capability(on::device{0}) < Copy::capability) { return; }
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::pull, algorithm::two_shot}) {
    for (int const ranks : {2, 4}) {
      std::vector<std::size_t> const counts = test::small()
                                                  ? std::vector<std::size_t>{37, 5001}
                                                  : std::vector<std::size_t>{1, 4099, 1000003};
      test::require_right<float, comm::basic_all_reduce<Copy, Threads>>(how, ranks, counts, seed);
    }
  }
}

}  // namespace

TEST_CASE("cp.async brings the ranks' buffers in", "[comm]") {
  require_strategy<copy::cp_async<2>>();
}
TEST_CASE("bulk copies bring the ranks' buffers in", "[comm]") {
  require_strategy<copy::bulk<2>>();
  require_strategy<copy::bulk<4>, 128>();
}
TEST_CASE("plain loads do with other unrolling and blocks", "[comm]") {
  require_strategy<copy::regular<16, 8>, 256>();
}
