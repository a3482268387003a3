// SPDX-License-Identifier: Apache-2.0
/// @file
/// `read_nsys`: the trace in a SQLite export of nsys or in a file of `write_nsys`; needs SQLite 3.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/trace/model.hpp>

#include <filesystem>

namespace assay::trace {

/// The trace in a SQLite export of nsys, of any schema version, or in a file of `write_nsys`.
/// Nothing is written, nor beside the file. A missing table or column leaves its part of the model
/// empty. Bytes in names that are not UTF-8 become U+FFFD. Rows without a time, or with an
/// impossible time, are left out and counted. Throws `read_error` with the path and the reason for
/// a file that is missing, truncated, corrupted, too large, or no export.
model read_nsys(std::filesystem::path const& path);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/nsys/sqlite_read_definitions.hpp>
#endif
