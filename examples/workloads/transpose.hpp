// SPDX-License-Identifier: Apache-2.0
/// @file
/// The transpose of a matrix through tiles in shared memory. Threads share each tile and have
/// nothing else to do, so a copy strategy has little to win where all SMs are full.
///
/// This header is the workload and its host half; `transpose.cuh` adds the device.
#pragma once

#include "capped_grid.hpp"

#include <assay/host/parallel_for.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::workloads {

/// The arrays of a lane.
struct transpose_arrays {
  std::uint32_t const* in = nullptr;
  std::uint32_t* out = nullptr;
};

/// out[c][r] = in[r][c] for a row-major matrix of 32-bit words of any shape.
///
/// On the device it takes a copy strategy. `max_sms` blocks, one on each SM, do all the work; 0: as
/// many as are resident.
struct transpose {
  using value_type = std::uint32_t;
  static constexpr std::string_view name = "transpose";
  static constexpr bool takes_copy = true;

  std::int64_t rows = std::int64_t{1} << 13;
  std::int64_t columns = std::int64_t{1} << 13;
  int max_sms = 0;
  int threads = 256;  ///< in a block: 128, 256 or 512
  std::uint64_t seed = default_seed;

  bool operator==(transpose const&) const = default;

  std::int64_t count() const noexcept { return rows * columns; }

  std::string describe() const {
    parameter_list all;
    all.show("rows", rows).show("columns", columns);
    show_caps(all, max_sms, threads);
    return all.show("seed", seed, default_seed).after(name);
  }
  /// Throws `std::invalid_argument` with the field, its value and the permitted values.
  void validate() const {
    constexpr auto most = std::int64_t{1} << 24;
    for (auto const& [field, value] : {std::pair{"rows", rows}, std::pair{"columns", columns}}) {
      if (value >= 0 && value <= most) { continue; }
      throw std::invalid_argument("transpose: " + std::string{field} + " = " +
                                  std::to_string(value) + " is not possible: 0 to 2^24 are");
    }
    require_caps(name, max_sms, threads);
  }

  traffic item_traffic() const {
    auto const bytes = static_cast<double>(count()) * sizeof(value_type);
    return {bytes, bytes, 0, 0, 0};
  }

  transpose_arrays arrays(setup& make) const {
    constexpr value_type most = 0x7FFFFFFF;  // poison is larger
    auto const in = make.random<value_type>(size_of(count()), {0, most});
    auto const out = make.output<value_type>(size_of(count()));
    make.expect(out, [in, high = size_of(rows), wide = size_of(columns)](std::size_t i) {
      return in.seeded(i % high * wide + i / high);
    });
    return {in.data(), out.data()};
  }
};

/// Works in squares of 32 by 32: their rows stay in the cache while columns are written.
template <host_lane Lane>
void run_on(Lane& where, transpose const& work, transpose_arrays const& all) {
  constexpr std::int64_t side = 32;
  auto const body = [&work, in = all.in, out = all.out](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r0 = 0; r0 < work.rows; r0 += side) {
      for (auto c = begin; c < end; ++c) {
        for (auto r = r0; r < std::min(r0 + side, work.rows); ++r) {
          out[c * work.rows + r] = in[r * work.columns + c];
        }
      }
    }
  };
  host::parallel_for(where.place.threads, work.columns, side, body);
}

}  // namespace assay::workloads
