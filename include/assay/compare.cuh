// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare(name, callable, name, callable)` for work on streams.
#pragma once

#include <assay/compare.hpp>
#include <assay/core/error.hpp>

namespace assay::measure {

/// Streams of `options::place`.
callable_place launches() noexcept;

namespace detail {

template <>
struct place_of<true> {
  static callable_place get() noexcept { return launches(); }
};

}  // namespace detail
}  // namespace assay::measure

#ifndef ASSAY_COMPILED
#include <assay/compare_definitions.cuh>
#endif
