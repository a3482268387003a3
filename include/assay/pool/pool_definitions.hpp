// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of pool.hpp, all of them templates. In compiled mode a program that opens a pool
/// over another resource includes them.
#pragma once

#include <assay/pool/cuda_pool_backend.hpp>
#include <assay/pool/over_aligned.hpp>
#include <assay/pool/pool.hpp>
#include <assay/pool/pool_core.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

namespace assay::mr {

template <class Backend>
struct basic_pool_resource<Backend>::state {
  state(Backend backend, pool const& options) : core(std::move(backend), options) {}

  pool_core<Backend> core;
  over_aligned<pool_core<Backend>> aligned;
};

template <class Backend>
struct basic_pool_resource<Backend>::capture_hold::graph {
  graph(std::shared_ptr<state> of, ::cuda::stream_ref stream)
      : owner(std::move(of)), blocks(owner->core.begin_capture(stream)) {}
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;
  ~graph() { owner->core.drop_capture(*blocks); }

  std::shared_ptr<state> owner;
  std::unique_ptr<pool_capture<stream_cache<Backend>>> blocks;
};

template <class Backend>
void basic_pool_resource<Backend>::capture_hold::end() noexcept {
  of_->owner->core.end_capture(*of_->blocks);
}

template <class Backend>
basic_pool_resource<Backend>::basic_pool_resource(on::device place, std::size_t initial_bytes)
requires std::same_as<Backend, cuda_pool_backend>
    : basic_pool_resource(pool{initial_bytes}.open(place)) {}

template <class Backend>
basic_pool_resource<Backend>::basic_pool_resource(Backend backend, pool const& options)
    : state_(std::make_shared<state>(std::move(backend), options)) {}

template <class Backend>
void* basic_pool_resource<Backend>::allocate(::cuda::stream_ref stream, std::size_t bytes,
                                             std::size_t alignment) {
  if (alignment != default_alignment && !std::has_single_bit(alignment)) [[unlikely]] {
    require_alignment(alignment);
  }
  if (alignment <= default_alignment) [[likely]] { return state_->core.allocate(stream, bytes); }
  return state_->aligned.allocate(state_->core, stream, bytes, alignment);
}

template <class Backend>
void basic_pool_resource<Backend>::deallocate(::cuda::stream_ref stream, void* block,
                                              std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= default_alignment) [[likely]] {
    state_->core.deallocate(stream, block, bytes);
  } else {
    state_->aligned.deallocate(state_->core, stream, block, bytes, alignment);
  }
}

template <class Backend>
void basic_pool_resource<Backend>::release(::cuda::stream_ref stream) {
  state_->core.release(stream);
}

template <class Backend>
std::size_t basic_pool_resource<Backend>::trim() {
  return state_->core.trim();
}

template <class Backend>
auto basic_pool_resource<Backend>::capture(::cuda::stream_ref stream) -> capture_hold {
  return capture_hold{std::make_shared<typename capture_hold::graph>(state_, stream)};
}

template <class Backend>
statistics basic_pool_resource<Backend>::stats() const {
  return state_->core.stats();
}

template <std::same_as<on::device> Place>
pool_resource pool::open(Place place) const {
  require_device(place);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  {
    device_guard const guard{place};
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
  }
  require_fit(total_bytes, place);
  auto bounded = *this;
  if (max_bytes == 0) { bounded.max_bytes = total_bytes; }
  return pool_resource{cuda_pool_backend{place, mapped, peer_access}, bounded};
}

template <std::same_as<on::device> Place, class Upstream>
auto pool::open(Place place, Upstream upstream) const {
  require_device(place);
  require_fit(std::numeric_limits<std::size_t>::max(), place);  // upstream is not the card
  using backend = upstream_pool_backend<Upstream>;
  return basic_pool_resource<backend>{backend{place, std::move(upstream)}, *this};
}

}  // namespace assay::mr
