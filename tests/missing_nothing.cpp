// SPDX-License-Identifier: Apache-2.0
/// @file
/// For tests that run anywhere.
#include "missing.hpp"

std::string assay::test::missing() { return {}; }
