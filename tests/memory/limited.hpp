// SPDX-License-Identifier: Apache-2.0
/// @file
/// `test::limited`: a byte budget for any resource, and an allocation that fails on purpose.
#pragma once

#include <assay/memory/request.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace assay::test {

/// Throws `out_of_memory` for a request that would take the live bytes of all copies of the handle
/// past the budget, and for the n-th allocation if asked to. Other requests go upstream.
template <class R>
class limited_resource : public mr::adaptor_calls<limited_resource<R>, R> {
 public:
  explicit limited_resource(R upstream,
                            std::size_t max_bytes = std::numeric_limits<std::size_t>::max(),
                            std::uint64_t fail_at = 0)
      : upstream_(std::move(upstream)), state_(std::make_shared<state>(max_bytes, fail_at)) {}

  template <class Stream>
  void* allocate(Stream stream, std::size_t bytes, std::size_t alignment = mr::default_alignment) {
    auto const number = state_->calls.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number == state_->fail_at) {
      throw mr::out_of_memory("test::limited: allocation " + std::to_string(number) +
                              " fails as asked for (fail_at)");
    }
    auto live = state_->live_bytes.load(std::memory_order_relaxed);
    do {
      if (bytes > state_->max_bytes - live) {
        throw mr::out_of_memory("test::limited: no room for " + mr::describe_bytes(bytes) + ": " +
                                mr::describe_bytes(live) + " of max_bytes " +
                                mr::describe_bytes(state_->max_bytes) + " are live");
      }
    } while (
        !state_->live_bytes.compare_exchange_weak(live, live + bytes, std::memory_order_relaxed));
    try {
      return upstream_.allocate(stream, bytes, alignment);
    } catch (...) {
      state_->live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
  }
  template <class Stream>
  void deallocate(Stream stream, void* block, std::size_t bytes,
                  std::size_t alignment = mr::default_alignment) noexcept {
    upstream_.deallocate(stream, block, bytes, alignment);
    state_->live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  }

  auto stats() const
  requires requires(R const& r) { r.stats(); }
  {
    return upstream_.stats();
  }

  std::size_t live_bytes() const noexcept {
    return state_->live_bytes.load(std::memory_order_relaxed);
  }
  R& upstream() noexcept { return upstream_; }
  R const& upstream() const noexcept { return upstream_; }
  bool operator==(limited_resource const&) const = default;

 private:
  struct state {
    state(std::size_t most, std::uint64_t failing) : max_bytes(most), fail_at(failing) {}
    std::size_t const max_bytes;
    std::uint64_t const fail_at;
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::size_t> live_bytes{0};
  };
  R upstream_;
  std::shared_ptr<state> state_;
};

/// Lets at most `max_bytes` of the resource of `upstream` be live at a time. Allocation number
/// `fail_at`, counted from 1, throws; 0 stands for none.
template <class Policy>
struct limited {
  Policy upstream{};
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  std::uint64_t fail_at = 0;

  static constexpr std::string_view name = "test::limited";
  std::string describe() const {
    parameter_list all;
    all.show(assay::describe(upstream));
    if (max_bytes != std::numeric_limits<std::size_t>::max()) {
      all.show(mr::describe_bytes(max_bytes));
    }
    return all.show("fail_at", fail_at, 0).after(name);
  }
  template <class Place>
  requires memory_policy<Policy, Place>
  auto open(Place place) const {
    return limited_resource<resource_of<Policy, Place>>{upstream.open(place), max_bytes, fail_at};
  }
  bool operator==(limited const&) const = default;
};
template <class Policy, class... Rest>
limited(Policy, Rest...) -> limited<Policy>;

}  // namespace assay::test
