// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <assay/compare.cuh>
#include <assay/verify.cuh>

namespace assay::python {

places device_places() { return {measure::launches(), verify_detail::launches()}; }
bool has_cuda() noexcept { return true; }

}  // namespace assay::python
