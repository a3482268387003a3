// SPDX-License-Identifier: Apache-2.0
/// @file
/// Compiles as C++23 alone.
#include <assay/core/device.hpp>

static_assert(__cplusplus > 202002L, "this is no C++23");

int main() { return assay::device_count() < 0; }
