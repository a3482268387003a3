// SPDX-License-Identifier: Apache-2.0
/// @file
/// What ran at the same time: copies beside kernels, copies beside copies, kernels beside kernels.
#pragma once

#include <assay/trace/intervals.hpp>
#include <assay/trace/pattern.hpp>
#include <assay/trace/view.hpp>
#include <assay/trace/work.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// Which way a copy moves its bytes.
enum class copy_direction : std::uint8_t { to_device, to_host, within_device, peer, other };
inline constexpr std::size_t copy_directions = 5;

constexpr std::string_view label(copy_direction direction) noexcept {
  constexpr std::array<std::string_view, copy_directions> names{
      "Host-to-Device", "Device-to-Host", "Device-to-Device", "Peer-to-Peer", "other"};
  return names[static_cast<std::size_t>(direction)];
}

constexpr copy_direction direction_of(copy_kind kind) noexcept {
  switch (kind) {
    case copy_kind::host_to_device:
    case copy_kind::host_to_array:
    case copy_kind::unified_host_to_device:
      return copy_direction::to_device;
    case copy_kind::device_to_host:
    case copy_kind::array_to_host:
    case copy_kind::unified_device_to_host:
      return copy_direction::to_host;
    case copy_kind::array_to_array:
    case copy_kind::array_to_device:
    case copy_kind::device_to_array:
    case copy_kind::device_to_device:
    case copy_kind::unified_device_to_device:
      return copy_direction::within_device;
    case copy_kind::peer_to_peer:
      return copy_direction::peer;
    default:
      return copy_direction::other;
  }
}

/// The kernels of communication, as those of NCCL and NVSHMEM are called.
inline pattern communication_kernels() {
  return pattern{"^nccl|ncclKernel|ncclDevKernel|nvshmem|all_reduce|AllReduce"};
}

/// What the copies of one direction did.
struct direction_use {
  std::int64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t busy_ns = 0;    ///< at least one was under way
  std::int64_t hidden_ns = 0;  ///< of that, while a kernel ran
  std::int64_t exposed_ns() const noexcept { return busy_ns - hidden_ns; }
  /// Bytes over the time in which at least one was under way; 0 without such time. A byte a
  /// nanosecond is 10^9 bytes a second.
  double gigabytes_per_second() const noexcept {
    return busy_ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(busy_ns);
  }
  bool operator==(direction_use const&) const = default;
};

/// What overlapped on one device.
struct overlap_use {
  std::int32_t device = 0;
  std::int64_t kernels_ns = 0;               ///< at least one kernel ran
  std::int64_t copies_ns = 0;                ///< at least one copy, of any direction
  std::int64_t copies_hidden_ns = 0;         ///< of that, while a kernel ran
  std::int64_t duplex_ns = 0;                ///< copies both to the device and to the host
  std::int64_t compute_ns = 0;               ///< at least one kernel that is no communication
  std::int64_t communication_ns = 0;         ///< communication kernels and peer copies
  std::int64_t communication_hidden_ns = 0;  ///< of that, while a kernel computed
  std::array<direction_use, copy_directions> by_direction{};
  std::vector<std::int64_t> kernels_at_once;  ///< time at 0, 1, 2... kernels
  double mean_kernels_at_once = 0;            ///< while any ran

  std::int64_t copies_exposed_ns() const noexcept { return copies_ns - copies_hidden_ns; }
  std::int64_t communication_exposed_ns() const noexcept {
    return communication_ns - communication_hidden_ns;
  }
  direction_use const& use(copy_direction direction) const noexcept {
    return by_direction[static_cast<std::size_t>(direction)];
  }
};

namespace detail {

/// The intervals of one device, by what they are.
struct device_intervals {
  std::vector<span> kernels, compute, communication;
  std::array<std::vector<span>, copy_directions> copies;
  std::array<direction_use, copy_directions> sums;
};

inline overlap_use overlap_of(std::int32_t device, device_intervals& of) {
  overlap_use use;
  use.device = device;
  use.kernels_at_once = time_at_depth(of.kernels);
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < use.kernels_at_once.size(); ++k) {
    sum += static_cast<std::int64_t>(k) * use.kernels_at_once[k];
  }
  time_set const kernels{std::move(of.kernels)};
  time_set const compute{std::move(of.compute)};
  time_set const communication{std::move(of.communication)};
  use.kernels_ns = kernels.length();
  if (use.kernels_ns > 0) {
    use.mean_kernels_at_once = static_cast<double>(sum) / static_cast<double>(use.kernels_ns);
  }
  use.compute_ns = compute.length();
  use.communication_ns = communication.length();
  use.communication_hidden_ns = common_length(communication, compute);
  std::array<time_set, copy_directions> sets;
  time_set copies;
  for (std::size_t i = 0; i < copy_directions; ++i) {
    sets[i] = time_set{std::move(of.copies[i])};
    use.by_direction[i] = of.sums[i];
    use.by_direction[i].busy_ns = sets[i].length();
    use.by_direction[i].hidden_ns = common_length(sets[i], kernels);
    copies = copies | sets[i];
  }
  use.copies_ns = copies.length();
  use.copies_hidden_ns = common_length(copies, kernels);
  use.duplex_ns = common_length(sets[static_cast<std::size_t>(copy_direction::to_device)],
                                sets[static_cast<std::size_t>(copy_direction::to_host)]);
  return use;
}

}  // namespace detail

/// What overlapped, for each device that ran a kernel or a copy, by its number. O(n log n).
inline std::vector<overlap_use> overlap(view const& rows,
                                        pattern const& communication = communication_kernels()) {
  auto const& of = rows.of();
  std::map<std::int32_t, detail::device_intervals> devices;
  std::vector<signed char> known(of.strings.size(), -1);
  for (auto const row : rows.kernels) {
    auto const& each = of.kernels[row];
    auto& on = devices[each.where.device];
    auto& talks = known[each.name];
    if (talks < 0) { talks = communication.matches(of.strings[each.name]) ? 1 : 0; }
    on.kernels.push_back(each.when);
    (talks == 1 ? on.communication : on.compute).push_back(each.when);
  }
  for (auto const row : rows.copies) {
    auto const& each = of.copies[row];
    auto& on = devices[each.where.device];
    auto const direction = static_cast<std::size_t>(direction_of(each.kind));
    on.copies[direction].push_back(each.when);
    ++on.sums[direction].count;
    on.sums[direction].bytes += each.bytes;
    if (each.kind == copy_kind::peer_to_peer) { on.communication.push_back(each.when); }
  }
  std::vector<overlap_use> result;
  for (auto& [device, intervals] : devices) {
    result.push_back(detail::overlap_of(device, intervals));
  }
  return result;
}

}  // namespace assay::trace
