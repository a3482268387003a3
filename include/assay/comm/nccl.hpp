// SPDX-License-Identifier: Apache-2.0
/// @file
/// `nccl`: all-reduce by NCCL, over the devices of one process or one each of several processes.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/nccl_group.hpp>
#include <assay/comm/process_rank.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::comm {
namespace detail {

template <class T>
constexpr ncclDataType_t nccl_type() {
  static_assert(
      std::is_same_v<T, float> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>,
      "comm::nccl reduces float, __half and __nv_bfloat16");
  if constexpr (std::is_same_v<T, float>) { return ncclFloat32; }
  return std::is_same_v<T, __half> ? ncclFloat16 : ncclBfloat16;
}

constexpr ncclRedOp_t nccl_operation(reduction how) {
  return how == reduction::sum ? ncclSum : how == reduction::max ? ncclMax : ncclAvg;
}

/// The device of a process: the device of its local rank, or the only visible device.
inline on::device device_of(process_rank const& me) {
  int const seen = device_count();
  on::device const found{seen == 1 ? 0 : me.local_rank};
  if (found.id < seen) { return found; }
  throw std::invalid_argument("rank " + std::to_string(me.rank) + " is process " +
                              std::to_string(me.local_rank) + " of its machine, which has " +
                              std::to_string(seen) +
                              " GPUs that it sees: start one process for each GPU");
}

}  // namespace detail

/// All-reduce by NCCL without multicast: sets NCCL_NVLS_ENABLE=0 while it makes communicators, a
/// value that NCCL keeps for this process. A handle to communicators; copies share them.
///
/// The ranks are all devices of one process, or one device of each of several processes, also on
/// several machines. Then `ranks()` counts all ranks, and only this process's rank can be used. One
/// host thread for each rank calls `enqueue`, which may be captured. The ranks meet at the address
/// `process_rank::meeting`: the machine of rank 0, in a subnet of all ranks. Throws `nccl_error`,
/// and `std::logic_error` after one.
class nccl {
 public:
  static constexpr std::string_view name = "comm::nccl";

  /// All ranks in this process, one for each of `devices`, which must differ.
  explicit nccl(std::vector<on::device> devices, nccl_options how = {}) {
    if (devices.empty() || devices.size() > static_cast<std::size_t>(max_ranks)) {
      throw std::invalid_argument("comm::nccl of " + std::to_string(devices.size()) +
                                  " devices: name 1 to " + std::to_string(max_ranks) +
                                  ", or start one process for each");
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      require_device(devices[i]);
      for (std::size_t j = 0; j < i; ++j) {
        if (devices[j] == devices[i]) {
          throw std::invalid_argument("comm::nccl was given device " +
                                      std::to_string(devices[i].id) +
                                      " twice: NCCL takes one rank on each");
        }
      }
    }
    nvtx_range const scope{"meet", category::cpu};
    auto const ranks = static_cast<int>(devices.size());
    group_ = std::make_shared<detail::nccl_group>(ranks, 0, std::move(devices), how, std::nullopt);
  }

  /// This process's rank of several. Blocks until all of them have come.
  explicit nccl(process_rank const& me, nccl_options how = {}) {
    auto const place = detail::device_of(me);
    nvtx_range const scope{"meet", category::cpu};
    group_ = std::make_shared<detail::nccl_group>(me.ranks, me.rank, std::vector{place}, how,
                                                  me.meeting);
  }

  int ranks() const noexcept { return group_->ranks(); }
  int first_local_rank() const noexcept { return group_->first(); }
  int local_ranks() const noexcept { return group_->count(); }
  /// The device of a rank of this process.
  on::device device(int rank) const { return group_->device(rank); }

  std::string describe() const {
    return std::string{name} + '{' + std::to_string(ranks()) + " ranks" +
           (group_->how().symmetric ? ", symmetric windows" : "") + '}';
  }

  /// Enqueues one rank's part. Uses only the buffers at `rank - first_local_rank()`.
  template <element T>
  void enqueue(int rank, ::cuda::stream_ref stream, rank_buffers<T> const& buffers,
               std::size_t count, reduction how = reduction::sum) {
    auto const at = static_cast<std::size_t>(rank - first_local_rank());
    if (at >= buffers.in.size()) { (void)device(rank); }  // says which ranks there are
    enqueue(rank, stream, buffers.in[at], buffers.out[at], count, how);
  }

  /// Enqueues one rank's part. `in` may be `out`.
  template <element T>
  void enqueue(int rank, ::cuda::stream_ref stream, T const* in, T* out, std::size_t count,
               reduction how = reduction::sum) {
    nvtx_range const scope{"ncclAllReduce", category::gpu, count * sizeof(T)};
    auto const code = ncclAllReduce(in, out, count, detail::nccl_type<T>(),
                                    detail::nccl_operation(how), group_->comm(rank), stream.get());
    group_->settle(code, "ncclAllReduce", rank);
  }

  /// Memory of `bytes` on each rank of this process. With `nccl_options::symmetric`, all ranks of
  /// all processes must allocate windows together, and of the same size.
  nccl_memory allocate(std::size_t bytes) const { return {group_, bytes}; }

  /// Waits for the rank's stream. Throws when a rank has failed or `nccl_options::timeout_seconds`
  /// have passed, and the communicator is lost.
  void synchronize(int rank, ::cuda::stream_ref stream) { group_->synchronize(rank, stream); }

 private:
  std::shared_ptr<detail::nccl_group> group_;
};

static_assert(all_reduce_engine<nccl>);

/// NCCL's version as it numbers it: 22803 is 2.28.3.
inline int nccl_version() {
  int version = 0;
  (void)ncclGetVersion(&version);
  return version;
}

}  // namespace assay::comm
