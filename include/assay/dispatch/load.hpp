// SPDX-License-Identifier: Apache-2.0
/// @file
/// The load policies: `choose::by_model` on a machine that has other work too.
///
/// A call of T seconds takes `wait + factor T` on a device that others use too. The device goes
/// from one to the other in slices of time: a short call waits for a slice of the others, and a
/// long one gets its share. A watcher finds both numbers by short probes.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/nvml.hpp>
#include <assay/core/policy.hpp>
#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/own_work.hpp>
#include <assay/host/periodic_thread.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::dispatch {

/// The load of a device: a watcher writes it and decisions read it, without locks.
class load_board {
 public:
  own_work own;

  /// The load of a call on this stream now.
  load_now read(std::size_t stream) const noexcept {
    auto const left = own.left(stream);
    return {left.stream, left.device, wait_.load(std::memory_order_relaxed),
            factor_.load(std::memory_order_relaxed)};
  }
  void set(double wait, double factor) noexcept {
    wait_.store(wait, std::memory_order_relaxed);
    factor_.store(factor, std::memory_order_relaxed);
  }

 private:
  std::atomic<double> wait_ = 0;
  std::atomic<double> factor_ = 1;
};

/// True unless this process is alone on the device. In containers that hide the processes, a busy
/// device counts as one with others: a probe tells.
inline bool others_use(device_use const& of) {
  auto const processes = of.processes.value_or(0);
  return processes > 1 || (processes == 0 && of.busy.value_or(1) > 0);
}

/// The questions of a watcher to a device; tests have functions of their own.
struct load_sources {
  std::function<bool()> others_on_device;
  /// Seconds of two short kernels, one after the other.
  std::function<std::pair<double, double>()> two_kernels;
};

/// Asks the sources, and writes the answers on the board.
class load_watcher {
 public:
  load_watcher(load_board& to, load_sources from) : to_(to), from_(std::move(from)) {}

  /// Asks once. After a failed source the board is clear, and false is returned: predictions are
  /// then as without load.
  bool poll() noexcept {
    try {
      watch();
      return true;
    } catch (...) {
      to_.set(0, 1);
      return false;
    }
  }

 private:
  void watch() {
    if (!from_.others_on_device()) {
      wait_ = share_ = 0;
      probes_ = 0;
    } else if (to_.own.left(0).device > 0) {
      return;  // a probe would wait for own work
    } else {
      // The second kernel comes when the others have just begun a slice, and waits for all of it.
      // Calls come at any moment of a slice, as the first one did.
      auto const [first, second] = from_.two_kernels();
      shortest_ = std::min({shortest_, first, second});
      take(wait_, 0.5 * (first - shortest_ + 0.5 * (second - shortest_)));
      take(share_, second > 2 * most_alone ? 1 : 0);
      ++probes_;
    }
    // Two processes that never pause get one slice after the other, and a long call doubles.
    to_.set(wait_, 1 + share_);
  }
  /// The mean of the first four values; then each new one has a quarter of the weight. One probe is
  /// one sample of a wait between nothing and a slice.
  void take(double& mean, double now) const noexcept {
    mean += std::max(1.0 / (probes_ + 1), 0.25) * (now - mean);
  }

  load_board& to_;
  load_sources from_;
  static constexpr double most_alone = 50e-6;  // of a short kernel on a free device
  double shortest_ = most_alone;
  double wait_ = 0;
  double share_ = 0;  // of the probes that others delayed
  int probes_ = 0;    // since others came
};

/// `choose::by_model` that heeds the loads of a board. An engine tells it of its own work.
class loaded_choice {
 public:
  explicit loaded_choice(costs const& of) : of_(&of), board_(std::make_unique<load_board>()) {}

  std::size_t operator()(facts const& known) const noexcept {
    return of_->best(known, board_->read(0));
  }
  load_board& board() const noexcept { return *board_; }

 private:
  costs const* of_;
  std::unique_ptr<load_board> board_;
};

/// The same, with a thread that watches a device.
class watched_choice : public loaded_choice {
 public:
  watched_choice(costs const& of, double period_seconds, load_sources from)
      : loaded_choice(of),
        watcher_(std::make_unique<load_watcher>(board(), std::move(from))),
        thread_(std::make_unique<host::periodic_thread>(
            period_seconds, [watcher = watcher_.get()] { return watcher->poll(); })) {}

 private:
  std::unique_ptr<load_watcher> watcher_;
  std::unique_ptr<host::periodic_thread> thread_;  // ends before the members that it uses
};

}  // namespace assay::dispatch

/// Choosers by `choose::by_model` that differ in the load that they heed.
namespace assay::load {

/// Predictions as on an idle machine.
struct ignored {
  static constexpr std::string_view name = "load::ignored";
  bool operator==(ignored const&) const = default;
  auto bound(dispatch::costs const& of) const { return dispatch::choose::by_model{}.bound(of); }
};
static_assert(dispatch::chooser<ignored>);

/// A call on a device waits for the engine's own work there, until its predicted end. A call on the
/// host waits for own work on its stream.
struct own_queue {
  static constexpr std::string_view name = "load::own_queue";
  bool operator==(own_queue const&) const = default;
  auto bound(dispatch::costs const& of) const { return dispatch::loaded_choice{of}; }
};
static_assert(dispatch::chooser<own_queue>);

/// As `own_queue`, and a thread watches for other processes on the device of an engine, by
/// <assay/dispatch/device_load.cuh>. Without a device it is `own_queue`.
struct watched {
  double period_seconds = 0.2;
  static constexpr std::string_view name = "load::watched";
  std::string describe() const {
    return parameter_list{}.show("period_seconds", period_seconds, 0.2).after(name);
  }
  bool operator==(watched const&) const = default;

  /// Throws `std::invalid_argument` for a period below 1 ms.
  void require() const {
    if (period_seconds >= 1e-3 && std::isfinite(period_seconds)) { return; }
    throw std::invalid_argument(
        concat({"load::watched: a period of ", std::to_string(period_seconds),
                " s: it is 0.001 s at least, and 0.2 s as a rule"}));
  }
  auto bound(dispatch::costs const& of) const {
    require();
    return dispatch::loaded_choice{of};
  }
};
static_assert(dispatch::chooser<watched>);

}  // namespace assay::load
