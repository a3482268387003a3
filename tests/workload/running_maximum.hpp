// SPDX-License-Identifier: Apache-2.0
/// @file
/// The running maximum of each row of a matrix: a whole workload, as a user adds one.
#pragma once
#include <assay/host/parallel_for.hpp>
#include <assay/workload/array_workload.hpp>

/// out[r][c] = the largest of in[r][0] to in[r][c].
struct running_maximum {
  static constexpr std::string_view name = "running_maximum";
  std::int64_t rows = 1 << 12;
  std::int64_t columns = 1 << 12;
  std::uint64_t seed = assay::workloads::default_seed;
  bool operator==(running_maximum const&) const = default;

  assay::traffic item_traffic() const {
    auto const n = static_cast<double>(rows * columns);
    return {.bytes_read = 4 * n, .bytes_written = 4 * n, .flops = n};
  }

  /// Declares the arrays of one lane, and what the output must be: exactly the largest number.
  auto arrays(assay::setup& make) const {
    auto const n = static_cast<std::size_t>(rows * columns);
    auto const in = make.random<float>(n);
    auto const out = make.output<float>(n);
    auto const expected = [in, wide = static_cast<std::size_t>(columns)](std::span<double> wanted) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] = in.seeded(i);
        if (i % wide != 0) { wanted[i] = std::max(wanted[i], wanted[i - 1]); }
      }
    };
    make.expect(out, expected, {.relative = 0, .absolute = 0});
    return std::pair{in, out};
  }
};

template <assay::host_lane Lane, class Arrays>
void run_on(Lane& where, running_maximum const& work, Arrays const& all) {
  auto const rows = [x = all.first, y = all.second, wide = work.columns](auto begin, auto end) {
    for (auto i = begin * wide; i < end * wide; ++i) {
      y.data()[i] = x.data()[i];
      if (i % wide != 0) { y.data()[i] = std::max(y.data()[i], y.data()[i - 1]); }
    }
  };
  assay::host::parallel_for(where.place.threads, work.rows, 16, rows);
}
