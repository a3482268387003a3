// SPDX-License-Identifier: Apache-2.0
/// @file
/// `write_nsys`: a trace as a SQLite file in nsys' schema; needs SQLite 3.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/trace/model.hpp>

#include <filesystem>

namespace assay::trace {

/// Writes a trace as a SQLite file in the schema of nsys' exports, whole or not at all; `read_nsys`
/// gives the same model back, the calls of the system after those of CUDA. Kernels have their names
/// in words too, in the column `name`. Throws `file_error`, and `std::invalid_argument` for threads
/// that the schema has no room for.
void write_nsys(model const& trace, std::filesystem::path const& path);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/nsys/sqlite_write_definitions.hpp>
#endif
