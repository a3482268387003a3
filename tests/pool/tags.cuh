// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that write a tag into a block and look for it later, and the count of tags gone.
#pragma once

#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/pool/pool.hpp>

#include <cstddef>
#include <cstdint>

namespace assay::kernel {

/// What a block holds while it is `tag`'s, and where: words spread over it, ends included.
constexpr unsigned probes = 64;
template <class Word>
__device__ Word* probe(Word* block, std::uint64_t words, unsigned which) {
  return block + (words - 1) * which / (probes - 1);
}

/// Writes a tag into a block; one block of threads.
template <class Word>
__global__ void write_tag(Word* block, std::uint64_t words, Word tag) {
  *probe(block, words, threadIdx.x) = tag;
}

/// Counts the probes that do not hold the tag any more, after `spins` clock ticks that give a
/// wrongly ordered neighbour time to write.
template <class Word>
__global__ void check_tag(Word* block, std::uint64_t words, Word tag, unsigned long long* wrong,
                          long long spins) {
  auto const begin = clock64();
  while (clock64() - begin < spins) {}
  if (*static_cast<Word volatile*>(probe(block, words, threadIdx.x)) != tag) {
    atomicAdd(wrong, 1ULL);
  }
}

}  // namespace assay::kernel

namespace assay::test {

/// Not mapped under a sanitizer: initcheck of CUDA 13.0 forgets what kernels wrote to memory that
/// was mapped by the driver's calls. The run at full size has the mapped ones.
inline mr::pool readable(mr::pool policy) {
  policy.mapped = !small();
  return policy;
}

/// A counter that kernels add to.
class wrong_count {
 public:
  wrong_count() {
    check(cudaMallocManaged(&count_, sizeof(*count_)));
    *count_ = 0;
  }
  wrong_count(wrong_count const&) = delete;
  ~wrong_count() { check_noexcept(cudaFree(count_)); }
  unsigned long long* get() const { return count_; }
  unsigned long long value() const {
    check(cudaDeviceSynchronize());
    return *count_;
  }

 private:
  unsigned long long* count_ = nullptr;
};

inline void write(::cuda::stream_ref stream, void* block, std::size_t bytes, unsigned tag) {
  kernel::write_tag<unsigned><<<1, kernel::probes, 0, stream.get()>>>(
      static_cast<unsigned*>(block), bytes / sizeof(unsigned), tag);
  check(cudaGetLastError());
}
inline void expect(::cuda::stream_ref stream, void* block, std::size_t bytes, unsigned tag,
                   wrong_count const& wrong, long long spins = 0) {
  kernel::check_tag<unsigned><<<1, kernel::probes, 0, stream.get()>>>(
      static_cast<unsigned*>(block), bytes / sizeof(unsigned), tag, wrong.get(), spins);
  check(cudaGetLastError());
}

}  // namespace assay::test
