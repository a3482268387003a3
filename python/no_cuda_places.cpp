// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <stdexcept>

namespace assay::python {

places device_places() {
  throw std::runtime_error(
      "this assay was built without the CUDA toolkit: build it again where nvcc is in PATH, or "
      "pass "
      "on='host'");
}
bool has_cuda() noexcept { return false; }

}  // namespace assay::python
