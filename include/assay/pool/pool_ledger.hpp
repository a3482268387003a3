// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's ledger of live blocks, for its checked mode.
#pragma once

#include <assay/memory/thread_identity.hpp>
#include <assay/pool/size_class.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::mr {

/// A block that has not been given back.
struct live_block {
  std::uintptr_t address;
  std::size_t bytes;
  std::uint64_t stream;  ///< identity of the stream it was allocated on
  std::uint64_t thread;  ///< token of the thread that allocated it
};

/// Which blocks are live, and what was wrong with frees. Safe for concurrent use.
template <class Block>
class basic_pool_ledger {
 public:
  void opened(Block block) {
    auto& part = part_of(block.address);
    std::lock_guard const lock{part.mutex};
    part.live.insert_or_assign(block.address, block);
  }

  /// Strikes a block off; false, with the reason noted, if it was not there with this size.
  bool closed(std::uintptr_t address, std::size_t bytes) {
    std::string wrong;
    {
      auto& part = part_of(address);
      std::lock_guard const lock{part.mutex};
      auto const at = part.live.find(address);
      if (at == part.live.end()) {
        wrong = "mr::pool: deallocate of " + hex(address) + " (" + std::to_string(bytes) +
                " bytes), which is not a live block: freed twice, or not from this pool";
      } else if (size_class::of(at->second.bytes) != size_class::of(bytes)) {
        wrong = "mr::pool: deallocate of " + hex(address) + " with " + std::to_string(bytes) +
                " bytes, but it was allocated with " + std::to_string(at->second.bytes);
      } else {
        part.live.erase(at);
        return true;
      }
    }
    std::lock_guard const lock{faults_mutex_};
    faults_.push_back(std::move(wrong));
    any_fault_.store(true, std::memory_order_release);
    return false;
  }

  /// Throws `std::logic_error` with all that was found wrong since the last call.
  void verify() {
    if (!any_fault_.load(std::memory_order_acquire)) { return; }
    std::lock_guard const lock{faults_mutex_};
    any_fault_.store(false, std::memory_order_relaxed);
    std::string all;
    for (auto const& fault : std::exchange(faults_, {})) {
      all += (all.empty() ? "" : "\n") + fault;
    }
    throw std::logic_error(all);
  }

  std::vector<Block> live() {
    std::vector<Block> found;
    for (auto& part : parts_) {
      std::lock_guard const lock{part.mutex};
      for (auto const& [address, block] : part.live) { found.push_back(block); }
    }
    return found;
  }

  static std::string hex(std::uintptr_t address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
    return text.data();
  }

 private:
  struct part {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, Block> live;
  };
  part& part_of(std::uintptr_t address) noexcept {
    return parts_[(address / size_class::granule * 0x9E3779B97F4A7C15U) >> 58U];
  }

  std::array<part, 64> parts_;
  std::mutex faults_mutex_;
  std::vector<std::string> faults_;
  std::atomic<bool> any_fault_{false};
};

using pool_ledger = basic_pool_ledger<live_block>;

}  // namespace assay::mr
