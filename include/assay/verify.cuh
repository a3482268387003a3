// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verify(factory)` for work on streams: is a kernel right, at many sizes and values?
#pragma once

#include <assay/core/error.hpp>
#include <assay/verify.hpp>

namespace assay::verify_detail {

/// Streams of `verify_options::place`.
place launches() noexcept;

template <>
struct place_of<true> {
  static place get() noexcept { return launches(); }
};

}  // namespace assay::verify_detail

#ifndef ASSAY_COMPILED
#include <assay/verify_definitions.cuh>
#endif
