// SPDX-License-Identifier: Apache-2.0
// The sum of one array on each of two GPUs, on both of them, without NCCL.
// assay-test-gpus: 2
#include <assay/comm/all_reduce.cuh>

#include <exception>
#include <iostream>
#include <vector>

int main() try {
  using namespace assay;
  constexpr std::size_t count = 1 << 20;
  comm::rank_buffers<float> buffers;
  std::vector<stream> streams;
  for (int rank = 0; rank < 2; ++rank) {
    on::device const gpu{rank};
    device_guard const current{gpu};
    streams.emplace_back(gpu);
    void* memory = nullptr;
    check(cudaMalloc(&memory, 2 * count * sizeof(float)));  // peers reach memory of cudaMalloc
    check(cudaMemsetAsync(memory, 0, 2 * count * sizeof(float), streams.back().get()));
    buffers.in[rank] = static_cast<float*>(memory);
    buffers.out[rank] = static_cast<float*>(memory) + count;
  }
  // docs: all_reduce
  comm::all_reduce reduce{comm::peers::first(2)};  // throws where the GPUs cannot reach each other
  reduce.prepare<float>();
  for (int rank = 0; rank < reduce.ranks(); ++rank) {  // or from one thread for each rank
    reduce.enqueue(rank, streams[rank], buffers, count, comm::reduction::sum);
  }
  // docs: end
  for (int rank = 0; rank < reduce.ranks(); ++rank) { reduce.synchronize(rank, streams[rank]); }
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
