// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of traces as SQLite files, for programs that are compiled with -DASSAY_COMPILED.
/// Needs SQLite 3.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/nsys/sqlite_read_definitions.hpp>
#include <assay/nsys/sqlite_write_definitions.hpp>
