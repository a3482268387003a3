// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a test program asks its machine for before it runs.
#pragma once

#include <string>

namespace assay::test {

/// Why the tests of this program cannot run here, in one line; empty when they can.
std::string missing();

}  // namespace assay::test
