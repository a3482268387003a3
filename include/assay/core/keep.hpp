// SPDX-License-Identifier: Apache-2.0
/// @file
/// `keep`: a result that the compiler may not remove.
#pragma once

#include <assay/core/requirements.hpp>

namespace assay {

/// Uses a value, so that the compiler keeps the work that computes it. For callables that return
/// nothing: `[&] { assay::keep(sum(x)); }`. A result that a host callable returns is kept anyway.
/// Costs a store of the value at most.
template <class T>
void keep(T const& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace assay
