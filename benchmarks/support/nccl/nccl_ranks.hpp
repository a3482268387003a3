// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL's all-reduce over the devices of this process, as a peer of `comm::all_reduce`.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/core/device.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::examples {

/// Throws with NCCL's text unless a call worked.
inline void check_nccl(ncclResult_t code, char const* call) {
  if (code == ncclSuccess) { return; }
  throw std::runtime_error(std::string{call} + ": " + ncclGetErrorString(code) + " (" +
                           ncclGetLastError(nullptr) + "); NCCL_DEBUG=INFO tells more");
}

/// NCCL's number of an element type.
template <class T>
constexpr ncclDataType_t nccl_type() {
  static_assert(
      std::is_same_v<T, float> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>,
      "NCCL is asked for float, __half and __nv_bfloat16");
  if constexpr (std::is_same_v<T, float>) { return ncclFloat32; }
  return std::is_same_v<T, __half> ? ncclFloat16 : ncclBfloat16;
}

/// Keeps NCCL from multicast through the NVLink switch while communicators are made. NCCL reads the
/// variable once per process and keeps its value. No other thread may read or write the environment
/// meanwhile.
///
/// Multicast groups belong to the whole switch. On a shared host, a process that dies with a group
/// can destroy the groups of other tenants. Throws `std::invalid_argument` where the variable is
/// set to anything but 0.
class without_multicast {
 public:
  static constexpr char const* name = "NCCL_NVLS_ENABLE";

  without_multicast() {
    char const* const asked = std::getenv(name);
    was_set_ = asked != nullptr;
    if (was_set_ && std::string_view{asked} != "0") {
      throw std::invalid_argument(std::string{name} + "=" + asked +
                                  ": this peer runs without NVLink multicast; unset it or set 0");
    }
    ::setenv(name, "0", 1);
  }
  without_multicast(without_multicast const&) = delete;
  without_multicast& operator=(without_multicast const&) = delete;
  ~without_multicast() {
    if (!was_set_) { ::unsetenv(name); }
  }

 private:
  bool was_set_ = false;
};

/// The communicators of all ranks, one on each device. One host thread for each rank calls
/// `enqueue`, which may be captured. A failure leaves the communicators unusable.
class nccl_ranks {
 public:
  static constexpr std::string_view name = "nccl";

  explicit nccl_ranks(std::vector<on::device> devices) : devices_(std::move(devices)) {
    nvtx_range const scope{"meet", category::cpu};
    without_multicast const no_multicast;
    std::vector<int> ids;
    for (auto const each : devices_) { ids.push_back(each.id); }
    comms_.resize(ids.size());
    check_nccl(ncclCommInitAll(comms_.data(), ranks(), ids.data()), "ncclCommInitAll");
  }
  nccl_ranks(nccl_ranks const&) = delete;
  nccl_ranks& operator=(nccl_ranks const&) = delete;
  ~nccl_ranks() {
    for (auto* const each : comms_) { (void)ncclCommDestroy(each); }
  }

  int ranks() const noexcept { return static_cast<int>(devices_.size()); }
  on::device device(int rank) const { return devices_.at(static_cast<std::size_t>(rank)); }
  ncclComm_t comm(int rank) const { return comms_.at(static_cast<std::size_t>(rank)); }
  std::string describe() const { return std::string{name} + '{' + std::to_string(ranks()) + '}'; }

  /// Enqueues one rank's part.
  template <comm::element T>
  void enqueue(int rank, ::cuda::stream_ref stream, comm::rank_buffers<T> const& buffers,
               std::size_t count, comm::reduction what) {
    nvtx_range const scope{"ncclAllReduce", category::gpu, count * sizeof(T)};
    auto const operation = what == comm::reduction::sum   ? ncclSum
                           : what == comm::reduction::max ? ncclMax
                                                          : ncclAvg;
    auto const r = static_cast<std::size_t>(rank);
    check_nccl(ncclAllReduce(buffers.in.at(r), buffers.out.at(r), count, nccl_type<T>(), operation,
                             comm(rank), stream.get()),
               "ncclAllReduce");
  }

  /// Waits for the rank's stream, and throws an error of its communicator.
  void synchronize(int rank, ::cuda::stream_ref stream) const {
    check(cudaStreamSynchronize(stream.get()));
    ncclResult_t found = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(comm(rank), &found), "ncclCommGetAsyncError");
    check_nccl(found, "ncclAllReduce");
  }

 private:
  std::vector<on::device> devices_;
  std::vector<ncclComm_t> comms_;
};

/// Symmetric windows of the communicators: memory of NCCL's allocator on each device. Work that
/// uses the memory must have ended before the destructor.
class nccl_windows {
 public:
  nccl_windows(std::shared_ptr<nccl_ranks> of, std::size_t bytes)
      : of_(std::move(of)), blocks_(static_cast<std::size_t>(of_->ranks())) {
    for (int rank = 0; rank < of_->ranks(); ++rank) {
      device_guard const guard{of_->device(rank)};
      check_nccl(ncclMemAlloc(&at(rank).data, bytes), "ncclMemAlloc");
    }
    // NCCL's allocator uses larger pages than the rounding: the windows stay inside the memory.
    constexpr std::size_t step = NCCL_WIN_REQUIRED_ALIGNMENT;
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < of_->ranks(); ++rank) {
      device_guard const guard{of_->device(rank)};
      check_nccl(
          ncclCommWindowRegister(of_->comm(rank), at(rank).data, (bytes + step - 1) / step * step,
                                 &at(rank).window, NCCL_WIN_COLL_SYMMETRIC),
          "ncclCommWindowRegister");
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }
  nccl_windows(nccl_windows const&) = delete;
  nccl_windows& operator=(nccl_windows const&) = delete;
  ~nccl_windows() {
    for (int rank = 0; rank < of_->ranks(); ++rank) {
      device_guard const guard{of_->device(rank)};
      (void)ncclCommWindowDeregister(of_->comm(rank), at(rank).window);
      (void)ncclMemFree(at(rank).data);
    }
  }

  void* data(int rank) const { return blocks_.at(static_cast<std::size_t>(rank)).data; }

 private:
  struct block {
    void* data = nullptr;
    ncclWindow_t window = nullptr;
  };
  block& at(int rank) { return blocks_.at(static_cast<std::size_t>(rank)); }

  std::shared_ptr<nccl_ranks> of_;
  std::vector<block> blocks_;
};

}  // namespace assay::examples
