// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bytes that pass through the tiles of each strategy arrive: any size, any alignment, any number
/// of tiles, by blocks and by warps.

#include "catch.hpp"
#include "copy/runs_here.hpp"
#include "copy/tiles.hpp"
#include "device_array.hpp"
#include "workloads/capped_grid.cuh"

#include <assay/copy/require_code.cuh>
#include <assay/core/ptx.cuh>
#include <assay/verify.cuh>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace assay;
using namespace assay::test;

namespace {

/// The first two of some values, where a sanitizer watches: each verification takes it a second.
std::vector<int> few(std::vector<int> of) {
  if (small()) { of.resize(2); }
  return of;
}

constexpr int threads = 128;
constexpr int tile_bytes = 1024;

/// What one launch of a kernel brings from an array of `in` bytes to one of `out` bytes.
struct passage {
  int in = 0, out = 0;
  std::function<int(int)> source;  ///< where a byte of `out` comes from; -1 for one that stays
  std::function<void(::cuda::stream_ref, std::byte const*, std::byte*)> launch;
};

void require_right(assay::sizes const& only, std::function<passage(int)> const& of) {
  auto const factory = [of](setup& make, std::size_t n) {
    passage const what = of(static_cast<int>(n));
    make.align(16);
    auto const in = make.random<std::uint8_t>(static_cast<std::size_t>(what.in));
    auto const out = make.inout<std::uint8_t>(static_cast<std::size_t>(what.out));
    make.expect(out, [in, out, source = what.source](std::size_t i) {
      int const from = source(static_cast<int>(i));
      return from < 0 ? out.seeded(i) : in.seeded(static_cast<std::size_t>(from));
    });
    return [=](cudaStream_t on) {
      what.launch(on, reinterpret_cast<std::byte const*>(in.data()),
                  reinterpret_cast<std::byte*>(out.data()));
    };
  };
  auto const seen = verify(factory, {.seed = fresh_seed(), .only = only});
  REQUIRE(seen);
}

/// The groups of a strategy, in words, and what each of them needs.
struct groups_of {
  std::string how;
  int threads, storage;
};
template <class Strategy, class Group, class Tiles>
groups_of groups() {
  return {describe(Strategy{}) + ", groups of " + std::to_string(Group::threads), Group::threads,
          static_cast<int>(Tiles::storage_bytes)};
}

void check_tiles(groups_of const& by, void (*run)(std::byte const*, std::byte*, int, int, int)) {
  int const groups = threads / by.threads;
  constexpr int offsets = 16;
  assay::sizes only{0,    1,    2,    3,    15,     16,     17,    31,   32,
                    33,   63,   255,  1000, 1023,   1024,   1025,  1040, 2048,
                    4095, 4096, 4097, 5000, 10'007, 16'384, 50'000};
  if (small()) { only = {0, 17, 1025}; }
  for (int const tile : few({tile_bytes, 1000, 17})) {
    INFO(by.how << ", tiles of " << tile);
    only.at_most(tile == 17 ? 1100 : 50'000);
    require_right(only, [=](int bytes) -> passage {
      int const region = bytes + 64;
      return {bytes + offsets, region * offsets,
              [=](int i) { return i % region < bytes ? i / region + i % region : -1; },
              [=](auto on, auto const* in, auto* out) {
                launch_test(on, run, offsets / groups, threads, groups * by.storage, in, out,
                            region, bytes, tile);
              }};
    });
  }
}

void check_pieces(groups_of const& by,
                  void (*run)(std::byte const*, std::byte*, int, int, int, int, int)) {
  for (int const second : few({0, 300, 1, 64})) {
    for (int const gap : few({0, 5, 16})) {
      for (int const skew : few({0, 3, 16})) {
        INFO(by.how << ", second piece of " << second << " bytes, gap " << gap << ", skew "
                    << skew);
        require_right(
            small() ? assay::sizes{17} : assay::sizes{0, 16, 17, 256}, [=](int first) -> passage {
              constexpr int count = 7;
              int const both = first + second;
              return {count * (both + skew), count * both,
                      [=](int i) { return i + i / both * skew + (i % both < first ? 0 : skew); },
                      [=](auto on, auto const* in, auto* out) {
                        launch_test(on, run, 1, by.threads, by.storage, in, out, first, gap, second,
                                    skew, count);
                      }};
            });
      }
    }
  }
}

void check_rows(groups_of const& by,
                void (*run)(std::byte const*, std::byte*, int, int, int, int, int)) {
  struct shape {
    std::size_t rows;
    int row_bytes, pitch, tile_pitch, tile_rows;
  };
  for (auto const& of :
       {shape{64, 128, 128, 144, 32}, shape{100, 64, 256, 80, 40}, shape{70, 100, 100, 112, 33},
        shape{33, 61, 67, 64, 16}, shape{5, 16, 4096, 16, 2}, shape{40, 0, 16, 16, 8},
        shape{1, 4, 4, 16, 64}, shape{0, 16, 16, 16, 4}, shape{50, 16, 48, 36, 9}}) {
    INFO(by.how << ", rows of " << of.row_bytes << " at " << of.pitch << " and " << of.tile_pitch);
    require_right({of.rows}, [=](int rows) -> passage {
      return {rows * of.pitch, rows * of.row_bytes,
              [of](int i) { return i / of.row_bytes * of.pitch + i % of.row_bytes; },
              [=](auto on, auto const* in, auto* out) {
                launch_test(on, run, 1, by.threads, by.storage, in, out, rows, of.row_bytes,
                            of.pitch, of.tile_pitch, of.tile_rows);
              }};
    });
  }
}

constexpr int thread_vectors = 3;

void check_vectors(groups_of const& by, void (*run)(uint4 const*, uint4*, int, int, int)) {
  int const groups = threads / by.threads;
  int const whole = by.threads * thread_vectors;
  auto const of_counts =
      small() ? assay::sizes{0, 97, 385} : assay::sizes{0, 1, 31, 95, 96, 97, 384, 385, 1000, 3840};
  for (int const rows : few({0, 4, 1})) {
    INFO(by.how << ", " << rows << " rows a tile");
    require_right(of_counts, [=](int count) -> passage {
      int const used = rows == 0 ? count : count / whole * whole;  // rows share whole tiles
      int const row = whole / std::max(rows, 1);
      auto const source = [=](int i) {
        int const v = i / 16 % used, in_tile = v % whole;
        int const turned = rows == 0 ? in_tile : (rows - 1 - in_tile / row) * row + in_tile % row;
        return (v - in_tile + turned) * 16 + i % 16;
      };
      return {used * 16, used * 16 * groups, source, [=](auto on, auto const* in, auto* out) {
                launch_test(on, run, 1, threads, groups * by.storage,
                            reinterpret_cast<uint4 const*>(in), reinterpret_cast<uint4*>(out), used,
                            whole, rows);
              }};
    });
  }
}

template <class Strategy, class Group>
void check_tiles() {
  check_tiles(groups<Strategy, Group, copy::tile_pipeline<Strategy, Group, tile_bytes>>(),
              pass_tiles<Strategy, Group, tile_bytes, threads>);
}
template <class Strategy, class Group>
void check_pieces_and_rows() {
  check_pieces(groups<Strategy, Group, copy::tile_pipeline<Strategy, Group, tile_bytes>>(),
               pass_pieces<Strategy, Group, tile_bytes, Group::threads>);
  check_rows(groups<Strategy, Group, copy::tile_pipeline<Strategy, Group, 8192>>(),
             pass_rows<Strategy, Group, 8192, Group::threads>);
}
template <class Strategy, class Group>
void check_vectors() {
  check_vectors(groups<Strategy, Group, copy::vectors<Strategy, Group, thread_vectors>>(),
                pass_vectors<Strategy, Group, thread_vectors, threads>);
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
  check_pieces_and_rows<TestType, copy::block<threads>>();
  check_pieces_and_rows<TestType, copy::warp>();
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
    examples::device_array<unsigned> const where{blocks};
    launch_test(::cuda::stream_ref{cudaStreamPerThread}, run, static_cast<int>(blocks), 256, 0,
                where.get());
    std::vector<unsigned> got(blocks);
    check(cudaStreamSynchronize(cudaStreamPerThread));
    check(cudaMemcpy(got.data(), where.get(), blocks * sizeof(unsigned), cudaMemcpyDefault));
    std::set<unsigned> const distinct(got.begin(), got.end());
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
