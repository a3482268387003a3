// SPDX-License-Identifier: Apache-2.0
/// @file
/// `machine_terms`: the costs of a machine that no task changes: forks, links and waits.
#pragma once

#include <assay/core/memory_type.hpp>
#include <assay/dispatch/estimate.hpp>
#include <assay/dispatch/facts.hpp>
#include <assay/dispatch/path.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace assay::dispatch {

/// The direction of a copy over the link.
enum class to { device, host };

/// Copies of one direction and one type of host memory, by one transfer policy.
struct link {
  std::string transfer;  ///< as in `path`
  to end = to::device;
  memory_type memory = memory_type::pageable;
  double latency_seconds = 0;
  double bytes_per_second = 0;
  double spread = 0;  ///< half of the interval of a copy's time, as a share
  bool operator==(link const&) const = default;

  double seconds(double bytes) const noexcept { return latency_seconds + bytes / bytes_per_second; }
};

/// The time that `host::parallel_for` takes to begin and end a loop on several threads.
struct fork {
  int threads = 1;
  estimate cost;
  bool operator==(fork const&) const = default;
};

/// Measured once for a machine: with them one calibration of a task predicts every type of memory
/// and every place of its arrays.
struct machine_terms {
  std::vector<fork> forks;
  std::vector<link> links;
  estimate sync;  ///< the wait for a device, from the end of its work to the host's next line
  bool operator==(machine_terms const&) const = default;
};

/// The copies that a call needs before and after it on one path.
struct copies {
  struct time {
    double seconds = 0;
    double half = 0;  ///< half of the interval; errors of one link do not average out

    operator estimate() const noexcept { return {seconds, seconds - half, seconds + half}; }
  };
  time before;
  time after;
};

/// The copies of a call: each array whose newest copy is elsewhere and that is read goes in. An
/// array in host memory that a device writes goes back. Without a link for them the path is
/// impossible, as is a host path over device memory.
inline copies copies_of(machine_terms const& machine, path const& on, facts const& known) noexcept {
  constexpr double never = std::numeric_limits<double>::infinity();
  copies total;
  auto const* const device = on.device();
  auto const add = [&](copies::time& sum, array_fact const& each, to end) {
    for (auto const& way : machine.links) {
      if (way.end != end || way.memory != each.memory || way.transfer != on.transfer) { continue; }
      double const seconds = way.seconds(each.bytes);
      sum.seconds += seconds;
      sum.half += seconds * way.spread;
      return;
    }
    sum.seconds = never;
  };
  for (std::size_t i = 0; i < known.count; ++i) {
    auto const& each = known.arrays[i];
    bool const is_elsewhere = each.newest != (device ? device->id : array_fact::on_host);
    if (!device && each.memory == memory_type::device) {
      total.before.seconds = never;
    } else if (each.is_read() && is_elsewhere) {
      add(total.before, each, device ? to::device : to::host);
    }
    if (device && each.is_written() && each.memory != memory_type::device) {
      add(total.after, each, to::host);
    }
  }
  return total;
}

}  // namespace assay::dispatch
