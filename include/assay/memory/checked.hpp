// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::checked`: finds double frees, foreign pointers, wrong sizes and leaks over any resource.
#pragma once

#include <assay/memory/request.hpp>
#include <assay/memory/thread_identity.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::mr {

/// A block that has not been given back.
struct live_block {
  void* address;
  std::size_t bytes;
  std::size_t alignment;
  std::uint64_t thread;  ///< token of the thread that allocated it
};

/// Keeps a ledger of the blocks that a resource has handed out. Copies share the ledger.
///
/// A free that is wrong does not reach the upstream. The next `allocate` or `verify` tells of it.
/// `verify` also tells of frees that the upstream counts as late. Each call locks a mutex that all
/// threads share.
template <class R>
class checked_resource : public adaptor_calls<checked_resource<R>, R> {
 public:
  explicit checked_resource(R upstream)
      : upstream_(std::move(upstream)), ledger_(std::make_shared<ledger>()) {}

  /// Throws `std::logic_error` with all that was wrong with earlier frees.
  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    tell();
    void* const block = upstream_.allocate(stream, bytes, alignment);
    if (block == nullptr) { return nullptr; }
    try {
      std::lock_guard const lock{ledger_->mutex};
      ledger_->live.insert_or_assign(block,
                                     live_block{block, bytes, alignment, this_thread().token});
    } catch (...) {
      upstream_.deallocate(stream, block, bytes, alignment);
      throw;
    }
    return block;
  }

  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    if (block != nullptr && !strike_off(block, bytes, alignment)) { return; }
    upstream_.deallocate(stream, block, bytes, alignment);
  }

  /// Throws `std::logic_error` with all that was wrong with frees since the last call, and with how
  /// many the upstream counts as late.
  void verify() {
    if constexpr (requires { upstream_.stats(); }) {
      auto const late = upstream_.stats().late_frees.value_or(0);
      std::lock_guard const lock{ledger_->mutex};
      auto const fresh = late - std::exchange(ledger_->late_frees, late);
      if (fresh != 0) {
        ledger_->faults.push_back(
            "mr::checked: late frees: " + std::to_string(fresh) +
            ": their stream is of another device, or unknown to the driver, so their blocks wait "
            "for the device");
      }
    }
    tell();
  }

  /// The blocks that are not given back, in no order.
  std::vector<live_block> live_blocks() const {
    std::lock_guard const lock{ledger_->mutex};
    std::vector<live_block> found;
    for (auto const& [address, block] : ledger_->live) { found.push_back(block); }
    return found;
  }

  auto stats() const
  requires requires(R const& resource) { resource.stats(); }
  {
    return upstream_.stats();
  }

  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(checked_resource const&) const = default;

 private:
  struct ledger {
    std::mutex mutex;
    std::unordered_map<void*, live_block> live;
    std::vector<std::string> faults;
    std::uint64_t late_frees = 0;  // that were told of
  };

  void tell() {
    std::lock_guard const lock{ledger_->mutex};
    if (ledger_->faults.empty()) { return; }
    std::string all;
    for (auto const& fault : std::exchange(ledger_->faults, {})) {
      all += (all.empty() ? "" : "\n") + fault;
    }
    throw std::logic_error(all);
  }

  // Comes before the upstream's free, after which another thread may get the block. Without host
  // memory to tell of a wrong free, nothing tells of it.
  bool strike_off(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    std::lock_guard const lock{ledger_->mutex};
    auto const at = ledger_->live.find(block);
    bool const known = at != ledger_->live.end();
    if (known && at->second.bytes == bytes && at->second.alignment == alignment) {
      ledger_->live.erase(at);
      return true;
    }
    try {
      ledger_->faults.push_back(
          "mr::checked: deallocate of " + hex(block) + " with " + words(bytes, alignment) +
          (known ? ", but it was allocated with " + words(at->second.bytes, at->second.alignment)
                 : ", which is not a live block: freed twice, or not from this resource"));
    } catch (...) { return false; }
    return false;
  }

  static std::string words(std::size_t bytes, std::size_t alignment) {
    return std::to_string(bytes) + " bytes and alignment " + std::to_string(alignment);
  }
  static std::string hex(void const* block) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(block)));
    return text.data();
  }

  R upstream_;
  std::shared_ptr<ledger> ledger_;
};

/// Checks the frees of the resource that `upstream` opens.
template <class Policy>
struct checked {
  Policy upstream{};

  static constexpr std::string_view name = "mr::checked";
  std::string describe() const {
    return parameter_list{}.show(assay::describe(upstream)).after(name);
  }
  template <class Place>
  requires memory_policy<Policy, Place>
  auto open(Place place) const {
    return checked_resource<resource_of<Policy, Place>>{upstream.open(place)};
  }
  bool operator==(checked const&) const = default;
};
template <class Policy>
checked(Policy) -> checked<Policy>;

}  // namespace assay::mr
