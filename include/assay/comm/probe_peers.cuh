// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `all_reduce`. Kernels of each device read and write the memory of the others.
#pragma once

#include <assay/comm/peers.hpp>
#include <assay/comm/system_access.cuh>
#include <assay/core/device.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace assay::comm {

/// Reads `count` vecs of another device, and writes back each with its words in reverse.
template <class Vec>
__global__ void reverse_remotely(Vec const* from, Vec* to, unsigned count) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  auto const vec = sys::load(from + i);
  sys::store(to + i, Vec{vec.w, vec.z, vec.y, vec.x});
}

/// Throws `peer_error` for two devices where kernels on one cannot read and write memory of the
/// other. A template, so that programs without a call do not compile it.
template <class Vec = uint4>
void probe_peers(peers const& who) {
  constexpr unsigned vecs = 1024;
  nvtx_range const here{"probe peers", category::transfer};
  std::vector<unsigned> sent(4 * vecs);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = 0x85EBCA6BU * static_cast<unsigned>(i + 1);
  }
  auto const bytes = sent.size() * sizeof(unsigned);
  for (auto const to : who.distinct()) {
    device_guard const there{to};
    device_block const block{to, 2 * bytes};
    auto* const in = static_cast<Vec*>(block.get());
    for (auto const from : who.distinct()) {
      check(cudaMemcpy(in, sent.data(), bytes, cudaMemcpyHostToDevice));
      check(cudaMemset(in + vecs, 0, bytes));
      check(cudaDeviceSynchronize());  // another device's stream does not wait for it
      {
        device_guard const guard{from};
        stream const on{from};
        kernel::launch(reverse_remotely<Vec>, dim3(vecs / 256), dim3(256), 0, on, in, in + vecs,
                       vecs);
        on.synchronize();
      }
      std::vector<unsigned> found(sent.size());
      check(cudaMemcpy(found.data(), in + vecs, bytes, cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < found.size(); ++i) {
        auto const wanted = sent[i / 4 * 4 + 3 - i % 4];
        if (found[i] == wanted) { continue; }
        throw peer_error(from, to,
                         "word " + std::to_string(i) + " that a kernel read and wrote there is " +
                             std::to_string(found[i]) + ", and should be " +
                             std::to_string(wanted) +
                             " (an IOMMU or PCIe access control may stand between them)");
      }
    }
  }
}

/// The least compute capability, times ten, of this program's code for the peers.
template <class Vec = uint4>
int code_of(peers const& who) {
  int least = std::numeric_limits<int>::max();
  for (auto const place : who.distinct()) {
    least = std::min(least, kernel::kernel_attributes(reverse_remotely<Vec>, place).capability);
  }
  return least;
}

}  // namespace assay::comm
