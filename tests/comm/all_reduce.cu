// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 1200
/// @file
/// All-reduces of floats: every element right whatever the algorithm, size, placement and
/// alignment; the same bits everywhere; and what cannot be is refused.

#include "change_device_value.hpp"
#include "comm/world.cuh"

#include <assay/kernel/grid_stride.cuh>

#include <cuda_bf16.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using comm::algorithm;
using comm::reduction;
using test::contains;

namespace {

std::vector<std::size_t> sizes() {
  if (test::small()) { return {1, 37, 777}; }
  return {1, 3, 37, 1000, 4099, 65537, 262147};
}

}  // namespace

TEST_CASE("every algorithm sums every element", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : test::all_algorithms) {
    for (int const ranks : test::rank_counts()) {
      test::require_right<float>(how, ranks, sizes(), seed);
    }
  }
}

TEST_CASE("the verifier finds one wrong element, and one byte beyond the end", "[comm]") {
  test::world<float> all{2, 1000, test::checked_options()};
  auto const at = all.buffers(0, 1, false);
  all.fill(at, 777, 5);
  all.enqueue(at, 777, reduction::sum);
  all.synchronize();
  REQUIRE(all.wrong(at, 777, reduction::sum).empty());
  float kept = 0;
  test::change_device_value(at.out[0] + 500, [&](float value) {
    kept = value;
    return value + 1e-3F;
  });
  CHECK_THAT(all.wrong(at, 777, reduction::sum), contains("element 500 of 777"));
  test::change_device_value(at.out[0] + 500, [&](float) { return kept; });
  all.out.set(1, (777 + 1) * 4, 0, 1);
  CHECK_THAT(all.wrong(at, 777, reduction::sum), contains("of rank 1 was written to"));
}

TEST_CASE("large messages are right, whichever way they take", "[comm]") {
  if (test::small()) { return; }
  auto const seed = test::fresh_seed();
  for (int const ranks : {2, 4}) {
    for (std::size_t const mib : {1U, 4U, 16U, 64U}) {
      test::world<float> all{ranks, (mib << 18U) + 8, test::checked_options()};
      for (auto const how : {0U, 1U}) {
        auto const count = (mib << 18U) - how * 5;
        INFO(mib << " MiB, " << ranks << " ranks, seed " << seed);
        CHECK(all.run(count, how, how, how == 1, reduction::sum, seed + mib) == "");
      }
    }
  }
}

TEST_CASE("results are the same bits in every run", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : test::all_algorithms) {
    if (!test::has_code(how, 3)) { continue; }
    test::world<float> all{3, 5000, test::checked_options(how)};
    auto const at = all.buffers(0, 0, false);
    std::size_t const count = test::small() ? 500 : 4999;
    std::vector<std::byte> first;
    for (int run = 0; run < 4; ++run) {
      all.fill(at, count, seed);
      all.enqueue(at, count, reduction::sum);
      all.synchronize();
      auto const found = all.out.read(1);
      if (run == 0) { first = found; }
      INFO(std::string{comm::to_string(how)} << ", run " << run << ", seed " << seed);
      CHECK(found == first);
    }
  }
}

TEST_CASE("no value is lost: negative zero, infinities, NaNs, also the one that marks scratch",
          "[comm]") {
  auto const special = [](unsigned bits) { return __builtin_bit_cast(float, bits); };
  std::vector<float> const values{-0.0F,
                                  0.0F,
                                  special(0xFFFFFFFFU),
                                  special(0x7FFFFFFFU),
                                  special(0x7FC00001U),
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::denorm_min(),
                                  -1.5F};
  for (auto const how : test::all_algorithms) {
    test::world<float> all{2, 64, test::checked_options(how)};
    auto const at = all.buffers(0, 0, false);
    std::vector<float> const zeros(values.size(), -0.0F);
    check(cudaMemcpy(const_cast<float*>(at.in[0]), values.data(), values.size() * 4,
                     cudaMemcpyDefault));
    check(cudaMemcpy(const_cast<float*>(at.in[1]), zeros.data(), zeros.size() * 4,
                     cudaMemcpyDefault));
    check(cudaDeviceSynchronize());
    all.enqueue(at, values.size(), reduction::sum);
    all.synchronize();
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<float> found(values.size());
      check(cudaMemcpy(found.data(), at.out[static_cast<std::size_t>(rank)], found.size() * 4,
                       cudaMemcpyDefault));
      for (std::size_t i = 0; i < values.size(); ++i) {
        INFO(std::string{comm::to_string(how)} << ", value " << i);
        if (std::isnan(values[i])) {
          CHECK(std::isnan(found[i]));
        } else {
          CHECK(__builtin_bit_cast(unsigned, found[i]) == __builtin_bit_cast(unsigned, values[i]));
        }
      }
    }
  }
}

TEST_CASE("nothing is nothing", "[comm]") {
  test::world<float> all{2, 16, test::checked_options()};
  all.enqueue(all.buffers(0, 0, false), 0, reduction::sum);
  all.enqueue({}, 0, reduction::max);
  all.synchronize();
}

TEST_CASE("one rank alone gets its input", "[comm]") {
  test::world<float> all{1, 1000, test::checked_options()};
  CHECK(all.run(777, 0, 1, false, reduction::average, test::fresh_seed()) == "");
}

TEST_CASE("more blocks than are resident are not launched", "[comm]") {
  auto options = test::checked_options(algorithm::two_shot);
  options.blocks = test::small() ? 4 : 4096;
  options.scratch_bytes = 4096;  // for each of them
  test::world<float> all{2, 1 << 20, options};
  CHECK(all.run(test::small() ? 999 : (1 << 20), 0, 0, false, reduction::sum, test::fresh_seed()) ==
        "");
}

TEST_CASE("a rank that is not there is refused by its number", "[comm]") {
  test::world<float> all{2, 16, test::checked_options()};
  auto const at = all.buffers(0, 0, false);
  CHECK_THROWS_WITH(all.engine.enqueue(2, all.streams[0], at, 16, reduction::sum),
                    contains("rank 2 of comm::peers"));
}

TEST_CASE("options that cannot be are refused by name", "[comm]") {
  auto const refused = [](auto const& change) {
    auto options = test::checked_options();
    change(options);
    return test::message_of(
        [&] { comm::all_reduce{comm::peers::on_one(on::device{0}, 2), options}; });
  };
  CHECK_THAT(refused([](auto& o) { o.blocks = 5000; }), contains("5000 blocks"));
  CHECK_THAT(refused([](auto& o) { o.scratch_bytes = 16; }), contains("scratch_bytes 16"));
  CHECK_THAT(refused([](auto& o) { o.timeout_seconds = -1; }), contains("timeout_seconds"));
}

TEST_CASE("where ranks share a device no kernel starts early", "[comm]") {
  comm::all_reduce_options options;
  REQUIRE(options.dependent_launch);
  comm::all_reduce const one{comm::peers::on_one(on::device{0}, 2), options};
  CHECK_FALSE(one.options().dependent_launch);
  if (test::one_device(2)) { return; }
  comm::all_reduce const two{comm::peers::first(2), options};
  CHECK(two.options().dependent_launch == (comm::code_of(comm::peers::first(2)) >= 90));
}

TEST_CASE("FIFO slots are reused, also with few blocks", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    for (int const ranks : {2, 4}) {
      if (!test::has_code(how, ranks)) { continue; }
      for (unsigned const blocks : {1U, 3U, 0U}) {
        auto options = test::checked_options(how);
        options.blocks = blocks;
        test::world<float> few{ranks, 1, options};
        // More than the slots hold twice, or a few for a sanitizer; the last tile has few elements.
        auto const tiles = test::small() ? 3U : 2 * few.engine.layout().fifo_slots + 2;
        auto const count = std::size_t{4 * comm::fifo_tile_vecs} * tiles + 37;
        test::world<float> all{ranks, count, options};
        for (int run = 0; run < 3; ++run) {
          INFO(std::string{comm::to_string(how)} << ", " << ranks << " ranks, " << blocks
                                                 << " blocks, run " << run << ", seed " << seed);
          CHECK(all.run(count, 1, 1, run == 1, reduction::sum, seed + static_cast<unsigned>(run)) ==
                "");
        }
      }
    }
  }
}

TEST_CASE("a rank that begins long after the others finds in place what it is to send", "[comm]") {
  if (test::small()) { return; }  // all ranks are one launch
  auto const seed = test::fresh_seed();
  // A checked operation begins with a barrier; then blocks get apart by less, and in other ways.
  for (auto const& [ranks, checked] : std::vector<std::pair<int, bool>>{
           {2, false}, {3, false}, {4, false}, {2, true}, {3, true}, {4, true}}) {
    auto options = test::checked_options(algorithm::fifo_one_shot);
    options.checked = checked;
    options.blocks = 8;
    test::world<float> few{ranks, 1, options};
    auto const count = std::size_t{4 * comm::fifo_tile_vecs} * 3 * few.engine.layout().fifo_slots;
    test::world<float> all{ranks, count, options};
    for (int late = 0; late < ranks; ++late) {
      // A rank that is not in place reduces without waiting for its senders, so it clears slots
      // sooner.
      for (int not_in_place = -1; not_in_place < ranks; ++not_in_place) {
        INFO(ranks << " ranks, checked: " << checked << ", " << late << " late, " << not_in_place
                   << " not in place, seed " << seed);
        auto at = all.buffers(0, 0, true);
        auto const apart = static_cast<std::size_t>(not_in_place);
        if (not_in_place >= 0) { at.in[apart] = all.buffers(0, 0, false).in[apart]; }
        all.fill(at, count, seed);
        for (int step = 1; step <= ranks; ++step) {
          auto const rank = (late + step) % ranks;
          if (rank == late) { std::this_thread::sleep_for(std::chrono::milliseconds{2}); }
          all.engine.enqueue(rank, all.streams[static_cast<std::size_t>(rank)], at, count,
                             reduction::sum);
        }
        all.synchronize();
        CHECK(all.wrong(at, count, reduction::sum) == "");
      }
    }
  }
}

TEST_CASE("the grid of a FIFO operation may change from one operation to the next", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    test::world<float> all{2, 3'000'000, test::checked_options(how)};
    // Tiles have 896 elements: grids of 2 blocks, of a few, and of all that there are.
    auto const counts = test::small() ? std::vector<std::size_t>{100, 5000, 900, 20'000}
                                      : std::vector<std::size_t>{100, 3'000'000, 5000, 2'000'000,
                                                                 1,   2'500'000, 900,  40'000};
    unsigned run = 0;
    for (auto const count : counts) {
      INFO(std::string{comm::to_string(how)} << ", " << count << " elements, seed " << seed);
      ++run;
      CHECK(all.run(count, 0, 0, run % 2 == 0, reduction::sum, seed + run) == "");
    }
  }
}

TEST_CASE("buffers that cannot be are refused by rank and role", "[comm]") {
  test::world<float> all{2, 1000, test::checked_options()};
  auto const good = all.buffers(0, 0, false);
  auto const refused = [&](auto const& change) {
    auto at = good;
    change(at);
    return test::message_of([&] { all.enqueue(at, 1000, reduction::sum); });
  };
  std::vector<float> host(1000);
  CHECK_THAT(refused([](auto& at) { at.in[1] = nullptr; }),
             contains("the input of rank 1 (4000 bytes) is a null pointer"));
  CHECK_THAT(refused([&](auto& at) { at.out[1] = host.data(); }),
             contains("the output of rank 1 (4000 bytes) is no device memory"));
  CHECK_THAT(refused([](auto& at) {
               at.in[0] =
                   reinterpret_cast<float const*>(reinterpret_cast<std::byte const*>(at.in[0]) + 2);
             }),
             contains("not aligned"));
  CHECK_THAT(refused([](auto& at) { at.out[0] = const_cast<float*>(at.in[0]) + 8; }),
             contains("of rank 0 overlap"));
  if (!test::one_device(2)) {
    CHECK_THAT(refused([](auto& at) { std::swap(at.in[0], at.in[1]); }),
               contains("in memory of device 1"));
  }
  all.in.release(1);
  CHECK_THAT(refused([](auto&) {}),
             contains("the input of rank 1 (4000 bytes) is no device memory"));
}
