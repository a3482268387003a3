// SPDX-License-Identifier: Apache-2.0
// The sum of one array on each rank's GPU, on all of them, one process for each GPU:
// torchrun --nproc-per-node 2 --no-python ./nccl_ranks
// assay-uses: nccl
#include <assay/comm/nccl.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <vector>

int main() try {
  using namespace assay;
  // docs: join
  auto const ranks = world::from_environment();  // alone without a launcher
  comm::nccl const collective{ranks};            // on the GPU of the local rank
  // docs: end
  constexpr std::size_t count = 1 << 20, bytes = count * sizeof(float);
  check(cudaSetDevice(collective.device().id));
  stream const own{collective.device()};
  void *in = nullptr, *out = nullptr;
  check(cudaMalloc(&in, bytes));
  check(cudaMalloc(&out, bytes));
  std::vector<float> values(count, static_cast<float>(ranks.rank() + 1));
  check(cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice));
  // docs: reduce
  collective.enqueue(own, static_cast<float const*>(in), static_cast<float*>(out), count,
                     comm::reduction::sum);
  collective.synchronize(own);  // throws where a rank is missing or failed
  // docs: end
  check(cudaMemcpy(values.data(), out, bytes, cudaMemcpyDeviceToHost));
  auto const sum = static_cast<float>(ranks.ranks() * (ranks.ranks() + 1) / 2);
  auto const right = std::count(values.begin(), values.end(), sum);
  // docs: gather
  auto const all = ranks.gather(std::to_string(right));  // rank 0 gets the texts of all ranks
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::cout << "rank " << rank << ": " << all[rank] << " sums are right\n";
  }
  // docs: end
  return right == count ? 0 : 1;
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
