// SPDX-License-Identifier: Apache-2.0
/// @file
/// The algorithms of the table can run their sizes, and grids fit their scratch.

#include "catch.hpp"

#include <assay/comm/tuning.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace assay::comm;

namespace {
constexpr std::size_t mib = std::size_t{1} << 20U;
}

TEST_CASE("every size has an algorithm whose scratch it fits", "[comm]") {
  for (std::size_t const scratch : {std::size_t{4096}, mib, 4 * mib, 64 * mib}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40U); bytes = bytes * 3 / 2 + 1) {
        auto const how = choose({bytes, ranks}, scratch);
        INFO(bytes << " bytes, " << ranks << " ranks: " << std::string{to_string(how)});
        REQUIRE(how != algorithm::automatic);
        REQUIRE(bytes <= capacity_bytes(how, scratch));
        REQUIRE(how != algorithm::pull);
      }
    }
  }
}

TEST_CASE("code without rings has another algorithm for every size", "[comm]") {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40U); bytes *= 2) {
      problem const what{bytes, ranks, false};
      REQUIRE_FALSE(is_fifo(choose(what, default_scratch_bytes(ranks))));
    }
  }
}

TEST_CASE(
    "a rank with its own buffers alone has an algorithm wherever there are FIFO slots, and "
    "no other than the table's by two ranks",
    "[comm]") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    bool const fifo = ranks <= max_fifo_ranks;
    auto const scratch = default_scratch_bytes(ranks);
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40U); bytes = bytes * 3 / 2 + 1) {
      auto const how = choose({bytes, ranks, fifo, true}, scratch);
      INFO(bytes << " bytes, " << ranks << " ranks: " << std::string{to_string(how)});
      REQUIRE_FALSE(uses_peers_buffers(how));
      REQUIRE(bytes <= capacity_bytes(how, scratch));
      REQUIRE((how == algorithm::automatic) == (!fifo && bytes > scratch));
      if (ranks <= 2) { REQUIRE(how == choose({bytes, ranks, fifo}, scratch)); }
    }
  }
}

TEST_CASE("elements without a flag of arrival take two_shot, and no own buffers", "[comm]") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40U); bytes *= 2) {
      auto const scratch = default_scratch_bytes(ranks);
      REQUIRE(choose({bytes, ranks, true, false, false}, scratch) == algorithm::two_shot);
      REQUIRE(choose({bytes, ranks, true, true, false}, scratch) == algorithm::automatic);
    }
  }
}

TEST_CASE("scratch unasked for is enough for all that the table pushes", "[comm]") {
  auto const enough = [](auto const& rows, int ranks) {
    for (auto const& row : rows) {
      if (row.how == algorithm::lamport_push) {
        CHECK(row.up_to_bytes <= capacity_bytes(row.how, default_scratch_bytes(ranks)));
      }
    }
  };
  enough(tuning_two_ranks, 2);
  enough(tuning_four_ranks, 3);
  enough(tuning_four_ranks, 4);
  enough(tuning_many_ranks, 5);
  enough(tuning_many_ranks, 8);
}

TEST_CASE("small messages are all in scratch at once, and large ones are not", "[comm]") {
  for (int const ranks : {2, 4, 8}) {
    CHECK(choose({1024, ranks}, 4 * mib) == algorithm::lamport_push);
    CHECK(choose({1024 * mib, ranks}, 4 * mib) != algorithm::lamport_push);
  }
  CHECK(choose({mib, 2}, 4096) != algorithm::lamport_push);  // for want of scratch
}

TEST_CASE("a push's grid has a place for every pack, and no idle block", "[comm]") {
  for (std::uint64_t vecs = 1; vecs < 3'000'000; vecs = vecs * 5 / 4 + 1) {
    for (unsigned const most : {1U, 7U, 132U}) {
      for (unsigned const wish : {0U, 16U}) {
        auto const slot = ceil_div(vecs, most) + 1;
        auto const grid = push_shape(vecs, {wish, most, slot});
        INFO(vecs << " vecs, " << most << " blocks: " << grid.blocks << " x " << grid.threads);
        REQUIRE(grid.blocks >= 1);
        REQUIRE(grid.blocks <= most);
        REQUIRE(grid.threads % 32 == 0);
        REQUIRE(grid.threads >= 32);
        REQUIRE(grid.threads <= 512);
        auto const share = ceil_div(vecs, grid.blocks);
        REQUIRE(share <= slot);
        REQUIRE(share * (grid.blocks - 1) < vecs);
      }
    }
  }
}

TEST_CASE("a push has a block for each SM, and as many as fit where it is long", "[comm]") {
  shape_limits const limits{0, 396, SIZE_MAX, 132};
  CHECK(push_shape(64, limits) == shape{1, 64});
  CHECK(push_shape(4096, limits) == shape{32, 128});
  CHECK(push_shape(32768, limits) == shape{132, 256});
  CHECK(push_shape(65536, limits) == shape{395, 192});
  CHECK(push_shape(262144, limits) == shape{396, 512});
  CHECK(push_shape(262144, {0, 132, SIZE_MAX, 132}) == shape{132, 512});
}

TEST_CASE("only engines that may run a FIFO algorithm have slots for it", "[comm]") {
  for (int which = 1; which < algorithms; ++which) {
    auto const asked = static_cast<algorithm>(which);
    CHECK(uses_fifo(asked, 2, 90) == is_fifo(asked));
  }
  CHECK(uses_fifo(algorithm::automatic, 2, 90));
  CHECK(uses_fifo(algorithm::automatic, 2, 120));
  CHECK(uses_fifo(algorithm::automatic, 4, 90));
  CHECK_FALSE(uses_fifo(algorithm::automatic, 4, 100));  // its kernel would spill
  CHECK_FALSE(has_fifo_code(true, 4, 90, 1));            // nor with elements of 8 bits
  CHECK(has_fifo_code(true, 2, 90, 1));
  CHECK(has_fifo_code(false, 4, 90, 1));
  CHECK_FALSE(uses_fifo(algorithm::automatic, 2, 75));
  CHECK_FALSE(uses_fifo(algorithm::automatic, 5, 90));
}

TEST_CASE("an engine never goes from one FIFO to the other, whose slots lie elsewhere", "[comm]") {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (std::size_t const scratch : {std::size_t{4096}, mib, 64 * mib}) {
      bool one_shot = false;
      bool two_shot = false;
      for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40U); bytes *= 2) {
        auto const how = choose({bytes, ranks}, scratch);
        one_shot = one_shot || how == algorithm::fifo_one_shot;
        two_shot = two_shot || how == algorithm::fifo_two_shot;
      }
      CHECK(one_shot == (ranks == 2));
      CHECK(two_shot == (ranks == 3 || ranks == 4));
    }
  }
}

TEST_CASE("options say what they are", "[comm]") {
  all_reduce_options options;
  CHECK(options.describe() == "{automatic, dependent launch}");
  options.dependent_launch = false;
  CHECK(options.describe() == "{automatic}");
  options.how = algorithm::two_shot;
  options.blocks = 64;
  options.checked = true;
  CHECK(options.describe() == "{two_shot, 64 blocks, checked}");
  CHECK(options != all_reduce_options{});
}

TEST_CASE("rings have blocks of both kinds, no more than tiles, and room for two rounds",
          "[comm]") {
  for (unsigned const slices : {1U, 2U, 4U}) {
    // Sums of fifo_two_shot have half of the slots.
    auto const each =
        fifo_slots_per_block(slices == 1 ? 4 : static_cast<int>(slices)) / (slices == 1 ? 1 : 2);
    for (unsigned most = 1; most <= 160; ++most) {
      for (std::uint64_t const vecs : {1U, 224U, 225U, 2241U, 1'000'000U}) {
        INFO(vecs << " vecs in " << slices << " slices, " << most << " blocks");
        auto const shape = shape_fifo(vecs, slices, most, std::max(most, 2U) * each, 4);
        auto const& plan = shape.plan;
        REQUIRE(plan.tiles == ceil_div(vecs, fifo_tile_vecs));
        REQUIRE(plan.items == ceil_div(plan.tiles, slices));
        REQUIRE(shape.blocks >= 2);
        REQUIRE(shape.blocks <= std::max({most, 2U}));
        REQUIRE(shape.blocks <= std::max(plan.tiles, 2U));
        REQUIRE(plan.senders >= 1);
        REQUIRE(plan.senders < shape.blocks);
        REQUIRE(plan.slots >= 2 * (shape.blocks - plan.senders) * 4);
      }
    }
  }
  auto const whole = shape_fifo(1'000'000, 1, 132, 132 * fifo_slots_per_block(2), 4);
  CHECK(whole.blocks == 132);
  CHECK(whole.plan.senders == 39);
  CHECK(shape_fifo(1'000'000, 4, 132, 132 * fifo_slots_per_block(4) / 2, 4).plan.senders == 29);
}
