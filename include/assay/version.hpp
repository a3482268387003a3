// SPDX-License-Identifier: Apache-2.0
/// @file
/// The version of the library; CMake reads it from here.
#pragma once

#include <assay/core/requirements.hpp>

#include <string_view>

namespace assay {

/// Semantic version: before 1.0 a minor step may change an interface.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 3;
inline constexpr int version_patch = 0;

/// The same as text.
inline constexpr std::string_view version = "0.3.0";

}  // namespace assay
