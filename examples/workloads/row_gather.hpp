// SPDX-License-Identifier: Apache-2.0
/// @file
/// A gather of rows by a list of indices, as paged caches and embedding tables need it.
///
/// This header is the workload and its host half; `row_gather.cuh` adds the device.
#pragma once

#include "capped_grid.hpp"

#include <assay/host/parallel_for.hpp>
#include <assay/workload/array_workload.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::workloads {

/// The arrays of a lane: rows are runs of words of 8 bytes.
struct gather_arrays {
  std::uint64_t const* table = nullptr;
  std::int32_t const* index = nullptr;
  std::uint64_t* out = nullptr;
};

/// out[i] = table[index[i]], row by row; the indices are random, and rows may come several times.
///
/// On the device it takes a copy strategy; each warp works a pipeline of its own. `max_sms` blocks,
/// one on each SM, do all the work; 0: as many as are resident.
struct row_gather {
  static constexpr std::string_view name = "row_gather";
  static constexpr bool takes_copy = true;

  std::int64_t rows = std::int64_t{1} << 18;        ///< that are gathered
  std::int64_t table_rows = std::int64_t{1} << 19;  ///< to choose from
  std::int64_t row_bytes = 1024;                    ///< a multiple of 16
  int max_sms = 0;
  int threads = 256;  ///< in a block: 128, 256 or 512
  std::uint64_t seed = default_seed;

  bool operator==(row_gather const&) const = default;

  std::int64_t count() const noexcept { return rows; }
  std::int64_t row_words() const noexcept { return row_bytes / 8; }

  std::string describe() const {
    parameter_list all;
    all.show("rows", rows).show("table_rows", table_rows).show("row_bytes", row_bytes);
    show_caps(all, max_sms, threads);
    return all.show("seed", seed, default_seed).after(name);
  }
  /// Throws `std::invalid_argument` with the field, its value and the permitted values.
  void validate() const {
    auto const refuse = [](char const* field, std::int64_t value, char const* allowed) {
      throw std::invalid_argument("row_gather: " + std::string{field} + " = " +
                                  std::to_string(value) + " is not possible: " + allowed);
    };
    constexpr auto most = std::int64_t{1} << 31;
    if (rows < 0 || rows > most) { refuse("rows", rows, "0 to 2^31 are"); }
    if (table_rows < 1 || table_rows >= most) {
      refuse("table_rows", table_rows, "1 to 2^31 - 1 are");
    }
    if (row_bytes < 16 || row_bytes > (std::int64_t{1} << 20) || row_bytes % 16 != 0) {
      refuse("row_bytes", row_bytes, "multiples of 16 from 16 to 2^20 are");
    }
    require_caps(name, max_sms, threads);
  }

  traffic item_traffic() const {
    auto const moved = static_cast<double>(rows) * static_cast<double>(row_bytes);
    return {moved + static_cast<double>(rows) * sizeof(std::int32_t), moved, 0, 0, 0};
  }

  gather_arrays arrays(setup& make) const {
    auto const words = size_of(row_words());
    auto const table = make.random<std::uint64_t>(size_of(table_rows) * words);
    auto const index =
        make.random<std::int32_t>(size_of(rows), {0, static_cast<std::int32_t>(table_rows - 1)});
    auto const out = make.output<std::uint64_t>(size_of(rows) * words);
    make.expect(out,
                [=](std::size_t first, std::span<std::uint64_t> wanted, std::span<double> errors) {
                  for (std::size_t i = 0; i < wanted.size(); ++i) {
                    auto const row = size_of(index.seeded((first + i) / words));
                    wanted[i] = table.seeded(row * words + (first + i) % words);
                    errors[i] = 0;
                  }
                });
    return {table.data(), index.data(), out.data()};
  }
};

template <host_lane Lane>
void run_on(Lane& where, row_gather const& work, gather_arrays const& all) {
  constexpr std::int64_t grain = 1024;
  auto const words = work.row_words();
  host::parallel_for(where.place.threads, work.rows, grain, [=](auto begin, auto end) {
    for (auto i = begin; i < end; ++i) {
      std::memcpy(all.out + i * words, all.table + all.index[i] * words, size_of(words) * 8);
    }
  });
}

}  // namespace assay::workloads
