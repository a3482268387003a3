// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::pool`, the policy of a pool.
#pragma once

#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>
#include <assay/core/units.hpp>  // for mr::pool{1_GiB}
#include <assay/memory/request.hpp>

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::mr {

template <class Backend>
class basic_pool_resource;
class cuda_pool_backend;

/// The policy of a stream-ordered pool of device memory; `mr::pool{10_GiB}` reserves 10 GiB.
///
/// Beside live blocks a pool keeps four kinds of memory:
/// - Size classes round requests up.
/// - Each stream has a cache.
/// - Slabs of 2 MiB serve blocks up to 256 KiB.
/// - Free pieces lie between blocks.
///
/// The pool reserves more while it then holds at most a sixth, or one step of growth, above the
/// most that was ever in use. Beyond that bound it first takes memory that a stream must wait for,
/// and collects the free memory of slabs and of caches. Then it reserves a quarter of
/// `growth_bytes`, or what the block needs. A step of growth is an eighth of all reserved memory,
/// and at least `growth_bytes`.
struct pool {
  std::size_t initial_bytes = 0;  ///< reserved at opening
  std::size_t max_bytes = 0;      ///< never reserve more; 0 is what the card, or upstream, has
  std::size_t growth_bytes = std::size_t{64} << 20U;  ///< a step of growth
  /// One stream may keep as much free for itself. Beyond it the stream's oldest blocks go to the
  /// central heap. Blocks of more than an eighth of it go there at once.
  std::size_t stream_cache_bytes = std::size_t{256} << 20U;
  /// The program promises `release(stream)` before it destroys a stream that it used with the pool,
  /// and `capture(stream)` before it captures one. The pool then asks the driver nothing while a
  /// stream reuses its own memory.
  bool trust_handles = false;
  /// Map chunks side by side, so that blocks may span them; else, and where the device cannot, they
  /// come from `cudaMalloc`.
  bool mapped = true;
  /// Let all devices that can reach this one use mapped memory; `cudaDeviceEnablePeerAccess` does
  /// that for `cudaMalloc` alone.
  bool peer_access = false;

  static constexpr std::string_view name = "mr::pool";
  std::string describe() const {
    pool const usual{};
    return parameter_list{}
        .show(describe_bytes(initial_bytes))
        .show("max_bytes", max_bytes, usual.max_bytes, describe_bytes)
        .show("growth_bytes", growth_bytes, usual.growth_bytes, describe_bytes)
        .show("stream_cache_bytes", stream_cache_bytes, usual.stream_cache_bytes, describe_bytes)
        .show("trust_handles", trust_handles, usual.trust_handles)
        .show("mapped", mapped, usual.mapped)
        .show("peer_access", peer_access, usual.peer_access)
        .after(name);
  }

  /// A resource on a device. Throws `std::invalid_argument` when the card cannot ever have that
  /// much, `out_of_memory` when it has not now.
  template <std::same_as<on::device> Place>
  basic_pool_resource<cuda_pool_backend> open(Place place) const;

  /// A pool of another resource's memory for streams of the device. Any that has CCCL's calls
  /// without a stream will do, such as `mr::managed`'s or one of RMM's. One thread at a time makes
  /// these calls, without the pool's mutex. They must not call `allocate` or `trim` of the pool.
  /// Captures stay valid if the calls disturb none. `mapped` and `peer_access` have no effect. In
  /// compiled mode include `<assay/pool/pool_definitions.hpp>` too.
  template <std::same_as<on::device> Place, class Upstream>
  auto open(Place place, Upstream upstream) const;

  /// Throws `std::invalid_argument`, naming both sizes, unless this pool fits a card of
  /// `total_bytes`.
  void require_fit(std::size_t total_bytes, on::device place) const {
    auto const refuse = [](std::string const& what, std::size_t asked, std::string const& than,
                           std::size_t limit) {
      throw std::invalid_argument("mr::pool: " + what + " " + describe_bytes(asked) +
                                  " is more than " + than + " " + describe_bytes(limit));
    };
    auto const card = "device " + std::to_string(place.id) + " has:";
    if (initial_bytes > total_bytes) { refuse("initial_bytes", initial_bytes, card, total_bytes); }
    if (max_bytes > total_bytes) { refuse("max_bytes", max_bytes, card, total_bytes); }
    if (max_bytes != 0 && initial_bytes > max_bytes) {
      refuse("initial_bytes", initial_bytes, "max_bytes", max_bytes);
    }
    constexpr auto page = std::size_t{2} << 20U;  // of `slab_heap`
    if (max_bytes != 0 && max_bytes < page) {
      throw std::invalid_argument("mr::pool: max_bytes " + describe_bytes(max_bytes) +
                                  " is less than a page of 2 MiB: a pool reserves whole pages");
    }
  }

  bool operator==(pool const&) const = default;
};

}  // namespace assay::mr
