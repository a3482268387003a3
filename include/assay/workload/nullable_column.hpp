// SPDX-License-Identifier: Apache-2.0
/// @file
/// Nullable columns in Arrow's layout: a view of a caller's own, and generated ones.
#pragma once

#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>

namespace assay::workloads {

/// A nullable column in host memory that someone else owns.
///
/// Arrow layout with offset 0: row i holds a value where bit i % 8 of byte i / 8 of `mask` is set;
/// no mask means no nulls. The contents of null rows and the bits past the last row do not matter.
template <class T>
struct column_view {
  T const* values = nullptr;
  std::uint8_t const* mask = nullptr;
  std::int64_t rows = 0;
  bool operator==(column_view const&) const = default;
};

/// True if row `row` holds a value, by an Arrow validity bitmask: bit `row % 8` of byte `row / 8`,
/// least significant first. A null mask says that no row is null.
constexpr bool is_valid(std::uint8_t const* mask, std::int64_t row) noexcept {
  return mask == nullptr || ((mask[row / 8] >> (row % 8)) & 1) != 0;
}

/// Bytes that hold the validity bits of `rows` rows, as allocated here: whole 64-byte blocks, as
/// Arrow recommends, so that kernels can read and write it in words.
constexpr std::size_t mask_bytes(std::int64_t rows) noexcept {
  return (static_cast<std::size_t>(rows) + 511) / 512 * 64;
}

/// The recipe of a generated column; equal recipes give equal columns, on any machine.
struct column_recipe {
  std::int64_t rows = 0;
  double null_fraction = 0;
  std::uint64_t seed = 0;
  bool operator==(column_recipe const&) const = default;
};

/// A column in host memory that owns its rows.
template <class T>
class column {
 public:
  /// Random values, each row null with the recipe's probability: integers over their whole range,
  /// floats finite and of either sign. Null rows hold other random integers, or NaN; the bits past
  /// the last row are random.
  explicit column(column_recipe const& recipe)
      : rows_(recipe.rows),
        values_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(recipe.rows))),
        mask_(std::make_unique_for_overwrite<std::uint8_t[]>(mask_bytes(recipe.rows))) {
    auto const padded = static_cast<std::int64_t>(mask_bytes(rows_)) * 8;
    host::parallel_for(
        host::all_threads(), padded, grain, [&](std::int64_t begin, std::int64_t end) {
          for (auto row = begin; row < end; row += 8) {
            unsigned bits = 0;
            for (unsigned k = 0; k < 8; ++k) { bits |= unsigned{draw(recipe, row + k)} << k; }
            mask_[static_cast<std::size_t>(row / 8)] = static_cast<std::uint8_t>(bits);
          }
        });
  }

  column_view<T> view() const noexcept { return {values_.get(), mask_.get(), rows_}; }

 private:
  static constexpr std::int64_t grain = std::int64_t{1} << 16;  // 0.3 ms of work for each thread

  /// Decides whether a row is valid and writes its value, if it is a row.
  bool draw(column_recipe const& recipe, std::int64_t row) {
    auto const index = 2 * static_cast<std::uint64_t>(row);
    auto const uniform = static_cast<double>(random_bits(recipe.seed, index) >> 11U) * 0x1p-53;
    bool const valid = uniform >= recipe.null_fraction;
    if (row >= rows_) { return (random_bits(recipe.seed, index) & 1U) != 0; }
    auto const random = random_bits(recipe.seed, index + 1);
    auto& value = values_[static_cast<std::size_t>(row)];
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random);
    } else {
      value = valid ? static_cast<T>(static_cast<std::int32_t>(random)) * static_cast<T>(0x1p-16)
                    : std::numeric_limits<T>::quiet_NaN();
    }
    return valid;
  }

  std::int64_t rows_;
  std::unique_ptr<T[]> values_;
  std::unique_ptr<std::uint8_t[]> mask_;
};

/// The column of a recipe. The process keeps the last one, since every epoch of a comparison asks
/// for it again.
template <class T>
std::shared_ptr<column<T> const> generated_column(column_recipe const& recipe) {
  static std::mutex guard;
  static column_recipe made_by;
  // Never destroyed: destructors of static objects may compare.
  static auto& last = *new std::shared_ptr<column<T> const>;

  std::lock_guard const lock{guard};
  if (last == nullptr || made_by != recipe) {
    last.reset();  // not two columns at once
    last.reset(new column<T> const(recipe));
    made_by = recipe;
  }
  return last;
}

}  // namespace assay::workloads
