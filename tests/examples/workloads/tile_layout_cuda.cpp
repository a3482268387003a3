// SPDX-License-Identifier: Apache-2.0
/// @file
/// What loaders write, `wgmma` and `ldmatrix` read: the index maps of both sides, held against each
/// other and against the PTX ISA's words, without a device.
#include "catch.hpp"
#include "workloads/matmul_tiles.hpp"

#include <assay/copy/tile_layout.hpp>
#include <assay/kernel/wgmma_descriptor.hpp>

#include <cstdint>
#include <map>
#include <set>

using namespace assay;

namespace {

struct two_bytes {
  std::uint16_t bits;
};

using bf16_a = copy::swizzled_tile<two_bytes, 128, 64>;
using bf16_b = copy::swizzled_tile<two_bytes, 64, 256>;
using fp32_a = copy::swizzled_tile<float, 128, 32>;
using fp32_b = copy::swizzled_tile<float, 32, 256>;

/// The 128-byte swizzle of a tensor map, said of addresses: 16-byte unit u of line r of 128 bytes
/// goes to unit u ^ (r mod 8).
int as_the_engine_writes(int linear) {
  int const line = linear / 128;
  int const unit = linear / 16 % 8;
  return line * 128 + (unit ^ line % 8) * 16 + linear % 16;
}

/// The address in shared memory of element (mn, k) of a bf16 operand with such a descriptor. The
/// PTX ISA defines the canonical layouts ("Strides") and the swizzle.
constexpr unsigned wgmma_reads(std::uint64_t descriptor, bool mn_major, unsigned mn, unsigned k) {
  auto const field = [descriptor](unsigned at) {
    return static_cast<unsigned>(descriptor >> at & 0x3FFFU) << 4U;
  };
  unsigned const start = field(0);
  unsigned const leading = field(16);
  unsigned const stride = field(32);
  unsigned const linear =
      mn_major ? start + mn % 64 * 2 + mn / 64 * leading + k % 8 * 128 + k / 8 * stride
               : start + mn % 8 * 128 + mn / 8 * stride + k * 2;
  return linear ^ (linear >> 3U & 0x70U);
}

/// The element of a 64-row tile in accumulator register `index` of thread `thread` of a warpgroup
/// (PTX ISA, "Matrix Fragments for wgmma.mma_async.m64nNk16"); `mma.m16n8k16` has the same within a
/// warp.
struct accumulator_element {
  int row;
  int col;
};
constexpr accumulator_element accumulator_at(int thread, int index) {
  return {thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8,
          index / 4 * 8 + thread % 4 * 2 + index % 2};
}

}  // namespace

TEMPLATE_TEST_CASE("a tile lies where the copy engine puts its panels", "[copy]", bf16_a, bf16_b,
                   fp32_a, fp32_b) {
  using tile = TestType;
  constexpr int size = static_cast<int>(sizeof(typename tile::value_type));
  std::set<int> places;
  for (int row = 0; row < tile::rows; ++row) {
    for (int col = 0; col < tile::cols; ++col) {
      int const panel = col / tile::panel_cols;
      // The engine writes a panel's rows of 128 bytes one after the other.
      int const linear = row * 128 + col % tile::panel_cols * size;
      REQUIRE(tile::offset(row, col) == panel * tile::panel_bytes + as_the_engine_writes(linear));
      places.insert(tile::offset(row, col));
    }
  }
  CHECK(places.size() == static_cast<std::size_t>(tile::rows) * tile::cols);
  CHECK(*places.rbegin() == tile::bytes - size);
}

TEST_CASE("threads share out the chunks of a tile, each to one of them", "[copy]") {
  auto const check = []<class Tile, int Threads>(Tile, std::integral_constant<int, Threads>) {
    using share = copy::chunk_share<Tile, Threads>;
    std::set<int> places;
    for (int rank = 0; rank < Threads; ++rank) {
      for (int j = 0; j < share::count; ++j) {
        REQUIRE(share::row(j, rank) < Tile::rows);
        // A loader steps from its first chunk by the rows and panels of rank 0.
        REQUIRE(share::row(j, rank) == share::row(0, rank) + share::row(j, 0));
        auto const at =
            Tile::chunk_offset(share::panel(j), share::row(j, rank), share::chunk(rank));
        REQUIRE(at % 16 == 0);
        places.insert(at);
      }
    }
    CHECK(places.size() == static_cast<std::size_t>(Tile::bytes / 16));
  };
  check(bf16_a{}, std::integral_constant<int, 128>{});
  check(bf16_b{}, std::integral_constant<int, 128>{});
  check(bf16_a{}, std::integral_constant<int, 64>{});
  check(bf16_b{}, std::integral_constant<int, 64>{});
  check(fp32_a{}, std::integral_constant<int, 128>{});
  check(fp32_b{}, std::integral_constant<int, 128>{});
  check(fp32_a{}, std::integral_constant<int, 64>{});
  check(copy::swizzled_tile<float, 32, 128>{}, std::integral_constant<int, 64>{});
}

TEST_CASE("a descriptor has its fields where the PTX ISA says", "[kernel]") {
  auto const all = kernel::wgmma_descriptor(0x2C400, 8192, 1024);
  CHECK((all & 0x3FFF) == 0x2C40);
  CHECK((all >> 14U & 3U) == 0);
  CHECK((all >> 16U & 0x3FFF) == 512);
  CHECK((all >> 32U & 0x3FFF) == 64);
  CHECK((all >> 49U & 7U) == 0);
  CHECK(all >> 62U == 1);
}

TEST_CASE("wgmma finds every element of A and B where loaders put it", "[kernel]") {
  for (unsigned const slot : {1024U, 0x400U + 3 * 49152U}) {
    for (int group = 0; group < 2; ++group) {
      for (unsigned step = 0; step < 4; ++step) {
        // As wgmma_core describes them: A K-major, and B N-major.
        auto const a =
            kernel::wgmma_descriptor(slot + static_cast<unsigned>(group) * 64 * 128, 16, 1024) +
            step * (32 / 16);
        auto const b = kernel::wgmma_descriptor(slot + bf16_a::bytes,
                                                static_cast<unsigned>(bf16_b::panel_bytes), 1024) +
                       step * (16 * 128 / 16);
        for (unsigned k = 0; k < 16; ++k) {
          for (unsigned row = 0; row < 64; ++row) {
            auto const written =
                slot + static_cast<unsigned>(bf16_a::offset(group * 64 + static_cast<int>(row),
                                                            static_cast<int>(step * 16 + k)));
            REQUIRE(wgmma_reads(a, false, row, k) == written);
          }
          for (unsigned col = 0; col < 256; ++col) {
            auto const written = slot + static_cast<unsigned>(bf16_a::bytes) +
                                 static_cast<unsigned>(bf16_b::offset(
                                     static_cast<int>(step * 16 + k), static_cast<int>(col)));
            REQUIRE(wgmma_reads(b, true, col, k) == written);
          }
        }
      }
    }
  }
}

TEST_CASE("wgmma finds both operands where their tokens lie in rows", "[kernel]") {
  // As a product that updates weights describes them: both M-major and N-major, 64 tokens deep.
  using dy = copy::swizzled_tile<two_bytes, 64, 128>;
  using x = copy::swizzled_tile<two_bytes, 64, 128>;
  unsigned const slot = 1024 + 3 * (dy::bytes + x::bytes);
  for (unsigned step = 0; step < 4; ++step) {
    auto const read = [&](unsigned tile, unsigned panel, unsigned mn, unsigned k) {
      return wgmma_reads(kernel::wgmma_descriptor(tile, panel, 1024) + step * 128, true, mn, k);
    };
    for (unsigned k = 0; k < 16; ++k) {
      auto const token = static_cast<int>(step * 16 + k);
      for (unsigned row = 0; row < 128; ++row) {
        // Each band of 64 rows has a descriptor of its own.
        auto const band = slot + row / 64 * static_cast<unsigned>(dy::panel_bytes);
        REQUIRE(read(band, static_cast<unsigned>(dy::panel_bytes), row % 64, k) ==
                slot + static_cast<unsigned>(dy::offset(token, static_cast<int>(row))));
      }
      unsigned const second = slot + static_cast<unsigned>(dy::bytes);
      for (unsigned col = 0; col < 128; ++col) {
        REQUIRE(read(second, static_cast<unsigned>(x::panel_bytes), col, k) ==
                second + static_cast<unsigned>(x::offset(token, static_cast<int>(col))));
      }
    }
  }
}

TEST_CASE("a warpgroup's accumulators are its 64 x 256, each element once", "[kernel]") {
  std::set<std::pair<int, int>> all;
  for (int thread = 0; thread < 128; ++thread) {
    for (int index = 0; index < 128; ++index) {
      auto const at = accumulator_at(thread, index);
      REQUIRE((at.row >= 0 && at.row < 64 && at.col >= 0 && at.col < 256));
      all.insert({at.row, at.col});
    }
  }
  CHECK(all.size() == 64 * 256);
  // Figure "WGMMA .m64nNk16 register fragment layout for accumulator matrix D", read off.
  auto const at = [](int thread, int index) {
    auto const where = accumulator_at(thread, index);
    return std::pair{where.row, where.col};
  };
  CHECK(at(0, 0) == std::pair{0, 0});
  CHECK(at(0, 1) == std::pair{0, 1});
  CHECK(at(0, 2) == std::pair{8, 0});
  CHECK(at(0, 4) == std::pair{0, 8});
  CHECK(at(1, 0) == std::pair{0, 2});
  CHECK(at(4, 0) == std::pair{1, 0});
  CHECK(at(31, 3) == std::pair{15, 7});
  CHECK(at(32, 0) == std::pair{16, 0});
  CHECK(at(127, 127) == std::pair{63, 255});
}

TEST_CASE("an exchange among four lanes gives each eight neighbours of a row", "[kernel]") {
  // What `transpose_quad` does, lane by lane, on words named by the columns that they hold.
  for (int index = 0; index < 128; index += 16) {
    for (int half = 0; half < 2; ++half) {
      int word[4][4];  // [lane][w]
      for (int lane = 0; lane < 4; ++lane) {
        for (int w = 0; w < 4; ++w) {
          word[lane][w] = accumulator_at(lane, index + 4 * w + 2 * half).col;
        }
      }
      for (int bit = 1; bit <= 2; bit *= 2) {
        int sent[4][4];
        for (int lane = 0; lane < 4; ++lane) {
          for (int i = 0; i < 4; ++i) {
            if ((i & bit) == 0) { sent[lane][i] = word[lane][(lane & bit) != 0 ? i : i + bit]; }
          }
        }
        for (int lane = 0; lane < 4; ++lane) {
          for (int i = 0; i < 4; ++i) {
            if ((i & bit) == 0) {
              word[lane][(lane & bit) != 0 ? i : i + bit] = sent[lane ^ bit][i];
            }
          }
        }
      }
      for (int lane = 0; lane < 4; ++lane) {
        for (int w = 0; w < 4; ++w) { REQUIRE(word[lane][w] == index * 2 + lane * 8 + 2 * w); }
      }
    }
  }
}

TEST_CASE("threads that multiply by FFMA have each element of a tile once", "[workload]") {
  auto const check = []<int N, int Rows, int Cols>(workloads::thread_tiles<N, Rows, Cols>) {
    using map = workloads::thread_tiles<N, Rows, Cols>;
    std::set<std::pair<int, int>> all;
    for (int thread = 0; thread < 256; ++thread) {
      for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < Cols; ++j) {
          auto const [row, col] = std::pair{map::row(thread, i), map::col(thread, j)};
          REQUIRE((row >= 0 && row < 128 && col >= 0 && col < N));
          // One register of B per column: fours that begin at multiples of four, at all rows alike.
          REQUIRE(col % 4 == j % 4);
          REQUIRE(row % 8 == map::lane_row(thread % 32));
          all.insert({row, col});
        }
      }
    }
    CHECK(all.size() == 128 * N);
  };
  check(workloads::thread_tiles<256, 16, 8>{});
  check(workloads::thread_tiles<128, 8, 8>{});
}

TEST_CASE("half a warp that multiplies by FFMA reads 128 bytes or fewer of distinct banks",
          "[workload]") {
  // Accesses of 16 bytes are made for eight lanes, and for sixteen at once where all lanes i and
  // i ^ 1, or all i and i ^ 2, read the same: of A the former, of B the latter.
  auto const check = []<class Map, class A, class B>(Map, A, B) {
    for (int half = 0; half < 16; ++half) {
      for (int at = 0; at < 32; at += 4) {
        for (int i = 0; i < 8; ++i) {
          std::map<int, std::set<int>> of_a, of_b;  // places in each group of four banks
          for (int thread = half * 16; thread < half * 16 + 16; ++thread) {
            auto const a = A::offset(Map::row(thread, i), at);
            auto const b = B::offset(at + i % 4, Map::col(thread, i / 4 * 4));
            REQUIRE((a % 16 == 0 && b % 16 == 0));
            REQUIRE(A::offset(Map::row(thread ^ 1, i), at) == a);
            REQUIRE(B::offset(at + i % 4, Map::col(thread ^ 2, i / 4 * 4)) == b);
            of_a[a / 16 % 8].insert(a);
            of_b[b / 16 % 8].insert(b);
          }
          for (auto const& [bank, places] : of_a) { REQUIRE(places.size() == 1); }
          for (auto const& [bank, places] : of_b) { REQUIRE(places.size() == 1); }
        }
      }
    }
  };
  check(workloads::thread_tiles<256, 16, 8>{}, fp32_a{}, fp32_b{});
  check(workloads::thread_tiles<128, 8, 8>{}, fp32_a{}, copy::swizzled_tile<float, 32, 128>{});
}

TEST_CASE("tiles come each once, and neighbours share rows and columns", "[workload]") {
  for (auto const& order :
       {workloads::tile_rasterization{1, 1}, workloads::tile_rasterization{8, 5},
        workloads::tile_rasterization{32, 16}, workloads::tile_rasterization{13, 7},
        workloads::tile_rasterization{3, 100}, workloads::tile_rasterization{9, 1}}) {
    std::set<std::pair<int, int>> all;
    for (int i = 0; i < order.count(); ++i) {
      auto const at = order.at(i);
      REQUIRE((at.row >= 0 && at.row < order.rows && at.col >= 0 && at.col < order.cols));
      all.insert({at.row, at.col});
    }
    CHECK(all.size() == static_cast<std::size_t>(order.count()));
  }
  workloads::tile_rasterization const square{32, 16};
  std::set<int> rows, cols;
  for (int i = 0; i < 128; ++i) {
    rows.insert(square.at(i).row);
    cols.insert(square.at(i).col);
  }
  CHECK(rows.size() == 8);
  CHECK(cols.size() == 16);
  CHECK(workloads::tiles_over(0, 128) == 0);
  CHECK(workloads::tiles_over(1, 128) == 1);
  CHECK(workloads::tiles_over(128, 128) == 1);
  CHECK(workloads::tiles_over(129, 128) == 2);
}
