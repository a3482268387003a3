// SPDX-License-Identifier: Apache-2.0
/// @file
/// Traces as SQLite files: `read_nsys` and `write_nsys`; needs SQLite 3.
#pragma once

#include <assay/nsys/sqlite_read.hpp>
#include <assay/nsys/sqlite_write.hpp>
