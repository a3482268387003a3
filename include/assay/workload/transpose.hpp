// SPDX-License-Identifier: Apache-2.0
/// @file
/// The transpose of a matrix through tiles in shared memory: threads share each tile, but have
/// nothing else to do, so that a copy strategy has little to win where all SMs are full.
///
/// This header is the workload itself and its host half; `workload/transpose.cuh` adds the device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/reference/transpose.hpp>
#include <assay/workload/capped_grid.hpp>
#include <assay/workload/columns.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/verify.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

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
  std::uint64_t seed = 0x5EED;

  bool operator==(transpose const&) const = default;

  std::int64_t count() const noexcept { return rows * columns; }

  std::string describe() const {
    parameter_list all;
    all.show("rows", rows).show("columns", columns);
    show_caps(all, max_sms, threads);
    return all.show("seed", seed, transpose{}.seed).after(name);
  }

  traffic item_traffic() const {
    auto const bytes = static_cast<double>(count()) * sizeof(value_type);
    return {bytes, bytes, 0, 0, 0};
  }

  /// Element `index` of the row-major input; never what outputs are poisoned with.
  value_type element(std::int64_t index) const noexcept {
    return static_cast<value_type>(random_at(seed, static_cast<std::uint64_t>(index)) >> 33U);
  }
  static constexpr int poison_byte = 0xFF;

  /// Throws `std::invalid_argument` that names the field, its value and what is allowed.
  void require() const {
    constexpr auto most = std::int64_t{1} << 24;
    for (auto const& [field, value] : {std::pair{"rows", rows}, std::pair{"columns", columns}}) {
      if (value >= 0 && value <= most) { continue; }
      throw std::invalid_argument("transpose: " + std::string{field} + " = " +
                                  std::to_string(value) + " is not possible: 0 to 2^24 are");
    }
    require_caps(name, max_sms, threads);
  }

  template <any_lane Lane>
  requires requires(Lane& where, transpose const& work) { prepare_on(where, work, 1); }
  auto prepare(Lane& where, int lanes) const {
    require();
    return prepare_on(where, *this, lanes);
  }
  template <any_lane Lane, class State>
  void enqueue(Lane& where, State& state) const {
    enqueue_on(where, *this, state);
  }
  template <class State>
  void poison(State& state) const {
    state.poison();
  }
  /// Compares every element of every output with the reference.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }

  /// Compares rows [first, first + many) of a lane's result, at `got`, with the reference: columns
  /// of the input, each transposed by itself.
  mismatch check_rows(int lane, value_type const* got, std::int64_t first,
                      std::int64_t many) const {
    auto const wrong = [&](std::int64_t begin, std::int64_t end) {
      std::vector<value_type> column(static_cast<std::size_t>(rows));
      std::vector<value_type> expected(column.size());
      for (auto c = begin; c < end; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
          column[static_cast<std::size_t>(r)] = element(r * columns + first + c);
        }
        reference::transpose(rows, 1, column.data(), expected.data());
        if (!std::equal(expected.begin(), expected.end(), got + c * rows)) { return c; }
      }
      return end;
    };
    auto const row = rows == 0 ? many : first_wrong(many, wrong);
    if (row == many) { return {}; }
    return wrong_row(lane, first + row, "is not the column of the input");
  }
};

/// The matrix and an output for each lane in host memory.
class host_transpose_state {
 public:
  host_transpose_state(transpose const& work, int lanes)
      : input(static_cast<std::size_t>(work.count())),
        outputs(static_cast<std::size_t>(lanes),
                std::vector<transpose::value_type>(static_cast<std::size_t>(work.count()))),
        work_(work) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = work.element(static_cast<std::int64_t>(i));
    }
    poison();
  }

  void poison() {
    for (auto& each : outputs) {
      if (each.empty()) { continue; }  // its data may be null
      std::memset(each.data(), transpose::poison_byte, each.size() * sizeof(each[0]));
    }
  }
  mismatch verify() const {
    for (std::size_t lane = 0; lane < outputs.size(); ++lane) {
      auto found = work_.check_rows(static_cast<int>(lane), outputs[lane].data(), 0, work_.columns);
      if (found) { return found; }
    }
    return {};
  }

  std::vector<transpose::value_type> input;
  std::vector<std::vector<transpose::value_type>> outputs;

 private:
  transpose work_;
};

template <host_lane Lane>
auto prepare_on(Lane&, transpose const& work, int lanes) {
  return host_transpose_state{work, lanes};
}

/// In squares of 32 by 32, whose rows stay in the cache while their columns are written.
template <host_lane Lane>
void enqueue_on(Lane& where, transpose const& work, host_transpose_state& state) {
  range const here{"transpose", category::cpu, static_cast<std::uint64_t>(work.count())};
  constexpr std::int64_t side = 32;
  auto const* const in = state.input.data();
  auto* const out = state.outputs.at(static_cast<std::size_t>(where.index)).data();
  host::parallel_for(where.place.threads, work.columns, side, [&](auto begin, auto end) {
    for (std::int64_t r0 = 0; r0 < work.rows; r0 += side) {
      for (auto c = begin; c < end; ++c) {
        for (auto r = r0; r < std::min(r0 + side, work.rows); ++r) {
          out[c * work.rows + r] = in[r * work.columns + c];
        }
      }
    }
  });
}

}  // namespace assay::workloads
