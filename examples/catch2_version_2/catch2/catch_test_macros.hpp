// SPDX-License-Identifier: Apache-2.0
/// @file
/// The header of Catch2 version 3 where version 2 is installed.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
