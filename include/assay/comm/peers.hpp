// SPDX-License-Identifier: Apache-2.0
/// @file
/// `peers`: the devices that reduce together, each able to reach the others' memory.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/core/device.hpp>
#include <assay/core/nvtx_range.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::comm {

/// A device does not reach the memory of another. `what()` names both, the failure and a remedy.
class peer_error : public std::runtime_error {
 public:
  peer_error(on::device from, on::device to, std::string const& why)
      : std::runtime_error("device " + std::to_string(from.id) + " does not reach the memory of " +
                           "device " + std::to_string(to.id) + ": " + why +
                           "; leave one of them out, or reduce with NCCL, which needs no "
                           "peer access"),
        from_(from),
        to_(to) {}
  on::device from() const noexcept { return from_; }
  on::device to() const noexcept { return to_; }

 private:
  on::device from_, to_;
};

/// The devices of the ranks in rank order. Enables peer access between all of them. Peer access
/// stays enabled, since the process may use it elsewhere. `all_reduce` tests it by kernels.
///
/// One device may hold several ranks, which then share it: for tests, and machines with one GPU.
class peers {
 public:
  enum class sharing { forbidden, allowed };

  /// Throws `std::invalid_argument` for none or more than `max_ranks`, devices that are not there,
  /// or repeated ones unless that is allowed; `peer_error` for a pair without working peer access.
  explicit peers(std::vector<on::device> devices, sharing how = sharing::forbidden)
      : devices_(std::move(devices)) {
    require_ranks(devices_, how);
    nvtx_range const here{"peer access", category::transfer, devices_.size()};
    auto const each = distinct();
    for (auto const place : each) { require_device(place); }
    for (auto const from : each) {
      for (auto const to : each) {
        if (from != to) { enable(from, to); }
      }
    }
  }

  /// The first `count` devices.
  static peers first(int count) {
    std::vector<on::device> all;
    for (int id = 0; id < count; ++id) { all.push_back({id}); }
    return peers{std::move(all)};
  }
  /// `ranks` ranks on one device.
  static peers on_one(on::device place, int ranks) {
    return peers{std::vector<on::device>(static_cast<std::size_t>(std::max(ranks, 0)), place),
                 sharing::allowed};
  }

  int ranks() const noexcept { return static_cast<int>(devices_.size()); }
  on::device device(int rank) const {
    if (rank < 0 || rank >= ranks()) {
      throw std::invalid_argument("rank " + std::to_string(rank) + " of " + describe() +
                                  ": there are 0 to " + std::to_string(ranks() - 1));
    }
    return devices_[static_cast<std::size_t>(rank)];
  }
  std::vector<on::device> const& devices() const noexcept { return devices_; }
  /// The number of ranks on the device with the most ranks.
  int most_on_one() const {
    std::ptrdiff_t most = 0;
    for (auto const each : devices_) {
      most = std::max(most, std::count(devices_.begin(), devices_.end(), each));
    }
    return static_cast<int>(most);
  }
  /// Each device once.
  std::vector<on::device> distinct() const {
    std::vector<on::device> each;
    for (auto const place : devices_) {
      if (std::find(each.begin(), each.end(), place) == each.end()) { each.push_back(place); }
    }
    return each;
  }

  static constexpr std::string_view name = "comm::peers";
  std::string describe() const {
    std::string text;
    for (auto const each : devices_) {
      text += (text.empty() ? "" : ", ") + std::to_string(each.id);
    }
    return std::string{name} + '{' + text + '}';
  }
  bool operator==(peers const&) const = default;

  /// The checks that need no device.
  static void require_ranks(std::vector<on::device> const& devices, sharing how) {
    if (devices.empty() || devices.size() > static_cast<std::size_t>(max_ranks)) {
      throw std::invalid_argument("comm::peers of " + std::to_string(devices.size()) +
                                  " ranks: there are 1 to " + std::to_string(max_ranks) +
                                  "; NCCL reduces over more, and over machines");
    }
    for (std::size_t rank = 0; how == sharing::forbidden && rank < devices.size(); ++rank) {
      auto const first = std::find(devices.begin(), devices.end(), devices[rank]);
      auto const before = static_cast<std::size_t>(first - devices.begin());
      if (before == rank) { continue; }
      throw std::invalid_argument("comm::peers names device " + std::to_string(devices[rank].id) +
                                  " for ranks " + std::to_string(before) + " and " +
                                  std::to_string(rank) +
                                  ": name it once, or allow it with peers::sharing::allowed");
    }
  }

 private:
  static void enable(on::device from, on::device to) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, from.id, to.id));
    if (can == 0) {
      throw peer_error(from, to,
                       "the driver offers no peer access between them (no NVLink, a PCIe bridge in "
                       "between, MIG, or a virtual machine; see `nvidia-smi topo -p2p r`)");
    }
    device_guard const guard{from};
    auto const code = cudaDeviceEnablePeerAccess(to.id, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();
      return;
    }
    if (code != cudaSuccess) {
      (void)cudaGetLastError();
      throw peer_error(from, to, cudaGetErrorString(code));
    }
  }

  std::vector<on::device> devices_;
};

}  // namespace assay::comm
