// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing a report so that it is there whole or not at all; see core/file.hpp.
#pragma once

#include <assay/core/file.hpp>

namespace assay::report {

using assay::file_error;
using assay::require_writable;
using assay::write_atomically;

}  // namespace assay::report
