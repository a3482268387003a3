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
/// Rows worth a thread of their own: some 30 us of work.
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

/// Calls `full(row)` for each whole step of [0, rows), and `rest(row, end)` for the remaining rows.
template <class Full, class Rest>
void for_steps(int threads, std::int64_t rows, Full const& full, Rest const& rest) {
  parallel_for(threads, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    auto row = begin;
    for (; row + step <= end; row += step) { full(row); }
    if (row < end) { rest(row, end); }
  });
}

/// The bools of `step` rows, of which `mask` holds the bits.
inline std::array<std::uint8_t, step> spread_step(std::uint8_t const* mask) noexcept {
  std::array<std::uint64_t, step / 8> bools;
  for (std::size_t byte = 0; byte < bools.size(); ++byte) { bools[byte] = spread(mask[byte]); }
  return std::bit_cast<std::array<std::uint8_t, step>>(bools);
}

/// The bool of one row.
inline std::uint8_t bit(std::uint8_t const* mask, std::int64_t row) noexcept {
  return static_cast<std::uint8_t>(mask[row / 8] >> (row % 8) & 1);
}

}  // namespace detail

/// bools[i] = 1 where row i holds a value, else 0.
template <class Byte>
void is_valid(int threads, std::int64_t rows, Byte const* mask, Byte* bools) {
  auto const full = [=](std::int64_t row) {
    auto const spread = detail::spread_step(mask + row / 8);
    std::memcpy(bools + row, spread.data(), spread.size());
  };
  auto const rest = [=](std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) { bools[row] = detail::bit(mask, row); }
  };
  detail::for_steps(threads, rows, full, rest);
}

/// data[i] = bools[i] ? values[i] : scalar, with the validity of what was taken; the scalar is
/// never null.
template <class T>
void copy_if_else(int threads, std::int64_t rows, std::uint8_t const* bools, T const* values,
                  std::uint8_t const* mask, T scalar, T* data, std::uint8_t* data_mask) {
  auto const full = [=](std::int64_t row) {
    for (auto i = row; i < row + detail::step; ++i) {
      data[i] = detail::select(bools[i], values[i], scalar);
    }
    for (auto i = row; i < row + detail::step; i += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bools + i, 8);
      data_mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | ~detail::gather(eight));
    }
  };
  auto const rest = [=](std::int64_t row, std::int64_t end) {
    for (auto byte = row / 8; byte < (end + 7) / 8; ++byte) { data_mask[byte] = 0; }
    for (; row < end; ++row) {
      data[row] = detail::select(bools[row], values[row], scalar);
      auto const valid = (detail::bit(mask, row) | (bools[row] ^ 1)) << (row % 8);
      data_mask[row / 8] = static_cast<std::uint8_t>(data_mask[row / 8] | valid);
    }
  };
  detail::for_steps(threads, rows, full, rest);
}

/// out[i] = data[i] as double; the validity is copied.
template <class T>
void cast(int threads, std::int64_t rows, T const* data, std::uint8_t const* data_mask, double* out,
          std::uint8_t* out_mask) {
  auto const full = [=](std::int64_t row) {
    for (auto i = row; i < row + detail::step; ++i) { out[i] = static_cast<double>(data[i]); }
    std::memcpy(out_mask + row / 8, data_mask + row / 8, detail::step / 8);
  };
  auto const rest = [=](std::int64_t row, std::int64_t end) {
    for (auto byte = row / 8; byte < (end + 7) / 8; ++byte) { out_mask[byte] = data_mask[byte]; }
    for (; row < end; ++row) { out[row] = static_cast<double>(data[row]); }
  };
  detail::for_steps(threads, rows, full, rest);
}

/// out[i] = values[i] as double where row i holds a value, else 0: the three passes in one.
template <class T>
void null_cast(int threads, std::int64_t rows, T const* values, std::uint8_t const* mask,
               double* out) {
  auto const full = [=](std::int64_t row) {
    auto const bools = detail::spread_step(mask + row / 8);
    for (std::size_t i = 0; i < bools.size(); ++i) {
      auto const value = static_cast<double>(values[row + static_cast<std::int64_t>(i)]);
      out[row + static_cast<std::int64_t>(i)] = detail::select(bools[i], value, 0.0);
    }
  };
  auto const rest = [=](std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) {
      auto const value = static_cast<double>(values[row]);
      out[row] = detail::select(detail::bit(mask, row), value, 0.0);
    }
  };
  detail::for_steps(threads, rows, full, rest);
}

}  // namespace assay::host
