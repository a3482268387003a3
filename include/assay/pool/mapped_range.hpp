// SPDX-License-Identifier: Apache-2.0
/// @file
/// A range of device addresses into which memory is mapped piece by piece.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/driver_call.hpp>

#include <cudaTypedefs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <type_traits>
#include <vector>

namespace assay::mr {

namespace detail {

/// The driver's calls for mapped memory, which are of CUDA 10.2.
struct mapping_calls {
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 release_addresses = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;

  /// Throws `std::runtime_error` where the driver lacks one.
  static mapping_calls const& instance() {
    static mapping_calls const found = [] {
      mapping_calls calls;
      auto const find = [](auto& into, char const* name) {
        into = driver_call<std::remove_reference_t<decltype(into)>>(name, 10020);
      };
      find(calls.reserve, "cuMemAddressReserve");
      find(calls.release_addresses, "cuMemAddressFree");
      find(calls.create, "cuMemCreate");
      find(calls.release, "cuMemRelease");
      find(calls.map, "cuMemMap");
      find(calls.unmap, "cuMemUnmap");
      find(calls.set_access, "cuMemSetAccess");
      find(calls.granularity, "cuMemGetAllocationGranularity");
      return calls;
    }();
    return found;
  }
};

}  // namespace detail

/// Addresses for several times the memory of a device, backed by memory piece by piece. New memory
/// goes to the lowest place that has room, next to older memory, so that blocks may span both. Not
/// safe for concurrent use.
///
/// Only the device itself may use the memory; with `peer_access` all that can reach it, which
/// `cudaDeviceEnablePeerAccess` does not change either way. Network cards may use it where the
/// device has GPUDirect RDMA for such memory.
class mapped_range {
 public:
  /// The unit of pieces.
  static constexpr std::size_t page_bytes = std::size_t{2} << 20U;

  static bool supported(on::device place) {
    if (!has(place, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) { return false; }
    auto const wanted = properties(place);
    std::size_t least = 0;
    check(detail::mapping_calls::instance().granularity(&least, &wanted,
                                                        CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return least != 0 && page_bytes % least == 0;
  }

  /// The device must be current here and in `map`.
  explicit mapped_range(on::device place, bool peer_access = false)
      : properties_(properties(place)) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    for (int id = 0; id < devices; ++id) {
      int reaches = id == place.id ? 1 : 0;
      if (peer_access && reaches == 0) { check(cudaDeviceCanAccessPeer(&reaches, id, place.id)); }
      if (reaches == 0) { continue; }
      access_.push_back(
          {CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, id}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    }
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
    // Holes between pieces cost addresses alone, and there are plenty.
    bytes_ = (4 * total_bytes + page_bytes - 1) / page_bytes * page_bytes;
    check(calls_.reserve(&begin_, bytes_, page_bytes, 0, 0));
  }
  mapped_range(mapped_range const&) = delete;
  mapped_range& operator=(mapped_range const&) = delete;
  /// Pieces that are still mapped stay mapped, and keep their addresses.
  ~mapped_range() {
    if (pieces_.empty()) { check_noexcept(as_runtime(calls_.release_addresses(begin_, bytes_))); }
  }

  /// The size of the pieces of a mapping of `bytes`, each unmapped by itself: an eighth, at least 1
  /// GiB. A piece takes some 60 us to map whatever its size (H100, driver 580), so there are few.
  static constexpr std::size_t piece_bytes(std::size_t bytes) noexcept {
    auto const eighth = (bytes / 8 + page_bytes - 1) / page_bytes * page_bytes;
    return std::max(eighth, std::size_t{1} << 30U);
  }

  /// Address of `bytes` (a multiple of `page_bytes`) of new memory, in pieces of
  /// `piece_bytes(bytes)` and a last one of the rest; 0 where there is no more. It is `wish` if
  /// there is room.
  std::uintptr_t map(std::size_t bytes, std::uintptr_t wish = 0) {
    auto const at = room_for(bytes, wish);
    if (at == 0) { return 0; }
    auto const step = piece_bytes(bytes);
    try {
      for (std::size_t done = 0; done < bytes; done += step) {
        if (map_piece(at + done, std::min(step, bytes - done))) { continue; }
        unmap(at, done);
        return 0;
      }
    } catch (...) {
      unmap(at, bytes);
      throw;
    }
    return opened(at, bytes) ? at : 0;
  }

  /// Takes back pieces that `map` gave, side by side; no work uses them any more. One call unmaps
  /// all of them where the driver takes that. A piece that the driver does not give up keeps its
  /// addresses.
  void unmap(std::uintptr_t at, std::size_t bytes) noexcept {
    auto first = pieces_.lower_bound(at);
    auto const last = pieces_.lower_bound(at + bytes);
    if (first == last) { return; }
    auto const end = std::prev(last)->first + std::prev(last)->second.bytes;
    bool const all = unmapped(first->first, end - first->first);
    while (first != last) {
      auto const each = first++;
      if (!all && !unmapped(each->first, each->second.bytes)) { continue; }
      check_noexcept(as_runtime(calls_.release(each->second.handle)));
      pieces_.erase(each);
    }
  }

 private:
  struct piece {
    std::size_t bytes;
    CUmemGenericAllocationHandle handle;
  };

  static cudaError_t as_runtime(CUresult code) noexcept {
    return static_cast<cudaError_t>(code);  // the runtime took over the driver's numbers
  }

  static bool has(on::device place, CUdevice_attribute which) {
    auto const attribute =
        driver_call_or_null<PFN_cuDeviceGetAttribute_v2000>("cuDeviceGetAttribute", 2000);
    if (attribute == nullptr) { return false; }
    int value = 0;
    check(attribute(&value, which, place.id));
    return value != 0;
  }

  static CUmemAllocationProp properties(on::device place) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.location.id = place.id;
    bool const shares = has(place, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    wanted.allocFlags.gpuDirectRDMACapable = shares ? 1 : 0;
    return wanted;
  }

  // False where there is no more memory.
  bool map_piece(std::uintptr_t at, std::size_t bytes) {
    CUmemGenericAllocationHandle memory = 0;
    auto const code = calls_.create(&memory, bytes, &properties_, 0);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) { return false; }
    check(code);
    try {
      pieces_.emplace(at, piece{bytes, memory});
      check(calls_.map(at, bytes, 0, memory, 0));
    } catch (...) {
      pieces_.erase(at);
      check_noexcept(as_runtime(calls_.release(memory)));
      throw;
    }
    return true;
  }

  // Lets the devices use a new mapping. Unmaps it, and is false, where the driver has no memory to
  // do so.
  bool opened(std::uintptr_t at, std::size_t bytes) {
    auto const allowed = calls_.set_access(at, bytes, access_.data(), access_.size());
    if (allowed == CUDA_SUCCESS) { return true; }
    unmap(at, bytes);
    if (allowed != CUDA_ERROR_OUT_OF_MEMORY) { check(allowed); }
    return false;
  }

  bool unmapped(std::uintptr_t at, std::size_t bytes) noexcept {
    return check_noexcept(as_runtime(calls_.unmap(at, bytes)));
  }

  std::uintptr_t room_for(std::size_t bytes, std::uintptr_t wish) const {
    auto const end = static_cast<std::uintptr_t>(begin_) + bytes_;
    if (wish != 0) {
      auto const next = pieces_.lower_bound(wish);
      bool const taken =
          next != pieces_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > wish;
      if (!taken && (next == pieces_.end() ? end : next->first) - wish >= bytes) { return wish; }
    }
    auto at = static_cast<std::uintptr_t>(begin_);
    for (auto const& [begin, memory] : pieces_) {
      if (begin - at >= bytes) { return at; }
      at = begin + memory.bytes;
    }
    return end - at >= bytes ? at : 0;
  }

  detail::mapping_calls const& calls_ = detail::mapping_calls::instance();
  CUmemAllocationProp properties_;
  std::vector<CUmemAccessDesc> access_;
  CUdeviceptr begin_ = 0;
  std::size_t bytes_ = 0;
  std::map<std::uintptr_t, piece> pieces_;
};

}  // namespace assay::mr
