// SPDX-License-Identifier: Apache-2.0
// The pool in a program of your own: memory in the order of a stream, without waits and without
// allocations by the driver.
#include <assay/pool/pool.hpp>

#include <exception>
#include <iostream>

int main() try {
  using namespace assay::literals;
  // docs: pool
  auto memory = assay::mr::pool{1_GiB}.open(assay::on::device{0});  // copies of it share the pool
  assay::stream const stream{assay::on::device{0}};
  void* const block = memory.allocate(stream, 21_MiB, 256);  // for work submitted from now on
  assay::check(cudaMemsetAsync(block, 0, 21_MiB, stream.get()));
  memory.deallocate(stream, block, 21_MiB, 256);  // in stream order: nothing waits
  // docs: end
  stream.synchronize();
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
