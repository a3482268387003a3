// SPDX-License-Identifier: Apache-2.0
/// @file
/// The places of work on streams, in a unit of its own: a build without a toolkit has none.
#pragma once

#include <assay/measure/callables.hpp>
#include <assay/verify/options.hpp>

namespace assay::python {

struct places {
  measure::callable_place compared;
  verify_detail::place verified;
};

/// Throws `std::runtime_error` in a build without the CUDA toolkit.
places device_places();

/// True in a build with the CUDA toolkit.
bool has_cuda() noexcept;

}  // namespace assay::python
