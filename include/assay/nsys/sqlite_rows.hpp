// SPDX-License-Identifier: Apache-2.0
/// @file
/// What all tables of an export have in common: times, places, kinds.
#pragma once

#include <assay/nsys/schema.hpp>
#include <assay/nsys/sqlite_tables.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace assay::trace {

/// An export being read, and the model that it becomes. The `next_` functions take the next columns
/// of a row.
struct export_rows {
  model into;
  export_tables tables;
  export_names names{into};
  bool ours = false;       ///< written by assay, so that every row is as it was
  std::int64_t shift = 0;  ///< of its times against those of the model

  export_rows(std::filesystem::path const& path, read_limits const& limits)
      : tables(path, limits) {}
  export_rows(export_rows const&) = delete;

  // Times beyond these, 146 years from the epoch and 104 days long, are no times, and sums of
  // them would overflow.
  static constexpr std::int64_t farthest = std::int64_t{1} << 62U;
  static constexpr std::int64_t longest = std::int64_t{1} << 53U;

  bool place(span& when) {
    if (!ours && when.begin == 0 && when.end == 0) {
      ++into.lost.zero_stamped;
      return false;
    }
    auto const possible = [](std::int64_t at) { return at > -farthest && at < farthest; };
    if (!possible(when.begin) || !possible(when.end) || when.end < when.begin ||
        when.end - when.begin > longest || !possible(shift)) {
      ++into.lost.out_of_window;
      return false;
    }
    when = {when.begin - shift, when.end - shift};
    return true;
  }
  bool next_when(statement& row, span& when) {
    when.begin = row.integer();
    when.end = row.integer();
    return place(when);
  }
  static device_place next_place(statement& row) {
    device_place where;
    where.device = row.number<std::int32_t>();
    where.context = row.number<std::uint32_t>();
    where.green_context = row.number<std::uint32_t>();
    where.stream = row.number<std::uint32_t>();
    where.correlation = row.number<std::uint32_t>();
    where.process = nsys::unpack(row.integer()).process;
    where.graph_node = row.number<std::uint64_t>();
    return where;
  }
  template <class Enum>
  static Enum next_of(statement& row, Enum last, Enum otherwise) {
    auto const value = row.integer();
    return value >= 0 && value <= static_cast<std::int64_t>(last) ? static_cast<Enum>(value)
                                                                  : otherwise;
  }
  static memory_kind next_kind(statement& row) {
    if (!row.null()) { return next_of(row, memory_kind::unknown, memory_kind::unknown); }
    row.skip();
    return memory_kind::unknown;
  }
  std::uint64_t next_bytes(statement& row) const {
    auto const bytes = row.integer();
    return static_cast<std::uint64_t>(ours ? bytes : std::max<std::int64_t>(0, bytes));
  }
  static std::int32_t next_device(statement& row) {
    auto const none = row.null();
    auto const id = row.number<std::int32_t>();
    return none ? -1 : id;
  }
};

}  // namespace assay::trace
