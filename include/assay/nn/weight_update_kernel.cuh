// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nn. The kernel of `weight_update` for sm_90a: products of tiles whose sums become
/// steps of AdamW.
#pragma once

#include <assay/copy/tensor_copy.cuh>
#include <assay/copy/tile_layout.hpp>
#include <assay/copy/tile_ring.cuh>
#include <assay/core/bfloat16.hpp>
#include <assay/core/ptx.cuh>
#include <assay/kernel/wgmma.cuh>
#include <assay/nn/adamw.cuh>
#include <assay/nn/vectors.cuh>

#include <cuda.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace assay::nn {

/// A tile of 128 x 128 weights, summed over slots of 64 tokens.
///
/// Two warpgroups multiply, and two update weights with what the first have summed, so that the
/// tensor cores and the memory work at the same time. A further one fills the ring of slots. The
/// registers are what the producers leave of the 5 x 96 that the block begins with. Each warp that
/// updates has `ahead` rows of weights and moments on their way to shared memory. On an H200, 5
/// rows ahead with 3 slots took 20 to 24 % longer: products wait for more of their bytes.
struct update_tile {
  static constexpr int rows = 128, columns = 128, depth = 64;
  static constexpr int multipliers = 256, updaters = 256, readers = multipliers + updaters;
  static constexpr int threads = readers + 128;
  static constexpr int filler_registers = 24, reader_registers = 112;
  using dy_tile = copy::swizzled_tile<bfloat16, depth, rows>;
  using x_tile = copy::swizzled_tile<bfloat16, depth, columns>;
  static constexpr int slot_bytes = dy_tile::bytes + x_tile::bytes;
  using slots = copy::tile_ring<4, slot_bytes>;
  /// Rows of sums are 8 floats longer than a tile, so that stores of pairs use all banks.
  static constexpr int sum_pitch = columns + 8;
  using sums = copy::tile_ring<1, rows * sum_pitch* static_cast<int>(sizeof(float))>;
  static constexpr std::size_t sums_offset = (slots::storage_bytes + 1023) / 1024 * 1024;
  static constexpr int ahead = 2;
  static constexpr int row_floats = 3 * columns;  ///< weights, first and second moments
  static constexpr std::size_t rows_offset = (sums_offset + sums::storage_bytes + 15) / 16 * 16;
  static constexpr std::size_t shared_bytes =
      rows_offset + std::size_t{updaters} / 32 * ahead * row_floats * sizeof(float);
};

/// A weight of a launch, as the kernel sees it.
struct update_target {
  CUtensorMap dy, x;
  float *weights, *first, *second;
  bfloat16* copy;
  int out, in;
  int first_tile;    ///< of the launch
  int tiles_across;  ///< in a row of tiles
};

/// The weights of one launch. A parameter of this type is `__grid_constant__`, since bulk copies
/// read the maps in place.
struct update_group {
  static constexpr int most = 12;  ///< all parameters of a kernel have 4 KiB
  update_target of[most];
  int count = 0;
  int tiles = 0;
  int slots = 0;  ///< of the ring, for each tile
};

namespace kernels {

/// A tile of a launch: its weight, and the first row and column there.
struct update_place {
  int which, row, column;

  template <class Tile>
  __device__ static update_place of(update_group const& group, int tile) {
    int which = 0;
    while (which + 1 < group.count && tile >= group.of[which + 1].first_tile) { ++which; }
    int const inside = tile - group.of[which].first_tile;
    int const across = group.of[which].tiles_across;
    return {which, inside / across * Tile::rows, inside % across * Tile::columns};
  }
};

/// One thread starts the bulk copies of all tiles of a block, in order.
template <class Tile>
__device__ void fill_slots(typename Tile::slots const& ring, update_group const& group) {
  typename Tile::slots::position at;
  for (int tile = static_cast<int>(blockIdx.x); tile < group.tiles; tile += gridDim.x) {
    auto const where = update_place::of<Tile>(group, tile);
    auto const& from = group.of[where.which];
    for (int slot = 0; slot < group.slots; ++slot, at.advance()) {
      ring.await_empty(at);
      auto* const full = ring.full(at);
      ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                             ::cuda::ptx::space_shared, full, Tile::slot_bytes);
      int const token = slot * Tile::depth;
      copy::start_bulk<typename Tile::dy_tile>(from.dy, token, where.row, ring.slot(at), full);
      copy::start_bulk<typename Tile::x_tile>(from.x, token, where.column,
                                              ring.slot(at) + Tile::dy_tile::bytes, full);
    }
  }
}

/// Starts the products of a slot: 64 rows of a warpgroup. Both operands have their tokens in rows.
template <class Tile, int Count>
__device__ void start_products(unsigned slot, float (&sum)[Count]) {
  using dy = typename Tile::dy_tile;
  using x = typename Tile::x_tile;
  constexpr unsigned eight_tokens = 8 * 128, step = 2 * eight_tokens / 16;
  auto const a = kernel::wgmma_descriptor(slot + threadIdx.x / 128 * dy::panel_bytes,
                                          dy::panel_bytes, eight_tokens);
  auto const b = kernel::wgmma_descriptor(slot + dy::bytes, x::panel_bytes, eight_tokens);
#pragma unroll
  for (unsigned i = 0; i < Tile::depth / 16; ++i) {
    kernel::wgmma_m64n128k16_m_major(sum, a + i * step, b + i * step);
  }
}

/// The multipliers' part: the sums of each tile, handed over in shared memory.
template <class Tile>
__device__ void multiply_tiles(typename Tile::slots const& ring, typename Tile::sums const& sums,
                               update_group const& group) {
  int const warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  typename Tile::slots::position at;
  typename Tile::sums::position to;
  for (int tile = static_cast<int>(blockIdx.x); tile < group.tiles; tile += gridDim.x) {
    float sum[Tile::columns / 2];
#pragma unroll
    for (float& each : sum) { each = 0; }
    kernel::wgmma_slots(ring, at, group.slots, sum,
                        [&](unsigned slot) { start_products<Tile>(slot, sum); });
    sums.await_empty(to);
    // A lane has pairs of two rows.
    auto* const mine = reinterpret_cast<float*>(sums.slot(to)) +
                       (warp * 16 + lane / 4) * Tile::sum_pitch + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < Tile::columns / 8; ++i) {
      auto* const pair = mine + 8 * i;
      *reinterpret_cast<float2*>(pair) = {sum[4 * i], sum[4 * i + 1]};
      *reinterpret_cast<float2*>(pair + 8 * Tile::sum_pitch) = {sum[4 * i + 2], sum[4 * i + 3]};
    }
    __syncwarp();
    if (lane == 0) { ::cuda::ptx::mbarrier_arrive(sums.full(to)); }
    to.advance();
  }
}

/// A step of one weight, with a root off by up to 2^-23 of it and a quotient by up to 2 ulp (PTX
/// ISA, "sqrt"; CUDA, "__fdividef"). Few warps update: with exact ones the kernel took 20 to 29 %
/// longer on an H200.
template <class = void>
__device__ void step_weight(adamw_factors const& by, float g, float& w, float& m, float& v) {
  m = by.beta1 * m + by.rest1 * g;
  v = by.beta2 * v + by.rest2 * g * g;
  float root = 0;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(v));
  w = w * by.keep - __fdividef(by.rate * m, root * by.root_factor + by.epsilon);
}

/// The rows of a tile that fall to a warp of the updaters, each eighth, as a lane sees them: four
/// neighbouring weights of each. The pointers are held in registers: to read them anew for each row
/// takes longer than a row.
struct update_rows {
  float *weights = nullptr, *first = nullptr, *second = nullptr;
  bfloat16* copy = nullptr;
  int count = 0;
  unsigned step = 0;  ///< elements from a row to the next

  template <class Tile>
  __device__ static update_rows in(update_group const& group, int tile) {
    if (tile >= group.tiles) { return {}; }
    constexpr int warps = Tile::updaters / 32;
    auto const where = update_place::of<Tile>(group, tile);
    auto const& of = group.of[where.which];
    int const row = where.row + static_cast<int>(threadIdx.x / 32 % warps);
    int const column = where.column + static_cast<int>(threadIdx.x % 32) * 4;
    int const end = min(of.out, where.row + Tile::rows);
    if (column >= of.in || row >= end) { return {}; }
    auto const at = static_cast<std::size_t>(row) * static_cast<std::size_t>(of.in) +
                    static_cast<std::size_t>(column);
    return {of.weights + at,
            of.first + at,
            of.second + at,
            of.copy + at,
            (end - row + warps - 1) / warps,
            static_cast<unsigned>(warps * of.in)};
  }
  /// Starts the copies of a row to `held`: weights, and moments `Columns` and twice as many behind.
  template <int Columns>
  __device__ void start(int row, float* held) const {
    if (row >= count) { return; }
    auto const at = static_cast<std::size_t>(row) * step;
    __pipeline_memcpy_async(held, weights + at, 16);
    __pipeline_memcpy_async(held + Columns, first + at, 16);
    __pipeline_memcpy_async(held + 2 * Columns, second + at, 16);
  }
  template <int Columns>
  __device__ void update(int row, float const* held, adamw_factors const& by,
                         float const* gradient) const {
    if (row >= count) { return; }
    auto const at = static_cast<std::size_t>(row) * step;
    float g[4], w[4], m[4], v[4];
    load(gradient, g);
    load(held, w);
    load(held + Columns, m);
    load(held + 2 * Columns, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) { step_weight(by, g[i], w[i], m[i], v[i]); }
    store(weights + at, w);
    store(first + at, m);
    store(second + at, v);
    store(copy + at, w);
  }
};

/// The next rows of a warp of the updaters, on their way to shared memory, across the ends of
/// tiles. A lane reads what it copied itself, so no thread waits for another.
template <class Tile>
class rows_ahead {
 public:
  static constexpr int warps = Tile::updaters / 32, rows = Tile::rows / warps;

  __device__ rows_ahead(update_group const& group, std::byte* storage)
      : group_(group),
        first_(reinterpret_cast<float*>(storage) +
               threadIdx.x / 32 % warps * (Tile::ahead * Tile::row_floats) + threadIdx.x % 32 * 4),
        tile_(static_cast<int>(blockIdx.x)),
        from_(update_rows::in<Tile>(group, tile_)) {
#pragma unroll
    for (int i = 0; i < Tile::ahead; ++i) { start(i); }
  }
  /// The oldest row, once it is there.
  __device__ float const* oldest() const {
    __pipeline_wait_prior(Tile::ahead - 1);
    return first_ + place_ * Tile::row_floats;
  }
  /// Starts another row in the place of the oldest, which was read.
  __device__ void advance() {
    start(place_);
    if (++place_ == Tile::ahead) { place_ = 0; }
  }

 private:
  __device__ void start(int place) {
    from_.template start<Tile::columns>(row_, first_ + place * Tile::row_floats);
    __pipeline_commit();
    if (++row_ < rows) { return; }
    row_ = 0;
    tile_ += static_cast<int>(gridDim.x);
    from_ = update_rows::in<Tile>(group_, tile_);
  }

  update_group const& group_;
  float* first_;
  int place_ = 0, row_ = 0, tile_;
  update_rows from_;
};

/// The updaters' part. The factors are in registers: to read them anew waits for the rows ahead.
template <class Tile>
__device__ void update_tiles(typename Tile::sums const& sums, update_group const& group,
                             adamw_factors const by, std::byte* storage) {
  rows_ahead<Tile> ahead{group, storage};
  constexpr int warps = rows_ahead<Tile>::warps;
  int const warp = static_cast<int>(threadIdx.x / 32 % warps);
  int const lane = static_cast<int>(threadIdx.x % 32);
  typename Tile::sums::position at;
  for (int tile = static_cast<int>(blockIdx.x); tile < group.tiles; tile += gridDim.x) {
    auto const own = update_rows::in<Tile>(group, tile);
    sums.await_full(at);
    auto const* gradient =
        reinterpret_cast<float const*>(sums.slot(at)) + warp * Tile::sum_pitch + lane * 4;
#pragma unroll 1
    for (int row = 0; row < rows_ahead<Tile>::rows; ++row, gradient += warps * Tile::sum_pitch) {
      own.template update<Tile::columns>(row, ahead.oldest(), by, gradient);
      ahead.advance();
    }
    __syncwarp();
    if (lane == 0) { sums.release(at); }
    at.advance();
  }
}

/// The steps of all weights of a group. The blocks take tiles in turn.
template <class Tile>
__global__ void __launch_bounds__(kernel::has_wgmma ? Tile::threads : 32, 1)
    weight_update_tiles(update_group const __grid_constant__ group, adamw_factors const* factors) {
  if constexpr (kernel::has_wgmma) {
    extern __shared__ __align__(1024) unsigned char weight_update_storage[];
    typename Tile::slots const ring{weight_update_storage};
    typename Tile::sums const sums{weight_update_storage + Tile::sums_offset};
    if (threadIdx.x == 0) {
      ring.initialise(1, Tile::multipliers / 32);
      sums.initialise(Tile::multipliers / 32, Tile::updaters / 32);
    }
    __syncthreads();
    if (threadIdx.x >= Tile::readers) {
      kernel::setmaxnreg_dec<Tile::filler_registers>();
      if (threadIdx.x == Tile::readers) { fill_slots<Tile>(ring, group); }
    } else if (threadIdx.x >= Tile::multipliers) {
      kernel::setmaxnreg_inc<Tile::reader_registers>();
      update_tiles<Tile>(sums, group, *factors,
                         reinterpret_cast<std::byte*>(weight_update_storage) + Tile::rows_offset);
    } else {
      kernel::setmaxnreg_inc<Tile::reader_registers>();
      multiply_tiles<Tile>(ring, sums, group);
    }
  } else {
    __trap();  // not launched: `has_weight_update` is false
  }
}

}  // namespace kernels
}  // namespace assay::nn
