// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool of a device's memory, for programs that are compiled with -DASSAY_COMPILED. Needs the
/// CUDA toolkit's headers, and no nvcc.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/pool/pool_definitions.hpp>

namespace assay::mr {

template class basic_pool_resource<cuda_pool_backend>;
template pool_resource pool::open(on::device) const;

}  // namespace assay::mr
