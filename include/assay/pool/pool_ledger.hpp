// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's ledger of live blocks, for its checked mode.
#pragma once

#include <assay/memory/thread_identity.hpp>
#include <assay/pool/size_class.hpp>

#include <array>
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

/// Notes live blocks, and frees that were wrong. Safe for concurrent use.
class pool_ledger {
 public:
  void opened(live_block block) {
    std::lock_guard const lock{mutex_};
    live_.insert_or_assign(block.address, block);
  }

  /// Strikes a block off; false, with the reason noted, if it was not there with this size.
  bool closed(std::uintptr_t address, std::size_t bytes) {
    std::lock_guard const lock{mutex_};
    auto const at = live_.find(address);
    if (at != live_.end() && size_class::of(at->second.bytes) == size_class::of(bytes)) {
      live_.erase(at);
      return true;
    }
    if (at == live_.end()) {
      faults_.push_back(unknown(address, bytes));
    } else {
      faults_.push_back("mr::pool: deallocate of " + hex(address) + " with " +
                        std::to_string(bytes) + " bytes, but it was allocated with " +
                        std::to_string(at->second.bytes));
    }
    return false;
  }

  /// Notes a free of what is no live block.
  void refused(std::uintptr_t address, std::size_t bytes) {
    std::lock_guard const lock{mutex_};
    faults_.push_back(unknown(address, bytes));
  }

  /// Throws `std::logic_error` with all that was found wrong since the last call.
  void verify() {
    std::lock_guard const lock{mutex_};
    if (faults_.empty()) { return; }
    std::string all;
    for (auto const& fault : std::exchange(faults_, {})) {
      all += (all.empty() ? "" : "\n") + fault;
    }
    throw std::logic_error(all);
  }

  std::vector<live_block> live() {
    std::lock_guard const lock{mutex_};
    std::vector<live_block> found;
    for (auto const& [address, block] : live_) { found.push_back(block); }
    return found;
  }

  static std::string hex(std::uintptr_t address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
    return text.data();
  }

 private:
  static std::string unknown(std::uintptr_t address, std::size_t bytes) {
    return "mr::pool: deallocate of " + hex(address) + " (" + std::to_string(bytes) +
           " bytes), which is not a live block: freed twice, or not from this pool";
  }

  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, live_block> live_;
  std::vector<std::string> faults_;
};

}  // namespace assay::mr
