// SPDX-License-Identifier: Apache-2.0
/// @file
/// Epochs and items have numbers of 32 bits, which an engine that lives for long comes to the end
/// of: what stands in a workspace from long ago is never taken for what is awaited.

#include "comm/numbers.cuh"

#include <cstddef>
#include <string>

using namespace assay;
using comm::algorithm;
using comm::reduction;
using test::numbers;

namespace {

constexpr unsigned period = comm::protocol::renewal_period;

}  // namespace

TEST_CASE("scratch full of packets of the past does not matter", "[comm]") {
  test::world<float> all{2, 2000, test::checked_options(algorithm::ll_push)};
  numbers{all.engine}.set_ll(0, 0x80808080U);  // half the way round back from the first
  for (int i = 0; i < 5; ++i) {
    CHECK(all.run(test::small() ? 300 : 2000, 0, 0, false, reduction::sum, test::fresh_seed()) ==
          "");
  }
}

TEST_CASE("epochs wrap round, and scratch as it was made is none of the future", "[comm]") {
  auto const seed = test::fresh_seed();
  for (unsigned const epoch : {0x80000005U, 0xFFFFFFF9U}) {
    INFO("from " << epoch << " on, seed " << seed);
    test::world<float> all{2, 2000, test::checked_options(algorithm::ll_push)};
    numbers{all.engine}.set_ll(epoch, 0);
    for (unsigned run = 0; run < 6; ++run) {
      CHECK(all.run(run % 2 == 0 ? 20 : 300, 0, 0, false, reduction::sum, seed + run) == "");
    }
  }
}

TEST_CASE("packets of a round of epochs ago are cleared before they come again", "[comm]") {
  auto const seed = test::fresh_seed();
  // Both buffers: the operation that would take the old packets for its own is odd, or even.
  for (unsigned const again : {period + 1, period + 2}) {
    INFO("epoch " << again << ", seed " << seed);
    auto options = test::checked_options(algorithm::ll_push);
    options.checked = false;  // which would find the old packets that small operations wait on
    options.blocks = 1;
    test::world<float> all{3, 1000, options};
    auto const first = period - 4;
    numbers{all.engine}.set_ll(first, again);
    for (auto epoch = first + 1; epoch != again; ++epoch) {
      REQUIRE(all.run(8, 0, 0, false, reduction::sum, seed + epoch) == "");
    }
    CHECK(all.run(1000, 0, 0, false, reduction::sum, seed) == "");
  }
}

TEST_CASE("numbers of items wrap round", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::ring_push, algorithm::ring_two_shot}) {
    INFO(std::string{comm::in_words(how)} << ", seed " << seed);
    constexpr std::size_t count = 200'000;
    test::world<float> all{2, count, test::checked_options(how)};
    constexpr unsigned before = 0xFFFFFFFDU;
    numbers{all.engine}.set_items(before, before);
    for (unsigned run = 0; run < 3; ++run) {
      CHECK(all.run(count, 0, 0, run == 1, reduction::sum, seed + run) == "");
    }
  }
}

TEST_CASE("what stands in a ring for long is renewed before it is taken for new", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::ring_push, algorithm::ring_two_shot}) {
    for (unsigned const blocks : {4U, 0U}) {
      if (test::small() && blocks == 0) { continue; }
      auto options = test::checked_options(how);
      options.blocks = blocks;
      test::world<float> few{2, 1, options};
      // Of few items, and of so many that reducers note periods.
      for (auto const tiles : {3U, test::small() ? 7U : 4 * few.engine.layout().ring_slots}) {
        auto const count = std::size_t{4 * comm::ring_tile_packs} * tiles;
        test::world<float> all{2, count, options};
        for (bool const in_place : {false, true}) {
          for (unsigned const wrapped : {0U, 1U}) {
            INFO(std::string{comm::in_words(how)} << " by " << blocks << " blocks, " << tiles
                                                  << " tiles" << (in_place ? ", in place" : "")
                                                  << ", wrapped " << wrapped << ", seed " << seed);
            auto const before = (1 - wrapped) * period - 1;
            numbers const at{all.engine};
            at.set_items(before, before - 1000);
            CHECK(all.run(count, 0, 0, in_place, reduction::sum, seed) == "");
            for (int rank = 0; rank < 2; ++rank) {
              auto const after = at.items(rank);
              unsigned old = 0;
              for (auto const number : at.stand(rank)) {
                if (number - before > after - before) { ++old; }
              }
              CHECK(old == 0);
              CHECK(after - before >= tiles / (how == algorithm::ring_push ? 1U : 2U));
            }
          }
        }
      }
    }
  }
}
