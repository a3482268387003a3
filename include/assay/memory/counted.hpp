// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::counted`: counts the calls and bytes of any resource.
#pragma once

#include <assay/memory/request.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace assay::mr {

/// Counts the calls and bytes that go through a resource. Copies share the counts.
///
/// All counts, the peak too, are exact. Each call updates one cache line that all threads share.
template <class R>
class counted_resource : public adaptor_calls<counted_resource<R>, R> {
 public:
  explicit counted_resource(R upstream) : upstream_(std::move(upstream)), state_(new state) {
    state_->base = of_upstream();
  }

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    void* block = nullptr;
    try {
      block = upstream_.allocate(stream, bytes, alignment);
    } catch (...) {
      state_->failures.fetch_add(1, relaxed);
      throw;
    }
    state_->allocations.fetch_add(1, relaxed);
    state_->bytes.fetch_add(bytes, relaxed);
    auto const live = state_->live_bytes.fetch_add(bytes, relaxed) + bytes;
    auto peak = state_->peak_bytes.load(relaxed);
    while (live > peak && !state_->peak_bytes.compare_exchange_weak(peak, live, relaxed)) {}
    return block;
  }

  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    state_->deallocations.fetch_add(1, relaxed);
    state_->live_bytes.fetch_sub(bytes, relaxed);
    upstream_.deallocate(stream, block, bytes, alignment);
  }

  /// Counts since the last `reset()`, with what the upstream knows of itself. Live bytes are since
  /// the resource was opened.
  statistics stats() const {
    auto now = of_upstream();
    now.allocations = state_->allocations.load(relaxed);
    now.deallocations = state_->deallocations.load(relaxed);
    now.failures = state_->failures.load(relaxed);
    now.bytes = state_->bytes.load(relaxed);
    now.live_bytes = state_->live_bytes.load(relaxed);
    now.peak_bytes = state_->peak_bytes.load(relaxed);
    subtract(now.reused_blocks, state_->base.reused_blocks);
    subtract(now.upstream_calls, state_->base.upstream_calls);
    subtract(now.waits, state_->base.waits);
    return now;
  }

  /// Starts the counts anew. The peak starts at the bytes that are live. No other thread may use
  /// the resource meanwhile.
  void reset() {
    for (auto* each :
         {&state_->allocations, &state_->deallocations, &state_->failures, &state_->bytes}) {
      each->store(0, relaxed);
    }
    state_->peak_bytes.store(state_->live_bytes.load(relaxed), relaxed);
    state_->base = of_upstream();
  }

  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(counted_resource const&) const = default;

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  // A line of its own, since processors fetch lines in pairs.
  struct alignas(128) state {
    std::atomic<std::uint64_t> allocations{0}, deallocations{0}, failures{0}, bytes{0};
    std::atomic<std::uint64_t> live_bytes{0}, peak_bytes{0};
    statistics base;  // the upstream's own counts at the last `reset()`
  };

  static void subtract(std::optional<std::uint64_t>& from,
                       std::optional<std::uint64_t> const& what) noexcept {
    if (from && what) { *from -= *what; }
  }

  statistics of_upstream() const {
    statistics found;
    if constexpr (requires { upstream_.stats(); }) {
      auto const below = upstream_.stats();
      found.reserved_bytes = below.reserved_bytes;
      found.reused_blocks = below.reused_blocks;
      found.upstream_calls = below.upstream_calls;
      found.waits = below.waits;
      found.late_frees = below.late_frees;
    }
    return found;
  }

  R upstream_;
  std::shared_ptr<state> state_;
};

/// Counts what goes through the resource that `upstream` opens.
template <class Policy>
struct counted {
  Policy upstream{};

  static constexpr std::string_view name = "mr::counted";
  std::string describe() const {
    return parameter_list{}.show(assay::describe(upstream)).after(name);
  }
  template <class Place>
  requires memory_policy<Policy, Place>
  auto open(Place place) const {
    return counted_resource<resource_of<Policy, Place>>{upstream.open(place)};
  }
  bool operator==(counted const&) const = default;
};
template <class Policy>
counted(Policy) -> counted<Policy>;

}  // namespace assay::mr
