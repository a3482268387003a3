// SPDX-License-Identifier: Apache-2.0
/// @file
/// `overlap`: the time in which copies ran beside kernels, copies beside copies, and kernels beside
/// kernels.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The direction in which a copy moves its bytes.
enum class copy_direction : std::uint8_t {
  to_device,
  to_host,
  within_device,
  peer,
  other,
  migration
};
inline constexpr std::size_t copy_directions = 6;

constexpr std::string_view to_string(copy_direction direction) noexcept {
  constexpr std::array<std::string_view, copy_directions> names{
      "Host-to-Device", "Device-to-Host", "Device-to-Device",
      "Peer-to-Peer",   "other",          "page migration"};
  return names[static_cast<std::size_t>(direction)];
}

constexpr copy_direction direction_of(copy_kind kind) noexcept {
  using enum copy_direction;
  constexpr std::array by_kind{other,         to_device,     to_host,       to_device,     to_host,
                               within_device, within_device, within_device, within_device, other,
                               peer,          migration,     migration,     migration};
  auto const at = static_cast<std::size_t>(kind);
  return at < by_kind.size() ? by_kind[at] : other;
}

/// The names of communication kernels: NCCL's, NVSHMEM's and other collectives.
inline constexpr char const* communication_kernels =
    "^nccl|ncclKernel|ncclDevKernel|nvshmem|all_reduce|allreduce|AllReduce|all_gather|"
    "reduce_scatter|cross_device_reduce";

/// The copies of one direction.
struct direction_overlap {
  std::int64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t busy_ns = 0;    ///< at least one was under way
  std::int64_t hidden_ns = 0;  ///< the part of `busy_ns` in which a kernel ran
  std::int64_t exposed_ns() const noexcept { return busy_ns - hidden_ns; }
  /// Bytes over `busy_ns`; 0 without such time. A byte a nanosecond is 10^9 bytes a second.
  double gigabytes_per_second() const noexcept {
    return busy_ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(busy_ns);
  }
  bool operator==(direction_overlap const&) const = default;
};

/// The operations of one device that overlapped. A graph that was recorded whole is work of unknown
/// content: it counts as one kernel that computes.
struct device_overlap {
  std::int32_t device = 0;
  std::int64_t kernels_ns = 0;               ///< at least one kernel ran
  std::int64_t copies_ns = 0;                ///< at least one copy; page migrations are none
  std::int64_t copies_hidden_ns = 0;         ///< the part of `copies_ns` in which a kernel ran
  std::int64_t duplex_ns = 0;                ///< copies both to the device and to the host
  std::int64_t compute_ns = 0;               ///< at least one kernel that is no communication
  std::int64_t communication_ns = 0;         ///< communication kernels and peer copies
  std::int64_t communication_hidden_ns = 0;  ///< the part of it in which a kernel computed
  std::array<direction_overlap, copy_directions> by_direction{};
  /// Time at 0, 1, 2... kernels.
  std::vector<std::int64_t> kernels_at_once;
  double mean_kernels_at_once = 0;  ///< while any ran

  std::int64_t copies_exposed_ns() const noexcept { return copies_ns - copies_hidden_ns; }
  direction_overlap const& use(copy_direction direction) const noexcept {
    return by_direction[static_cast<std::size_t>(direction)];
  }
};

namespace detail {

/// The intervals of one device, by kind of operation.
struct device_intervals {
  std::vector<span> kernels, compute, communication;
  std::array<std::vector<span>, copy_directions> copies;
  std::array<direction_overlap, copy_directions> sums;
};

inline device_overlap overlap_of(std::int32_t device, device_intervals& of) {
  device_overlap use;
  use.device = device;
  use.kernels_at_once = time_at_depth(of.kernels);
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < use.kernels_at_once.size(); ++k) {
    sum += static_cast<std::int64_t>(k) * use.kernels_at_once[k];
  }
  interval_set const kernels{std::move(of.kernels)};
  interval_set const compute{std::move(of.compute)};
  interval_set const communication{std::move(of.communication)};
  use.kernels_ns = kernels.length();
  if (use.kernels_ns > 0) {
    use.mean_kernels_at_once = static_cast<double>(sum) / static_cast<double>(use.kernels_ns);
  }
  use.compute_ns = compute.length();
  use.communication_ns = communication.length();
  use.communication_hidden_ns = (communication & compute).length();
  std::array<interval_set, copy_directions> sets;
  interval_set copies;
  for (std::size_t i = 0; i < copy_directions; ++i) {
    sets[i] = interval_set{std::move(of.copies[i])};
    use.by_direction[i] = of.sums[i];
    use.by_direction[i].busy_ns = sets[i].length();
    use.by_direction[i].hidden_ns = (sets[i] & kernels).length();
    if (static_cast<copy_direction>(i) != copy_direction::migration) { copies = copies | sets[i]; }
  }
  use.copies_ns = copies.length();
  use.copies_hidden_ns = (copies & kernels).length();
  use.duplex_ns = (sets[static_cast<std::size_t>(copy_direction::to_device)] &
                   sets[static_cast<std::size_t>(copy_direction::to_host)])
                      .length();
  return use;
}

/// The overlap on each device, an index of a view.
struct overlap_of_devices {
  std::vector<device_overlap> all;
  explicit overlap_of_devices(view const& rows);
};

inline overlap_of_devices::overlap_of_devices(view const& rows) {
  auto const& of = rows.of();
  glob const communication{communication_kernels};
  std::map<std::int32_t, detail::device_intervals> devices;
  auto is_communication = once_per_name(
      of.strings.size(), [&](string_id name) { return communication.matches(of.strings[name]); });
  for (auto const& each : rows.operations()) {  // in order: no set has to sort
    if (is_memory(each.kind)) { continue; }
    auto& on = devices[place_of(of, each).device];
    on.kernels.push_back(each.when);
    auto const communicates =
        each.kind == operation_kind::kernel && is_communication(of.kernels[each.row].name);
    (communicates ? on.communication : on.compute).push_back(each.when);
  }
  for (auto const& each : of.copies) {
    auto& on = devices[each.where.device];
    auto const direction = static_cast<std::size_t>(direction_of(each.kind));
    on.copies[direction].push_back(each.when);
    ++on.sums[direction].count;
    on.sums[direction].bytes += each.bytes;
    if (each.kind == copy_kind::peer_to_peer) { on.communication.push_back(each.when); }
  }
  for (auto& [device, intervals] : devices) { all.push_back(overlap_of(device, intervals)); }
}

}  // namespace detail

/// The overlap on each device that ran a kernel or a copy, by the device's number. O(n log n).
inline std::vector<device_overlap> overlap(view const& rows) {
  return rows.index<detail::overlap_of_devices>().all;
}

}  // namespace assay::trace
