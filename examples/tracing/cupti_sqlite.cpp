// SPDX-License-Identifier: Apache-2.0
// For a build with CUPTI and SQLite 3.
#include "tracing.hpp"

#include <assay/cli/cupti_tracing.hpp>
#include <assay/nsys/sqlite_write.hpp>

assay::cli::tracing assay::examples::tracing() { return cli::cupti_tracing(trace::write_nsys); }
