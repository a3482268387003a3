// SPDX-License-Identifier: Apache-2.0
/// @file
/// Items have numbers of 32 bits, which wrap in an engine that lives for long: an old number in a
/// workspace is never taken for an awaited one.

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

TEST_CASE("numbers of items wrap round", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    INFO(std::string{comm::to_string(how)} << ", seed " << seed);
    constexpr std::size_t count = 200'000;
    test::world<float> all{2, count, test::checked_options(how)};
    constexpr unsigned before = 0xFFFFFFFDU;
    numbers{all.engine}.set_items(before, before);
    for (unsigned run = 0; run < 3; ++run) {
      CHECK(all.run(count, 0, 0, run == 1, reduction::sum, seed + run) == "");
    }
  }
}

TEST_CASE("old numbers of a FIFO are renewed before they look new", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    for (unsigned const blocks : {4U, 0U}) {
      if (test::small() && blocks == 0) { continue; }
      auto options = test::checked_options(how);
      options.blocks = blocks;
      test::world<float> few{2, 1, options};
      // Few items, and so many that reducers count periods.
      for (auto const tiles : {3U, test::small() ? 7U : 4 * few.engine.layout().fifo_slots}) {
        auto const count = std::size_t{4 * comm::fifo_tile_vecs} * tiles;
        test::world<float> all{2, count, options};
        for (bool const in_place : {false, true}) {
          for (unsigned const wrapped : {0U, 1U}) {
            INFO(std::string{comm::to_string(how)} << " by " << blocks << " blocks, " << tiles
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
              CHECK(after - before >= tiles / (how == algorithm::fifo_one_shot ? 1U : 2U));
            }
          }
        }
      }
    }
  }
}
