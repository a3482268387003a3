// SPDX-License-Identifier: Apache-2.0
/// @file
/// `referee`: judges kernels from outside. `serve_problem`: what it judges them by, on the host.
#pragma once

#include <assay/referee/run_referee.hpp>
#include <assay/referee/serve_problem.hpp>
#include <assay/referee/text.hpp>
