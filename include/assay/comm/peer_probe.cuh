// SPDX-License-Identifier: Apache-2.0
/// @file
/// `probe_peers`: shows that kernels reach the memory of all peers.
#pragma once

#include <assay/comm/peers.hpp>
#include <assay/comm/wire.cuh>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace assay::comm {

/// Reads `count` packs of another device, and writes back each with its words in reverse.
template <class Pack>
__global__ void reverse_remotely(Pack const* from, Pack* to, unsigned count) {
  auto const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  auto const pack = wire::load(from + i);
  wire::store(to + i, Pack{pack.w, pack.z, pack.y, pack.x});
}

/// Throws `peer_error` for a pair of which kernels on one device do not read and write the memory
/// of the other. A template, so that programs without it do not compile it.
template <class Pack = uint4>
void probe_peers(peers const& who) {
  constexpr unsigned packs = 1024;
  range const here{"probe peers", category::transfer};
  std::vector<unsigned> sent(4 * packs);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = 0x85EBCA6BU * static_cast<unsigned>(i + 1);
  }
  auto const bytes = sent.size() * sizeof(unsigned);
  for (auto const to : who.distinct()) {
    device_guard const there{to};
    void* block = nullptr;
    check(cudaMalloc(&block, 2 * bytes));
    struct give_back {
      void* block;
      ~give_back() { check_noexcept(cudaFree(block)); }
    } const owner{block};
    auto* const in = static_cast<Pack*>(block);
    for (auto const from : who.distinct()) {
      check(cudaMemcpy(in, sent.data(), bytes, cudaMemcpyHostToDevice));
      check(cudaMemset(in + packs, 0, bytes));
      check(cudaDeviceSynchronize());  // before another device's stream comes
      {
        device_guard const guard{from};
        stream const on{from};
        kernel::launch(reverse_remotely<Pack>, dim3(packs / 256), dim3(256), 0, on, in, in + packs,
                       packs);
        on.synchronize();
      }
      std::vector<unsigned> found(sent.size());
      check(cudaMemcpy(found.data(), in + packs, bytes, cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < found.size(); ++i) {
        auto const wanted = sent[i / 4 * 4 + 3 - i % 4];
        if (found[i] == wanted) { continue; }
        throw peer_error(from, to,
                         "word " + std::to_string(i) + " that a kernel read and wrote there is " +
                             std::to_string(found[i]) + ", and should be " +
                             std::to_string(wanted));
      }
    }
  }
}

/// The compute capability (times ten) that this program's code for the peers is of: the least.
template <class Pack = uint4>
int code_of(peers const& who) {
  int least = std::numeric_limits<int>::max();
  for (auto const place : who.distinct()) {
    least = std::min(least, kernel::compiled(reverse_remotely<Pack>, place).capability);
  }
  return least;
}

}  // namespace assay::comm
