// SPDX-License-Identifier: Apache-2.0
/// @file
/// Compiled for the oldest GPU that CUDA 13 knows: kernels of newer instructions have to compile
/// there too, since a program is built for all of its architectures. kernels.py sees to it that
/// what a host launches has device code: here of doors whose definitions come from headers.
#include "../../examples/workloads/matmul.cuh"
#include "../../examples/workloads/row_gather.cuh"
#include "../../examples/workloads/scale_add.cuh"
#include "../../examples/workloads/streaming_sum.cuh"
#include "../../examples/workloads/transpose.cuh"

#include <assay/comm/all_reduce_kernels.cuh>
#include <assay/compare.cuh>
#include <assay/copy/bulk.cuh>
#include <assay/copy/regular.cuh>
#include <assay/race.cuh>
#include <assay/referee.cuh>
#include <assay/verify.cuh>

#include <cstddef>

namespace assay::test {

/// Names all kernels of a workload with these strategies, and so has them compiled.
template <class Work, class... Strategies>
void compile(Work const& work, Strategies const&... strategies) {
  (require_on(on::device{0}, work, strategies), ...);
}

void compile_all() {
  copy::regular<> const plain;
  copy::bulk<> const bulk;
  compile(workloads::streaming_sum<float>{}, plain, bulk);
  compile(workloads::row_gather{}, plain, bulk);
  compile(workloads::scale_add<float>{}, plain, bulk);
  compile(workloads::transpose{}, plain, bulk);
  compile(workloads::matmul<float>{}, plain);
  compile(workloads::matmul<bfloat16>{}, plain);
  // The kernels of an all-reduce over two ranks; its constructor refuses those that would trap.
  using kernel = void (*)(comm::all_reduce_call<float>);
  kernel volatile of_two[] = {comm::lamport_push<float, 2>, comm::fifo_one_shot<float, 2>,
                              comm::fifo_two_shot<float, 2>,
                              comm::all_reduce_direct<float, 2, copy::regular<>, 512>,
                              comm::all_reduce_direct<float, 2, copy::bulk<>, 512>};
  (void)of_two;
}

void call_doors() {
  auto const nothing = [](cudaStream_t) {};
  compare("a", nothing, "b", nothing);
  race(space{{"n", {1, 2}}}, [=](point const&) { return nothing; });
  verify([=](setup& make, std::size_t n) {
    make.random<float>(n);
    return nothing;
  });
  serve_device_problem({});
}

}  // namespace assay::test
