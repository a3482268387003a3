// SPDX-License-Identifier: Apache-2.0
/// @file
/// One of two units that include all of the host half.
#include <assay/host.hpp>

int main() {}
