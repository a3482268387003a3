// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cupti_tracing`: the functions that record traces by CUPTI.
#pragma once

#include <assay/cli/tracing.hpp>

#include <filesystem>

namespace assay::cli {

/// Tracing by CUPTI. With SQLite 3, `write_sqlite` is `trace::write_nsys`.
tracing cupti_tracing(void (*write_sqlite)(trace::model const&,
                                           std::filesystem::path const&) = nullptr);

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/cupti_tracing_definitions.hpp>
#endif
