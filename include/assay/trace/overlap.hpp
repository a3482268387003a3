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

/// The operations of one device in order of their begin, which makes sets of them unnecessary.
class device_operations {
 public:
  explicit device_operations(std::size_t most_kernels) { kernels_.reserve(most_kernels); }

  void add_kernel(span when, bool communicates) {
    kernels_.push_back(when);
    busy_.add(when);
    hidden_.add(0, when);
    for (auto& each : hidden_by_direction_) { each.add(0, when); }
    if (communicates) {
      add_communication(when);
    } else {
      compute_.add(when);
      communication_hidden_.add(0, when);
    }
  }
  void add_copy(memory_copy const& copy) {
    auto const direction = direction_of(copy.kind);
    auto const at = static_cast<std::size_t>(direction);
    ++use_.by_direction[at].count;
    use_.by_direction[at].bytes += copy.bytes;
    busy_by_direction_[at].add(copy.when);
    hidden_by_direction_[at].add(1, copy.when);
    if (direction != copy_direction::migration) {
      copies_.add(copy.when);
      hidden_.add(1, copy.when);
    }
    if (direction == copy_direction::to_device) { duplex_.add(0, copy.when); }
    if (direction == copy_direction::to_host) { duplex_.add(1, copy.when); }
    if (direction == copy_direction::peer) { add_communication(copy.when); }
  }

  device_overlap overlap(std::int32_t device) const {
    auto use = use_;
    use.device = device;
    use.kernels_at_once = time_at_depth(kernels_);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < use.kernels_at_once.size(); ++k) {
      sum += static_cast<std::int64_t>(k) * use.kernels_at_once[k];
    }
    use.kernels_ns = busy_.length();
    if (use.kernels_ns > 0) {
      use.mean_kernels_at_once = static_cast<double>(sum) / static_cast<double>(use.kernels_ns);
    }
    use.compute_ns = compute_.length();
    use.communication_ns = communication_.length();
    use.communication_hidden_ns = communication_hidden_.length();
    for (std::size_t i = 0; i < copy_directions; ++i) {
      use.by_direction[i].busy_ns = busy_by_direction_[i].length();
      use.by_direction[i].hidden_ns = hidden_by_direction_[i].length();
    }
    use.copies_ns = copies_.length();
    use.copies_hidden_ns = hidden_.length();
    use.duplex_ns = duplex_.length();
    return use;
  }

 private:
  void add_communication(span when) noexcept {
    communication_.add(when);
    communication_hidden_.add(1, when);
  }

  device_overlap use_;
  std::vector<span> kernels_;
  covered_time busy_, compute_, communication_, copies_;
  std::array<covered_time, copy_directions> busy_by_direction_;
  shared_time hidden_, duplex_, communication_hidden_;
  std::array<shared_time, copy_directions> hidden_by_direction_;
};

/// The overlap on each device, an index of a view.
struct overlap_of_devices {
  std::vector<device_overlap> all;
  explicit overlap_of_devices(view const& rows);
};

inline overlap_of_devices::overlap_of_devices(view const& rows) {
  auto const& of = rows.of();
  glob const communication{communication_kernels};
  std::map<std::int32_t, device_operations> devices;
  auto is_communication = once_per_name(
      of.strings.size(), [&](string_id name) { return communication.matches(of.strings[name]); });
  for (auto const& each : rows.operations()) {
    if (each.kind == operation_kind::memset) { continue; }
    auto const device = place_of(of, each).device;
    auto& on = devices.try_emplace(device, of.kernels.size()).first->second;
    if (each.kind == operation_kind::copy) {
      on.add_copy(of.copies[each.row]);
    } else {
      on.add_kernel(each.when, each.kind == operation_kind::kernel &&
                                   is_communication(of.kernels[each.row].name));
    }
  }
  for (auto const& [device, on] : devices) { all.push_back(on.overlap(device)); }
}

}  // namespace detail

/// The overlap on each device that ran a kernel or a copy, by the device's number. O(n log n).
inline std::vector<device_overlap> overlap(view const& rows) {
  return rows.index<detail::overlap_of_devices>().all;
}

}  // namespace assay::trace
