// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tracing that this build has: one of the files in this folder is compiled.
#pragma once

#include <assay/cli/tracing.hpp>

namespace assay::examples {

cli::tracing tracing();

}  // namespace assay::examples
