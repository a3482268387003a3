// SPDX-License-Identifier: Apache-2.0
/// @file
/// `read_nsys`: the trace in a SQLite export of nsys or in a file of `write_nsys`; needs SQLite 3.
#pragma once

#include <assay/nsys/columns.hpp>
#include <assay/nsys/sqlite_metadata.hpp>
#include <assay/nsys/sqlite_ranges.hpp>
#include <assay/nsys/sqlite_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

namespace detail {

/// Reads the calls of one table and the place of each in a file of assay.
inline void read_calls(open_export& in, std::string const& table,
                       std::vector<std::int64_t>& order) {
  auto const of_system = table == "OSRT_API";
  read_table(in, table, in.into.calls, [&](api_call& call, row_reader const& reader) {
    auto const told = reader.call_class();
    // OSRT_API also says when the recording began, in rows of another class.
    if (of_system && told && *told != nsys::os_class) { return false; }
    auto const sure = told == nsys::runtime_class || told == nsys::driver_class;
    auto const runtime =
        sure ? told == nsys::runtime_class : in.into.strings[call.name].starts_with("cuda");
    call.layer = of_system ? api::os : runtime ? api::runtime : api::driver;
    if (in.ours) { order.push_back(reader.order()); }
    return true;
  });
}

/// nsys keeps calls of the system apart. A file of assay numbers the rows of both tables in the
/// order that they had in the model.
inline void read_calls(open_export& in) {
  std::vector<std::int64_t> order;
  read_calls(in, "CUPTI_ACTIVITY_KIND_RUNTIME", order);
  auto const middle = order.size();
  read_calls(in, "OSRT_API", order);
  if (middle == 0 || middle == order.size()) { return; }
  std::vector<api_call> merged;
  merged.reserve(in.into.calls.size());
  for (std::size_t a = 0, b = middle; a < middle || b < order.size();) {
    auto const first = b == order.size() || (a < middle && order[a] < order[b]);
    merged.push_back(in.into.calls[first ? a++ : b++]);
  }
  in.into.calls = std::move(merged);
}

}  // namespace detail

/// The trace in a SQLite export of nsys, of any schema version, or in a file of `write_nsys`.
/// Nothing is written, nor beside the file. A missing table or column leaves its part of the model
/// empty. Bytes in names that are not UTF-8 become U+FFFD. Rows without a time, or with an
/// impossible time, are left out and counted. Throws `read_error` with the path and the reason for
/// a file that is missing, truncated, corrupted, too large, or no export.
inline model read_nsys(std::filesystem::path const& path) {
  try {
    open_export in{path};
    metadata_reader metadata{in};
    metadata.read();
    nsys::each_table(in.into, [&]<class Row>(std::string const& table, std::vector<Row>& rows) {
      read_table(in, table, rows);
    });
    read_table(in, "PROFILER_OVERHEAD", in.into.overheads);
    for (auto& run : in.into.kernels) {
      if (in.ours || run.name != 0) { continue; }
      run.name = run.short_name != 0 ? run.short_name : run.mangled_name;
    }
    for (auto& event : in.into.memory) {
      if (event.where.process == 0) { event.where.process = event.thread.process; }
    }
    detail::read_calls(in);
    range_reader ranges{in};
    ranges.read();
    metadata.finish();
    ranges.close();
    return std::move(in.into);
  } catch (database_error const& error) { throw read_error(path, error.what()); }
}

}  // namespace assay::trace
