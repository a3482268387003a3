// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nn. The warps of the kernel of `weight_update` that update weights.
#pragma once

#include <assay/nn/adamw.cuh>
#include <assay/nn/vectors.cuh>
#include <assay/nn/weight_update_tile.cuh>

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace assay::nn {

namespace kernels {

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
  split_pointer weights;
  float *first = nullptr, *second = nullptr;
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
    return {of.weights + at, of.first + at, of.second + at, (end - row + warps - 1) / warps,
            static_cast<unsigned>(warps * of.in)};
  }
  /// Starts the copies of a row to `held`: weights, and moments `Columns` and twice as many behind.
  template <int Columns>
  __device__ void start(int row, float* held) const {
    if (row >= count) { return; }
    auto const at = static_cast<std::size_t>(row) * step;
    __pipeline_memcpy_async(held, weights.high + at, 8);
    __pipeline_memcpy_async(held + 2, weights.low + at, 8);
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
    auto const halves = *reinterpret_cast<uint4 const*>(held);  // two words of each
    join(halves.x, halves.z, w[0], w[1]);
    join(halves.y, halves.w, w[2], w[3]);
    load(held + Columns, m);
    load(held + 2 * Columns, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) { step_weight(by, g[i], w[i], m[i], v[i]); }
    store(weights + at, w);
    store(first + at, m);
    store(second + at, v);
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
    from_.template start<Tile::columns>(Tile::place_of(row_), first_ + place * Tile::row_floats);
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
#pragma unroll 1
    for (int row = 0; row < rows_ahead<Tile>::rows; at.advance()) {
      sums.await_full(at);
      auto const* gradient =
          reinterpret_cast<float const*>(sums.slot(at)) + warp * Tile::sum_pitch + lane * 4;
#pragma unroll 1
      for (int i = 0; i < Tile::part_rows / warps; ++i, gradient += warps * Tile::sum_pitch) {
        own.template update<Tile::columns>(Tile::place_of(row++), ahead.oldest(), by, gradient);
        ahead.advance();
      }
      sums.release(at);
    }
  }
}

}  // namespace kernels
}  // namespace assay::nn
