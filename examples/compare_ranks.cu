// SPDX-License-Identifier: Apache-2.0
// What does 1 % more cost in an all-reduce of 64 MiB? One process for each GPU:
// torchrun --nproc-per-node 2 --no-python ./compare_ranks
// assay-uses: nccl
#include <assay/comm/nccl.hpp>
#include <assay/compare.cuh>
#include <assay/compare/ranks.hpp>
#include <assay/workload/all_reduce.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

int main(int argc, char** argv) try {
  using namespace assay;
  auto const ranks = world::from_environment();
  comm::nccl const collective{ranks};
  check(cudaSetDevice(collective.device().id));
  // docs: compare
  std::size_t const count = 16 << 20, more = count / 100 * 101;  // elements
  // Each rank has an input of its own, and checks its own output.
  auto const reduce = [&](std::size_t n) { return workloads::all_reduce<float>(collective, n); };
  options const chosen{.barrier = collective.barrier()};  // aligns the streams of the ranks
  auto const found = compare(ranks, "64 MiB", reduce(count), "1 % more", reduce(more), chosen);
  if (ranks.rank() == 0) { std::cout << found; }  // all ranks have the same verdict
  // docs: end
  // `compare_ranks 20` compares equal work 20 times, `compare_ranks 20 more` the above.
  int const times = argc > 1 ? std::atoi(argv[1]) : 0;
  for (int i = 0; i < times; ++i) {
    auto const again =
        compare(ranks, "a", reduce(count), "b", reduce(argc > 2 ? more : count), chosen);
    if (ranks.rank() == 0) { std::cout << again.findings.at(0).outcome << std::endl; }
  }
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
