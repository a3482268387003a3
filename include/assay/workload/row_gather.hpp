// SPDX-License-Identifier: Apache-2.0
/// @file
/// A gather of rows by a list of indices, as paged caches and embedding tables need it.
///
/// This header is the workload itself and its host half; `workload/row_gather.cuh` adds the device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/reference/row_gather.hpp>
#include <assay/workload/capped_grid.hpp>
#include <assay/workload/columns.hpp>
#include <assay/workload/concepts.hpp>
#include <assay/workload/verify.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

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
  std::uint64_t seed = 0x5EED;

  bool operator==(row_gather const&) const = default;

  std::string describe() const {
    parameter_list all;
    all.show("rows", rows).show("table_rows", table_rows).show("row_bytes", row_bytes);
    show_caps(all, max_sms, threads);
    return all.show("seed", seed, row_gather{}.seed).after(name);
  }

  traffic item_traffic() const {
    auto const moved = static_cast<double>(rows) * static_cast<double>(row_bytes);
    return {moved + static_cast<double>(rows) * sizeof(std::int32_t), moved, 0, 0, 0};
  }

  /// The row of the table that row `i` of the result is.
  std::int32_t index(std::int64_t i) const noexcept {
    auto const random = random_at(seed + 1, static_cast<std::uint64_t>(i));
    return static_cast<std::int32_t>(random % static_cast<std::uint64_t>(table_rows));
  }
  /// Word `k` of the table, of eight bytes each.
  std::uint64_t word(std::int64_t k) const noexcept {
    return random_at(seed, static_cast<std::uint64_t>(k));
  }
  std::int64_t row_words() const noexcept { return row_bytes / 8; }

  /// Throws `std::invalid_argument` that names the field, its value and what is allowed.
  void require() const {
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

  template <any_lane Lane>
  requires requires(Lane& where, row_gather const& work) { prepare_on(where, work, 1); }
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
  /// Compares every byte of every output with the reference.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }

  /// Compares rows [first, first + count) of a lane's result, at `got`, with the reference.
  mismatch check_rows(int lane, std::byte const* got, std::int64_t first,
                      std::int64_t count) const {
    auto const wrong = [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::uint64_t> expected(static_cast<std::size_t>(row_words()));
      std::vector<std::uint64_t> source(expected.size());
      std::int32_t const only = 0;
      for (auto i = begin; i < end; ++i) {
        auto const from = index(first + i) * row_words();
        for (std::int64_t k = 0; k < row_words(); ++k) {
          source[static_cast<std::size_t>(k)] = word(from + k);
        }
        reference::row_gather(1, row_bytes, source.data(), &only, expected.data());
        if (std::memcmp(expected.data(), got + i * row_bytes,
                        static_cast<std::size_t>(row_bytes)) != 0) {
          return i;
        }
      }
      return end;
    };
    auto const row = first_wrong(count, wrong);
    if (row == count) { return {}; }
    return wrong_row(lane, first + row,
                     "is not row " + std::to_string(index(first + row)) + " of the table");
  }
};

/// Table, indices and an output for each lane in host memory.
class host_gather_state {
 public:
  host_gather_state(row_gather const& work, int lanes)
      : table(static_cast<std::size_t>(work.table_rows * work.row_words())),
        index(static_cast<std::size_t>(work.rows)),
        outputs(static_cast<std::size_t>(lanes),
                std::vector<std::uint64_t>(static_cast<std::size_t>(work.rows * work.row_words()))),
        work_(work) {
    for (std::size_t k = 0; k < table.size(); ++k) {
      table[k] = work.word(static_cast<std::int64_t>(k));
    }
    for (std::size_t i = 0; i < index.size(); ++i) {
      index[i] = work.index(static_cast<std::int64_t>(i));
    }
    poison();
  }

  void poison() {
    for (auto& each : outputs) { std::fill(each.begin(), each.end(), 0x7F7F7F7F7F7F7F7FU); }
  }
  mismatch verify() const {
    for (std::size_t lane = 0; lane < outputs.size(); ++lane) {
      auto const* const got = reinterpret_cast<std::byte const*>(outputs[lane].data());
      if (auto found = work_.check_rows(static_cast<int>(lane), got, 0, work_.rows)) {
        return found;
      }
    }
    return {};
  }

  std::vector<std::uint64_t> table;
  std::vector<std::int32_t> index;
  std::vector<std::vector<std::uint64_t>> outputs;

 private:
  row_gather work_;
};

template <host_lane Lane>
auto prepare_on(Lane&, row_gather const& work, int lanes) {
  return host_gather_state{work, lanes};
}

template <host_lane Lane>
void enqueue_on(Lane& where, row_gather const& work, host_gather_state& state) {
  range const here{"row_gather", category::cpu, static_cast<std::uint64_t>(work.rows)};
  auto* const out = state.outputs.at(static_cast<std::size_t>(where.index)).data();
  constexpr std::int64_t grain = 1024;
  host::parallel_for(where.place.threads, work.rows, grain, [&](auto begin, auto end) {
    reference::row_gather(end - begin, work.row_bytes, state.table.data(),
                          state.index.data() + begin, out + begin * work.row_words());
  });
}

}  // namespace assay::workloads
