// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sweep_offload`: the thresholds that GPU-BLOB reads from a sweep over all sizes, and the same
/// rule on predicted times.
#pragma once

#include <assay/dispatch/costs.hpp>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace assay::examples {

/// The smallest size from which a device is worth it, by the rule of GPU-BLOB (UoB-HPC, SC24-W):
/// sizes come in rising order, and a size counts where the device has the higher rate. It is
/// forgotten where the host has a rate at least as high as the device's there, and as the device's
/// one size before. So a dip of a single size is forgiven.
class offload_threshold {
 public:
  void add(std::size_t size, double flops, double host_seconds, double device_seconds) {
    double const host = flops / host_seconds;
    double const device = flops / device_seconds;
    if (found_ == 0 && device > host) {
      found_ = size;
    } else if (found_ != 0 && host >= device && host >= device_before_) {
      found_ = 0;
    }
    device_before_ = device;
  }
  /// 0: the device is not worth it at the largest sizes.
  std::size_t size() const noexcept { return found_; }

 private:
  std::size_t found_ = 0;
  double device_before_ = 0;
};

/// The thresholds of each pair of a host path and a device path: swept, and predicted for the same
/// sizes.
struct offload_row {
  std::size_t host = 0, device = 0;  ///< the numbers of the paths
  std::size_t swept = 0;             ///< 0: none
  std::size_t predicted = 0;
};

/// A sweep as GPU-BLOB makes it.
struct offload_sweep {
  std::vector<offload_row> rows{};
  std::size_t last = 0;  ///< sizes 1, 2, 3 up to this one were swept
  double seconds = 0;    ///< of the timed calls alone, without the making of arrays
  std::vector<std::vector<double>> times{};  ///< seconds of a call by size, from 1, and by path
};

/// Times `calls` calls in one block at each size up to `last`, on each path, as GPU-BLOB does by
/// default. `at(size)` are the facts of the calls that are predicted. Host paths have their times
/// of the sweep `before`, if there is one: those do not depend on the copies.
template <class Bench>
offload_sweep sweep_offload(Bench& bench, dispatch::costs const& of,
                            std::function<dispatch::facts(std::size_t)> const& at, std::size_t last,
                            offload_sweep const* before = nullptr, int calls = 10) {
  offload_sweep made{.last = last};
  std::vector<std::size_t> right;
  for (std::size_t p = 0; p < of.paths().size(); ++p) {
    if (of.paths()[p].wrong.empty()) { right.push_back(p); }
  }
  for (auto const host : right) {
    for (auto const device : right) {
      if (of.paths()[host].where.host() == nullptr || of.paths()[device].where.host() != nullptr) {
        continue;
      }
      made.rows.push_back({host, device});
    }
  }
  if (made.rows.empty()) { return made; }
  std::vector<offload_threshold> swept(made.rows.size()), predicted(made.rows.size());
  for (std::size_t size = 1; size <= last; ++size) {
    bench.close();
    bench.open(size);
    auto& seconds = made.times.emplace_back(of.paths().size());
    for (auto const p : right) {
      if (before != nullptr && of.paths()[p].where.host() != nullptr) {
        seconds[p] = before->times.at(size - 1)[p];
        continue;
      }
      if (size == 1) { (void)bench.seconds(p, 1); }  // loads what a first call needs
      seconds[p] = bench.seconds(p, calls) / calls;
      made.seconds += calls * seconds[p];
    }
    auto const flops = bench.known().amount.flops;
    auto const known = at(size);
    for (std::size_t i = 0; i < made.rows.size(); ++i) {
      auto const [host, device] = std::pair{made.rows[i].host, made.rows[i].device};
      swept[i].add(size, flops, seconds[host], seconds[device]);
      predicted[i].add(size, flops, of.seconds(host, known), of.seconds(device, known));
    }
  }
  for (std::size_t i = 0; i < made.rows.size(); ++i) {
    made.rows[i].swept = swept[i].size();
    made.rows[i].predicted = predicted[i].size();
  }
  return made;
}

}  // namespace assay::examples
