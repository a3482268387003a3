// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of `workloads::null_cast` and `null_cast_fused`, with every choice of their tuning.
///
/// A warp handles a tile of rows by itself. A lane holds the validity of 32 rows in one register,
/// and hands it to others by a shuffle. All arrays are 16-byte aligned. Masks are whole 32-bit
/// words; bits past the last row are undefined.
#pragma once

#include <assay/workload/warp_tile.cuh>

#include <cstdint>

namespace assay::kernel {

/// Word `lane` of a tile's mask; what lanes past the tile's words get is not used.
template <int Words, bool Full>
__device__ std::uint32_t load_mask(std::uint32_t const* mask, int left, int lane) {
  if constexpr (Full) { return mask[lane % Words]; }
  return lane < Words && lane * 32 < left ? mask[lane] : 0;
}

template <int Words, bool Full>
__device__ void store_mask(std::uint32_t* mask, int left, int lane, std::uint32_t word) {
  bool const mine = (Words == 32 || lane < Words) && (Full || lane * 32 < left);
  if (mine) { mask[lane] = word; }
}

/// The validity of rows `row`, `row + 1`, ... from bit 0 on, out of the lanes' words.
__device__ inline std::uint32_t bits_from(std::uint32_t word, int row) {
  return __shfl_sync(0xFFFFFFFFU, word, row / 32) >> (row % 32);
}

/// Four bits as four bytes of 0 or 1: the product puts bit j at 8j, among others.
__device__ inline std::uint32_t spread(std::uint32_t nibble) {
  return (nibble * 0x00204081U) & 0x01010101U;
}

/// The inverse of `spread`: the product moves the bit of byte j to bit 24 + j.
__device__ inline std::uint32_t gather(std::uint32_t bools) {
  return ((bools * 0x01020408U) >> 24U) & 0xFU;
}

/// bools[i] = whether row i holds a value. A thread turns 16 bits into one 16-byte store.
template <class Tuning>
struct is_valid_tile {
  static constexpr int rows = 512 * Tuning::packs;
  std::uint32_t const* mask;
  std::uint8_t* bools;

  template <bool Full>
  __device__ void run(std::int64_t first, int left, int lane) const {
    auto const* sixteens = reinterpret_cast<std::uint16_t const*>(mask + first / 32);
    std::uint32_t bits[Tuning::packs];
    for (int p = 0; p < Tuning::packs; ++p) {
      int const at = p * 32 + lane;
      bits[p] = Full || at * 16 < left ? sixteens[at] : 0;
    }
    for (int p = 0; p < Tuning::packs; ++p) {
      pack<std::uint32_t, 4> const out{spread(bits[p] & 0xFU), spread(bits[p] >> 4U & 0xFU),
                                       spread(bits[p] >> 8U & 0xFU), spread(bits[p] >> 12U)};
      store_rows<Tuning::streams, Full>(bools + first, p * 512 + lane * 16, left,
                                        bit_cast<pack<std::uint8_t, 16>>(out));
    }
  }
};

/// data[i] = bools[i] ? values[i] : scalar, with the validity of what was taken.
template <class T, class Tuning>
struct copy_if_else_tile {
  static constexpr int pack_rows = 16 / sizeof(T);
  static constexpr int rows = 32 * pack_rows * Tuning::packs;
  static constexpr int words = rows / 32;
  static constexpr int halves = words / 16;
  static_assert(words == 16 || words == 32, "bools are read in 16 or 32 bytes a lane");
  std::uint8_t const* bools;
  T const* values;
  std::uint32_t const* mask;
  T scalar;
  T* data;
  std::uint32_t* data_mask;

  /// From 16 bools of each lane, in row order, to 32 bits for each lane.
  template <bool Full>
  __device__ std::uint32_t taken(std::int64_t first, int left, int lane) const {
    std::uint32_t mine = 0;
    for (int h = 0; h < halves; ++h) {
      auto const in = bit_cast<pack<std::uint32_t, 4>>(
          load_rows<16, Full>(bools + first, h * 512 + lane * 16, left));
      for (int k = 0; k < 4; ++k) { mine |= gather(in.at[k]) << (16 * h + 4 * k); }
    }
    auto const even = __shfl_sync(0xFFFFFFFFU, mine, 2 * lane % 32);
    auto const odd = __shfl_sync(0xFFFFFFFFU, mine, (2 * lane + 1) % 32);
    return __byte_perm(even, odd, lane < 16 ? 0x5410 : 0x7632);
  }

  template <bool Full>
  __device__ void run(std::int64_t first, int left, int lane) const {
    pack<T, pack_rows> x[Tuning::packs];
    for (int p = 0; p < Tuning::packs; ++p) {
      int const row = (p * 32 + lane) * pack_rows;
      x[p] = load_rows<pack_rows, Full>(values + first, row, left);
    }
    auto const valid = load_mask<words, Full>(mask + first / 32, left, lane);
    auto const take = taken<Full>(first, left, lane);
    for (int p = 0; p < Tuning::packs; ++p) {
      int const row = (p * 32 + lane) * pack_rows;
      auto const bits = bits_from(take, row);
      for (int k = 0; k < pack_rows; ++k) {
        x[p].at[k] = (bits >> k & 1U) != 0 ? x[p].at[k] : scalar;
      }
      store_rows<Tuning::streams, Full>(data + first, row, left, x[p]);
    }
    store_mask<words, Full>(data_mask + first / 32, left, lane, valid | ~take);
  }
};

/// out[i] = data[i] as double, or 0 where `Coalesce` and row i is null; else the mask is copied.
/// Two rows a lane, so that the doubles leave in 16-byte stores without a gap between lanes.
template <class T, bool Coalesce, class Tuning>
struct cast_tile {
  static constexpr int rows = 64 * Tuning::packs;
  static constexpr int words = 2 * Tuning::packs;
  static_assert(words <= 32, "a lane holds one word of the mask");
  T const* values;
  std::uint32_t const* mask;
  double* out;
  std::uint32_t* out_mask;

  template <bool Full>
  __device__ void run(std::int64_t first, int left, int lane) const {
    auto const valid = load_mask<words, Full>(mask + first / 32, left, lane);
    pack<T, 2> x[Tuning::packs];
    for (int p = 0; p < Tuning::packs; ++p) {
      x[p] = load_rows<2, Full>(values + first, (p * 32 + lane) * 2, left);
    }
    for (int p = 0; p < Tuning::packs; ++p) {
      int const row = (p * 32 + lane) * 2;
      auto const bits = Coalesce ? bits_from(valid, row) : 3U;
      pack<double, 2> const y{(bits & 1U) != 0 ? static_cast<double>(x[p].at[0]) : 0.0,
                              (bits & 2U) != 0 ? static_cast<double>(x[p].at[1]) : 0.0};
      store_rows<Tuning::streams, Full>(out + first, row, left, y);
    }
    if constexpr (!Coalesce) { store_mask<words, Full>(out_mask + first / 32, left, lane, valid); }
  }
};

template <class Tuning>
__global__ void __launch_bounds__(Tuning::threads)
    is_valid(std::int64_t rows, std::uint32_t const* mask, std::uint8_t* bools) {
  run_tile<Tuning>(is_valid_tile<Tuning>{mask, bools}, rows);
}

template <class T, class Tuning>
__global__ void __launch_bounds__(Tuning::threads)
    copy_if_else(std::int64_t rows, std::uint8_t const* bools, T const* values,
                 std::uint32_t const* mask, T scalar, T* data, std::uint32_t* data_mask) {
  run_tile<Tuning>(copy_if_else_tile<T, Tuning>{bools, values, mask, scalar, data, data_mask},
                   rows);
}

template <class T, class Tuning>
__global__ void __launch_bounds__(Tuning::threads)
    cast(std::int64_t rows, T const* data, std::uint32_t const* data_mask, double* out,
         std::uint32_t* out_mask) {
  run_tile<Tuning>(cast_tile<T, false, Tuning>{data, data_mask, out, out_mask}, rows);
}

template <class T, class Tuning>
__global__ void __launch_bounds__(Tuning::threads)
    null_cast_fused(std::int64_t rows, T const* values, std::uint32_t const* mask, double* out) {
  run_tile<Tuning>(cast_tile<T, true, Tuning>{values, mask, out, nullptr}, rows);
}

/// The parameters with which the workload compiles its kernels, found by the races of
/// `benchmarks/tune` on an H100. Casts are the best of theirs, or within 0.5 % of it. A kernel
/// whose results the next one reads stores them into the caches, which races of single kernels do
/// not see.
template <class T>
struct null_cast_tuning {
  using is_valid = tuning<256, 2>;
  using copy_if_else = tuning<256, sizeof(T)>;
  using cast = tuning<128, 16, true>;
  using fused = tuning<128, 16, true>;
};

template <class Tuning>
void launch_is_valid(::cuda::stream_ref stream, std::int64_t rows, std::uint32_t const* mask,
                     std::uint8_t* bools) {
  launch_over_tiles<Tuning>(&is_valid<Tuning>, is_valid_tile<Tuning>::rows, stream, rows, rows,
                            mask, bools);
}

template <class T, class Tuning>
void launch_copy_if_else(::cuda::stream_ref stream, std::int64_t rows, std::uint8_t const* bools,
                         T const* values, std::uint32_t const* mask, T scalar, T* data,
                         std::uint32_t* data_mask) {
  launch_over_tiles<Tuning>(&copy_if_else<T, Tuning>, copy_if_else_tile<T, Tuning>::rows, stream,
                            rows, rows, bools, values, mask, scalar, data, data_mask);
}

template <class T, class Tuning>
void launch_cast(::cuda::stream_ref stream, std::int64_t rows, T const* data,
                 std::uint32_t const* data_mask, double* out, std::uint32_t* out_mask) {
  launch_over_tiles<Tuning>(&cast<T, Tuning>, cast_tile<T, false, Tuning>::rows, stream, rows, rows,
                            data, data_mask, out, out_mask);
}

template <class T, class Tuning>
void launch_null_cast_fused(::cuda::stream_ref stream, std::int64_t rows, T const* values,
                            std::uint32_t const* mask, double* out) {
  launch_over_tiles<Tuning>(&null_cast_fused<T, Tuning>, cast_tile<T, true, Tuning>::rows, stream,
                            rows, rows, values, mask, out);
}

}  // namespace assay::kernel
