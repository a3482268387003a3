// SPDX-License-Identifier: Apache-2.0
/// @file
/// `CAST(COALESCE(x, 0) AS DOUBLE)` on the CPU: as three passes, and as one.
///
/// All take Arrow validity bitmasks of whole bytes, ceil(rows / 8) of them; bits past the last row
/// are neither used nor kept. Inputs and outputs must not overlap. `threads` is what each call may
/// use (`parallel_for`).
#pragma once

#include <assay/host/parallel_for.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace assay::host {

namespace detail {

static_assert(std::endian::native == std::endian::little, "byte j of a word must be row j");

/// Rows handled per step of the inner loops; a constant, so that compilers vectorise them.
inline constexpr std::int64_t step = 64;
/// Rows worth a thread of their own: some 30 us of work, the cost of starting one.
inline constexpr std::int64_t grain = std::int64_t{1} << 15;

template <std::size_t Bytes>
using bits_of = std::conditional_t<Bytes == 8, std::uint64_t, std::uint32_t>;

/// Eight mask bits as eight bytes of 0 or 1: copies the byte eight times, keeps bit j in copy j.
constexpr std::uint64_t spread(std::uint8_t bits) noexcept {
  auto const picked = (bits * 0x0101010101010101ULL) & 0x8040201008040201ULL;
  return ((picked + 0x7F7F7F7F7F7F7F7FULL) >> 7U) & 0x0101010101010101ULL;
}

/// The inverse of `spread`: the product moves the bit of byte j to bit 56 + j.
constexpr std::uint8_t gather(std::uint64_t bools) noexcept {
  return static_cast<std::uint8_t>((bools * 0x0102040810204080ULL) >> 56U);
}

/// `valid` ? `value` : `other`, without a branch, so that NaNs in null rows cannot leak.
template <class T>
constexpr T select(std::uint8_t valid, T value, T other) noexcept {
  using bits = bits_of<sizeof(T)>;
  auto const keep = bits{0} - bits{valid};
  return std::bit_cast<T>((std::bit_cast<bits>(value) & keep) |
                          (std::bit_cast<bits>(other) & ~keep));
}

/// Calls `full(row)` for each whole step of [0, rows) and `rest(row, count)` for what is left.
template <class Full, class Rest>
void for_steps(int threads, std::int64_t rows, Full const& full, Rest const& rest) {
  parallel_for(threads, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    auto row = begin;
    for (; row + step <= end; row += step) { full(row); }
    if (row < end) { rest(row, end - row); }
  });
}

/// The bools of up to 64 rows from `row` on.
inline std::array<std::uint8_t, step> spread_step(std::uint8_t const* mask, std::int64_t row,
                                                  std::int64_t count = step) noexcept {
  std::array<std::uint8_t, step> bools{};
  for (std::int64_t byte = 0; byte < (count + 7) / 8; ++byte) {
    auto const eight = spread(mask[row / 8 + byte]);
    std::memcpy(bools.data() + byte * 8, &eight, 8);
  }
  return bools;
}

}  // namespace detail

/// bools[i] = 1 where row i holds a value, else 0.
inline void is_valid(int threads, std::int64_t rows, std::uint8_t const* mask,
                     std::uint8_t* bools) {
  auto const write = [=](std::int64_t row, std::int64_t count) {
    auto const expanded = detail::spread_step(mask, row, count);
    std::memcpy(bools + row, expanded.data(), static_cast<std::size_t>(count));
  };
  detail::for_steps(
      threads, rows, [&](std::int64_t row) { write(row, detail::step); }, write);
}

/// data[i] = bools[i] ? values[i] : scalar, with the validity of what was taken; the scalar is
/// never null.
template <class T>
void copy_if_else(int threads, std::int64_t rows, std::uint8_t const* bools, T const* values,
                  std::uint8_t const* mask, T scalar, T* data, std::uint8_t* data_mask) {
  auto const full = [=](std::int64_t row) {
    for (std::int64_t i = 0; i < detail::step; ++i) {
      data[row + i] = detail::select(bools[row + i], values[row + i], scalar);
    }
    for (std::int64_t byte = row / 8; byte < (row + detail::step) / 8; ++byte) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bools + byte * 8, 8);
      data_mask[byte] = static_cast<std::uint8_t>(mask[byte] | ~detail::gather(eight));
    }
  };
  auto const rest = [=](std::int64_t row, std::int64_t count) {
    for (auto i = row; i < row + count; ++i) {
      data[i] = detail::select(bools[i], values[i], scalar);
    }
    for (auto begin = row; begin < row + count; begin += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bools + begin,
                  static_cast<std::size_t>(std::min<std::int64_t>(8, row + count - begin)));
      data_mask[begin / 8] = static_cast<std::uint8_t>(mask[begin / 8] | ~detail::gather(eight));
    }
  };
  detail::for_steps(threads, rows, full, rest);
}

/// out[i] = data[i] as double; the validity is copied.
template <class T>
void cast(int threads, std::int64_t rows, T const* data, std::uint8_t const* data_mask, double* out,
          std::uint8_t* out_mask) {
  auto const write = [=](std::int64_t row, std::int64_t count) {
    for (auto i = row; i < row + count; ++i) { out[i] = static_cast<double>(data[i]); }
    std::memcpy(out_mask + row / 8, data_mask + row / 8, static_cast<std::size_t>((count + 7) / 8));
  };
  detail::for_steps(
      threads, rows, [&](std::int64_t row) { write(row, detail::step); }, write);
}

/// out[i] = values[i] as double where row i holds a value, else 0: the three passes in one.
template <class T>
void null_cast(int threads, std::int64_t rows, T const* values, std::uint8_t const* mask,
               double* out) {
  auto const write = [=](std::int64_t row, std::int64_t count) {
    auto const bools = detail::spread_step(mask, row, count);
    for (std::int64_t i = 0; i < count; ++i) {
      auto const value = static_cast<double>(values[row + i]);
      out[row + i] = detail::select(bools[static_cast<std::size_t>(i)], value, 0.0);
    }
  };
  detail::for_steps(
      threads, rows, [&](std::int64_t row) { write(row, detail::step); }, write);
}

}  // namespace assay::host
