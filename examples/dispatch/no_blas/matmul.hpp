// SPDX-License-Identifier: Apache-2.0
/// @file
/// Stands where `blas/matmul.hpp` does in a build without a CBLAS or cuBLAS.
#pragma once

#include <string>
#include <tuple>

namespace assay::examples {

inline std::string blas_in_words() {
  return "no BLAS with the C interface was found, and matmul is left out: install OpenBLAS and "
         "build again";
}

using matmul_tasks = std::tuple<>;

}  // namespace assay::examples
