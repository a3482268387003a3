// SPDX-License-Identifier: Apache-2.0
/// @file
/// NCCL's all-reduce over the devices of this process, as a peer of `comm::all_reduce`.
#pragma once

#include "../../../examples/ranks/rank_worlds.hpp"

#include <assay/comm/nccl.hpp>
#include <assay/core/device.hpp>
#include <assay/world/world.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

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

/// The communicators of all ranks in this process, one on each device. One host thread for each
/// rank calls `enqueue`, which may be captured. A failure leaves the communicators unusable.
class nccl_ranks {
 public:
  static constexpr std::string_view name = "nccl";

  explicit nccl_ranks(std::vector<on::device> const& devices) : ranks_(devices.size()) {
    without_multicast const no_multicast;
    run_on_ranks(ranks(), [&](world const& all) {
      auto const r = static_cast<std::size_t>(all.rank());
      ranks_[r].emplace(all, devices[r]);
    });
  }

  int ranks() const noexcept { return static_cast<int>(ranks_.size()); }
  comm::nccl const& at(int rank) const { return *ranks_.at(static_cast<std::size_t>(rank)); }
  on::device device(int rank) const { return at(rank).device(); }
  ncclComm_t comm(int rank) const { return at(rank).get(); }
  std::string describe() const { return at(0).describe(); }

  /// Enqueues one rank's part.
  template <comm::element T>
  void enqueue(int rank, ::cuda::stream_ref stream, comm::rank_buffers<T> const& buffers,
               std::size_t count, comm::reduction what) {
    auto const r = static_cast<std::size_t>(rank);
    at(rank).enqueue(stream, buffers.in.at(r), buffers.out.at(r), count, what);
  }

  /// Waits for the rank's stream, and throws an error of its communicator.
  void synchronize(int rank, ::cuda::stream_ref stream) const { at(rank).synchronize(stream); }

 private:
  std::vector<std::optional<comm::nccl>> ranks_;
};

/// Symmetric windows of the communicators: memory of NCCL's allocator on each device. Work that
/// uses the memory must have ended before the destructor.
class nccl_windows {
 public:
  nccl_windows(std::shared_ptr<nccl_ranks> of, std::size_t bytes)
      : of_(std::move(of)), blocks_(static_cast<std::size_t>(of_->ranks())) {
    for (int rank = 0; rank < of_->ranks(); ++rank) {
      device_guard const guard{of_->device(rank)};
      comm::check_nccl(ncclMemAlloc(&at(rank).data, bytes), "ncclMemAlloc");
    }
    // NCCL's allocator uses larger pages than the rounding: the windows stay inside the memory.
    constexpr std::size_t step = NCCL_WIN_REQUIRED_ALIGNMENT;
    comm::check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < of_->ranks(); ++rank) {
      device_guard const guard{of_->device(rank)};
      comm::check_nccl(
          ncclCommWindowRegister(of_->comm(rank), at(rank).data, (bytes + step - 1) / step * step,
                                 &at(rank).window, NCCL_WIN_COLL_SYMMETRIC),
          "ncclCommWindowRegister");
    }
    comm::check_nccl(ncclGroupEnd(), "ncclGroupEnd");
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
