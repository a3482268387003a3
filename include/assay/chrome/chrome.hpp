// SPDX-License-Identifier: Apache-2.0
/// @file
/// `write_chrome`: a trace for Perfetto and other viewers, as Chrome's JSON in Kineto's dialect.
#pragma once

#include <assay/trace/model.hpp>

#include <filesystem>

namespace assay::trace {

/// Writes a trace as JSON that Perfetto, Holistic Trace Analysis and other readers of Kineto's
/// traces take, whole or not at all. Bytes in names that are not UTF-8 become U+FFFD. Throws
/// `file_error`.
void write_chrome(model const& trace, std::filesystem::path const& path);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/chrome/chrome_definitions.hpp>
#endif
