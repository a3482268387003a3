// SPDX-License-Identifier: Apache-2.0
/// @file
/// `mr::statistics`: the counts that the `stats()` of each resource returns.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstdint>
#include <optional>

namespace assay::mr {

/// Counts since a resource was opened or was last reset. Only some resources know the optional
/// members.
struct statistics {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;    ///< requests that threw
  std::uint64_t bytes = 0;       ///< total asked for
  std::uint64_t live_bytes = 0;  ///< asked for and not yet given back
  std::uint64_t peak_bytes = 0;  ///< most live bytes at one time; each `stats()` states its bound
  std::optional<std::uint64_t> reserved_bytes;  ///< held from upstream now
  std::optional<std::uint64_t> reused_blocks;   ///< requests met without going upstream
  std::optional<std::uint64_t> upstream_calls;  ///< allocations and frees that went upstream
  std::optional<std::uint64_t> steals;          ///< times a stream took blocks of another
  bool operator==(statistics const&) const = default;
};

}  // namespace assay::mr
