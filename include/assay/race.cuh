// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race`: the best of many callables, for work on streams.
#pragma once

#include <assay/compare.cuh>
#include <assay/race.hpp>
