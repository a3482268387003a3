// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `support/sqlite/trace_sqlite.hpp` does in a build with SQLite 3.
#pragma once

#include <assay/trace/model.hpp>

#include <filesystem>

namespace assay::cli {

inline constexpr bool has_sqlite = false;

/// Writes nothing: who asks for it is refused.
inline void write_sqlite(trace::model const&, std::filesystem::path const&) {}

}  // namespace assay::cli
