// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bytes that pass through the tiles of each strategy arrive: any size, any alignment, any number
/// of tiles, by blocks and by warps.

#include "copy/runs_here.hpp"
#include "copy/tiles.hpp"
#include "workloads/capped_grid.cuh"

#include <assay/copy/require_code.cuh>
#include <assay/core/ptx.cuh>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

using namespace assay;
using namespace assay::test;

namespace {

constexpr int threads = 128;
constexpr int tile_bytes = 1024;

std::vector<int> sizes() {
  std::vector<int> all{0,  1,   2,    3,    15,   16,   17,   31,   32,  33,
                       63, 255, 1000, 1023, 1024, 1025, 1040, 2048, 5000};
  if (!small()) { all.insert(all.end(), {4095, 4096, 4097, 10'007, 16'384, 50'000}); }
  return all;
}

template <class Strategy, class Group>
void check_tiles() {
  constexpr int groups = groups_in_block<Group, threads>;
  constexpr int blocks = 16 / groups;
  constexpr int offsets = blocks * groups;
  using tiles_type = copy::tile_pipeline<Strategy, Group, tile_bytes>;
  auto const seed = fresh_seed();
  INFO(describe(Strategy{}) << ", groups of " << Group::threads << ", seed " << seed);
  for (int const bytes : sizes()) {
    for (int const tile : {tile_bytes, 1000, 17}) {
      if (tile == 17 && bytes > 1100) { continue; }
      INFO(bytes << " bytes in tiles of " << tile);
      int const region = bytes + 64;
      auto const host = random_bytes(static_cast<std::size_t>(bytes) + offsets, seed);
      device_bytes const in{host};
      device_bytes const out{static_cast<std::size_t>(region) * offsets};
      launch_test<threads>(pass_tiles<Strategy, Group, tile_bytes, threads>, blocks,
                           groups * tiles_type::storage_bytes, in.get(), out.get(), region, bytes,
                           tile);
      auto const got = out.read();
      for (int offset = 0; offset < offsets; ++offset) {
        auto const* const begin = got.data() + std::ptrdiff_t{offset} * region;
        INFO("offset " << offset);
        REQUIRE(std::memcmp(begin, host.data() + offset, static_cast<std::size_t>(bytes)) == 0);
        REQUIRE(std::all_of(begin + bytes, begin + region,
                            [](std::byte each) { return each == poison; }));
      }
    }
  }
}

template <class Strategy, class Group>
void check_pieces() {
  constexpr int group = Group::threads;
  using tiles_type = copy::tile_pipeline<Strategy, Group, tile_bytes>;
  auto const seed = fresh_seed();
  INFO(describe(Strategy{}) << ", groups of " << group << ", seed " << seed);
  for (int const first : {0, 16, 17, 256}) {
    for (int const second : {0, 1, 64, 300}) {
      for (int const gap : {0, 16, 5}) {
        for (int const skew : {0, 3, 16}) {
          constexpr int count = 7;
          INFO(first << " + " << second << " bytes, gap " << gap << ", skew " << skew);
          auto const both = static_cast<std::size_t>(first + second);
          auto const host =
              random_bytes(count * (both + static_cast<std::size_t>(skew)) + 16, seed);
          device_bytes const in{host};
          device_bytes const out{count * both + 16};
          launch_test<group>(pass_pieces<Strategy, Group, tile_bytes, group>, 1,
                             tiles_type::storage_bytes, in.get(), out.get(), first, gap, second,
                             skew, count);
          auto const got = out.read();
          for (std::size_t i = 0; i < count; ++i) {
            auto const* const from = host.data() + i * (both + static_cast<std::size_t>(skew));
            auto const* const to = got.data() + i * both;
            REQUIRE(std::memcmp(to, from, static_cast<std::size_t>(first)) == 0);
            REQUIRE(std::memcmp(to + first, from + first + skew,
                                static_cast<std::size_t>(second)) == 0);
          }
          REQUIRE(got[count * both] == poison);
        }
      }
    }
  }
}

template <class Strategy, class Group>
void check_rows() {
  constexpr int group = Group::threads;
  using tiles_type = copy::tile_pipeline<Strategy, Group, 8192>;
  auto const seed = fresh_seed();
  INFO(describe(Strategy{}) << ", groups of " << group << ", seed " << seed);
  struct shape {
    int rows, row_bytes, pitch, tile_pitch, tile_rows;
  };
  for (auto const& [rows, row_bytes, pitch, tile_pitch, tile_rows] :
       {shape{64, 128, 128, 144, 32}, shape{100, 64, 256, 80, 40}, shape{70, 100, 100, 112, 33},
        shape{33, 61, 67, 64, 16}, shape{5, 16, 4096, 16, 2}, shape{40, 0, 16, 16, 8},
        shape{1, 4, 4, 16, 64}, shape{0, 16, 16, 16, 4}, shape{50, 16, 48, 36, 9}}) {
    INFO(rows << " rows of " << row_bytes << " at " << pitch << " and " << tile_pitch);
    auto const host = random_bytes(static_cast<std::size_t>(rows * pitch) + 16, seed);
    device_bytes const in{host};
    auto const bytes = static_cast<std::size_t>(rows) * static_cast<std::size_t>(row_bytes);
    device_bytes const out{bytes + 16};
    launch_test<group>(pass_rows<Strategy, Group, 8192, group>, 1, tiles_type::storage_bytes,
                       in.get(), out.get(), rows, row_bytes, pitch, tile_pitch, tile_rows);
    auto const got = out.read();
    for (int r = 0; r < rows; ++r) {
      INFO("row " << r);
      REQUIRE(std::memcmp(got.data() + r * row_bytes, host.data() + r * pitch,
                          static_cast<std::size_t>(row_bytes)) == 0);
    }
    REQUIRE(got[bytes] == poison);
  }
}

template <class Strategy, class Group>
void check_vectors() {
  constexpr int each = 3;
  constexpr int groups = groups_in_block<Group, threads>;
  using tiles_type = copy::vectors<Strategy, Group, each>;
  auto const seed = fresh_seed();
  INFO(describe(Strategy{}) << ", groups of " << Group::threads << ", seed " << seed);
  for (int const count : {0, 1, 31, 95, 96, 97, 384, 385, 1000, 3840}) {
    for (int const rows : {0, 1, 4}) {
      int const whole = Group::threads * each;
      int const used = rows == 0 ? count : count / whole * whole;  // rows share whole tiles
      INFO(used << " vectors, " << rows << " rows a tile");
      auto const bytes = static_cast<std::size_t>(used) * 16;
      auto const host = random_bytes(bytes + 16, seed);
      device_bytes const in{host};
      device_bytes const out{bytes * groups + 16};
      launch_test<threads>(pass_vectors<Strategy, Group, each, threads>, 1,
                           groups * tiles_type::storage_bytes,
                           reinterpret_cast<uint4 const*>(in.get()),
                           reinterpret_cast<uint4*>(out.get()), used, whole, rows);
      auto const got = out.read();
      int const row = rows == 0 ? whole : whole / rows;
      for (int v = 0; v < used * groups; ++v) {
        int const in_tile = v % used % whole;
        int const from =
            rows == 0 ? v % used
                      : v % used - in_tile + (rows - 1 - in_tile / row) * row + in_tile % row;
        REQUIRE(std::memcmp(got.data() + v * 16, host.data() + from * 16, 16) == 0);
      }
      REQUIRE(got[bytes * groups] == poison);
    }
  }
}

/// The tests' own kernels as a workload that may be refused; they need little shared memory.
struct passing {};
template <copy_strategy Strategy>
void require_on(on::device place, passing, Strategy) {
  copy::require_code<Strategy>(pass_tiles<Strategy, copy::warp, tile_bytes, threads>, place);
}

/// Which SM each block ran on.
template <int Threads>
__global__ void note_sm(unsigned* sm) {
  if (threadIdx.x == 0) { sm[blockIdx.x] = ::cuda::ptx::get_sreg_smid(); }
  auto const begun = clock64();
  while (clock64() - begun < 200'000) {}  // so that none is gone before the last has its place
}

}  // namespace

TEMPLATE_TEST_CASE("what passes through tiles arrives", "[copy]", (copy::regular<>),
                   (copy::regular<4, 2>), (copy::regular<8, 1>), copy::cp_async<1>,
                   copy::cp_async<2>, copy::cp_async<5>, copy::bulk<1>, copy::bulk<3>,
                   copy::bulk<4>) {
  if (!runs_here(passing{}, TestType{})) { return; }
  check_tiles<TestType, copy::block<threads>>();
  check_tiles<TestType, copy::warp>();
}

TEMPLATE_TEST_CASE("a tile is put together of pieces and rows", "[copy]", (copy::regular<>),
                   (copy::regular<4, 2>), copy::cp_async<2>, copy::bulk<4>) {
  if (!runs_here(passing{}, TestType{})) { return; }
  check_pieces<TestType, copy::block<threads>>();
  check_pieces<TestType, copy::warp>();
  check_rows<TestType, copy::block<threads>>();
  check_rows<TestType, copy::warp>();
}

TEMPLATE_TEST_CASE("vectors reach the threads that they fall to", "[copy]", (copy::regular<>),
                   (copy::regular<8, 2>), copy::cp_async<1>, copy::cp_async<3>, copy::bulk<1>,
                   copy::bulk<4>) {
  if (!runs_here(passing{}, TestType{})) { return; }
  check_vectors<TestType, copy::block<threads>>();
  check_vectors<TestType, copy::warp>();
}

TEST_CASE("under a cap, each block has an SM of its own", "[copy]") {
  int const sms = attribute(on::device{0}, cudaDevAttrMultiProcessorCount);
  auto const run = note_sm<256>;
  for (int const cap : {1, 2, sms / 2, sms, sms + 100}) {
    auto const blocks = kernel::capped_blocks(run, on::device{0}, cap, 256, 0, 1'000'000);
    REQUIRE(blocks == static_cast<unsigned>(std::min(cap, sms)));
    device_bytes const where{blocks * sizeof(unsigned)};
    launch_test<256>(run, static_cast<int>(blocks), 0, reinterpret_cast<unsigned*>(where.get()));
    auto const got = where.read();
    std::set<unsigned> distinct;
    for (unsigned b = 0; b < blocks; ++b) {
      unsigned sm = 0;
      std::memcpy(&sm, got.data() + b * sizeof(sm), sizeof(sm));
      distinct.insert(sm);
    }
    CHECK(distinct.size() == blocks);
  }
  CHECK(kernel::capped_blocks(run, on::device{0}, 8, 256, 0, 3) == 3);
  CHECK(kernel::capped_blocks(run, on::device{0}, 0, 256, 0, 1'000'000) >
        static_cast<unsigned>(sms));
}

TEST_CASE("more shared memory than a block can have is refused by its size", "[copy]") {
  CHECK_THAT(message_of([] {
               kernel::set_max_dynamic_shared_memory(note_sm<256>, on::device{0},
                                                     std::size_t{1} << 20U);
             }),
             contains("needs 1048576 bytes of shared memory"));
}

namespace {

/// A strategy of a device that is to come.
struct of_the_future : copy::regular<> {
  static constexpr int capability = 9990;
};

}  // namespace

TEST_CASE("a kernel is refused a strategy that its device lacks", "[copy]") {
  CHECK_THAT(message_of([] { copy::require_code<of_the_future>(note_sm<256>, on::device{0}); }),
             contains("copy::regular<16, 4> needs a device of compute capability 999.0"));
  CHECK_NOTHROW(copy::require_code<copy::regular<>>(note_sm<256>, on::device{0}));
}
