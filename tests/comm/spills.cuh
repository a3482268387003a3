// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of `comm::all_reduce`, which tests/comm/spills.py compiles for several
/// architectures.
#include <assay/comm/all_reduce_kernels.cuh>
#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace assay::test {

/// Names the kernels of an engine with `Copy` for elements of `T` and so has them compiled.
template <class T, class Copy>
void compile(void const* volatile& used) {
  using kernels = comm::all_reduce_kernels<T, Copy, 512>;
  for (int const ranks : {2, 4, 8}) {
    for (int i = 1; i < comm::algorithms; ++i) {
      used = reinterpret_cast<void const*>(kernels::of(static_cast<comm::algorithm>(i), ranks));
    }
  }
}

void compile_all(void const* volatile& used) {
  compile<float, copy::regular<>>(used);
  compile<__nv_bfloat16, copy::regular<>>(used);
  compile<__nv_fp8_e4m3, copy::regular<>>(used);
  compile<double, copy::regular<>>(used);
  compile<std::int32_t, copy::regular<>>(used);
  compile<float, copy::cp_async<2>>(used);
  compile<float, copy::bulk<4>>(used);
}

}  // namespace assay::test
