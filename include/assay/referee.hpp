// SPDX-License-Identifier: Apache-2.0
/// @file
/// `referee`: judges kernels from outside. `serve_problem`: the arrays and the right results, on
/// the host.
#pragma once

#include <assay/referee/run_referee.hpp>
#include <assay/referee/serve_problem.hpp>
#include <assay/referee/text.hpp>
