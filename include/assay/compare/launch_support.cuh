// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to compare.cuh: what runs callables on streams. It launches no kernel itself, so nvcc
/// reads its definitions for the host alone.
#pragma once

#include <assay/measure/callables.hpp>
#include <assay/measure/options.hpp>

#include <memory>

namespace assay::measure::detail {

/// Callables on streams of `options::place`.
std::shared_ptr<callable_support const> launches_for(options const& chosen);

}  // namespace assay::measure::detail

#ifndef ASSAY_DECLARED
#include <assay/compare/launch_support_definitions.cuh>
#endif
