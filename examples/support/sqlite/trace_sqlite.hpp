// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing traces as SQLite, in a build with SQLite 3.
#pragma once

#include <assay/nsys/sqlite_write.hpp>
#include <assay/trace/model.hpp>

#include <filesystem>

namespace assay::cli {

inline constexpr bool has_sqlite = true;

/// In the schema of nsys' exports.
inline void write_sqlite(trace::model const& of, std::filesystem::path const& path) {
  trace::write_nsys(of, path);
}

}  // namespace assay::cli
