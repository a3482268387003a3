// SPDX-License-Identifier: Apache-2.0
/// @file
/// The load policies: `choose::by_model` on a machine that has other work too.
///
/// A call of T seconds takes `wait + factor T` on a place that others use too. The place goes from
/// one to the other in slices of time: a short call waits for a slice of the others, and a long one
/// gets its share. A watcher finds both numbers by short probes.
#pragma once

#include <assay/core/nvml.hpp>
#include <assay/core/policy.hpp>
#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/host_load.hpp>
#include <assay/dispatch/own_work.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/host/periodic_thread.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// The load of each path: a watcher writes it and decisions read it, without locks.
class load_board {
 public:
  own_work own;

  /// Throws `std::invalid_argument` for more paths than `path_loads` has.
  explicit load_board(costs const& of) : count_(of.paths().size()) {
    if (count_ > paths_.size()) {
      throw std::invalid_argument(of.task() + " has " + std::to_string(count_) +
                                  " paths: load is known of " + std::to_string(paths_.size()) +
                                  " at most, leave some out");
    }
    for (std::size_t i = 0; i < count_; ++i) {
      paths_[i].on_device = of.paths()[i].where.device() != nullptr;
    }
  }

  /// The load of a call on this stream now.
  void read(path_loads& into, std::size_t stream) const noexcept {
    auto const left = own.left(stream);
    for (std::size_t i = 0; i < count_; ++i) {
      into[i] = {.queue = paths_[i].on_device ? left.device : left.stream,
                 .wait = paths_[i].wait.load(std::memory_order_relaxed),
                 .factor = paths_[i].factor.load(std::memory_order_relaxed)};
    }
  }
  double wait(std::size_t path) const noexcept {
    return paths_[path].wait.load(std::memory_order_relaxed);
  }
  void set(std::size_t path, double wait, double factor) noexcept {
    paths_[path].wait.store(wait, std::memory_order_relaxed);
    paths_[path].factor.store(factor, std::memory_order_relaxed);
  }
  void clear() noexcept {
    for (std::size_t i = 0; i < count_; ++i) { set(i, 0, 1); }
  }

 private:
  struct entry {
    std::atomic<double> wait = 0;
    std::atomic<double> factor = 1;
    bool on_device = false;
  };
  std::size_t count_;
  std::array<entry, std::tuple_size_v<path_loads>> paths_{};
};

/// True unless this process is alone on the device. In containers that hide the processes, a busy
/// device counts as one with others: a probe tells.
inline bool others_use(device_use const& of) {
  auto const processes = of.processes.value_or(0);
  return processes > 1 || (processes == 0 && of.busy.value_or(1) > 0);
}

/// The questions of a watcher to a machine; tests have functions of their own.
struct load_sources {
  std::function<core_use()> cores;           ///< the use since the call before
  std::function<double(int threads)> fork;   ///< seconds that an empty loop takes now
  std::function<bool()> others_on_device{};  ///< none without a device
  /// Seconds of two short kernels, one after the other.
  std::function<std::pair<double, double>()> two_kernels{};
};

/// Asks the sources, and writes the answers on the board.
class load_watcher {
 public:
  load_watcher(costs const& of, load_board& to, load_sources from)
      : to_(to), from_(std::move(from)) {
    for (auto const& each : of.paths()) {
      auto& known = paths_.emplace_back();
      if (each.where.host() == nullptr) { continue; }
      known.threads = each.where.host()->threads;
      for (auto const& fork : of.measured().machine.forks) {
        if (fork.threads == known.threads) { known.fork_seconds = fork.cost.seconds; }
      }
    }
  }

  /// Asks once. After a failed source the board is clear, and false is returned: predictions are
  /// then as without load.
  bool poll() noexcept {
    try {
      // Most of a poll goes into the counters of cores and the driver's answer. So they take turns
      // while nobody is there.
      device_next_ = from_.others_on_device && !device_next_;
      if (foreign_ > 0 || !device_next_) { watch_cores(); }
      if (device_next_ || others_) { watch_device(); }
      return true;
    } catch (...) {
      to_.clear();
      return false;
    }
  }

 private:
  struct watched_path {
    int threads = 0;  // 0 on a device
    double fork_seconds = 0;
    int probes = 0;  // since others came
  };

  /// The mean of the first four values; then each new one has a quarter of the weight. One probe is
  /// one sample of a wait between nothing and a slice.
  static double smoothed(double before, double now, int probes) noexcept {
    return before + std::max(1.0 / (probes + 1), 0.25) * (now - before);
  }

  void watch_cores() {
    // The system itself keeps some tenths of a core busy.
    constexpr double somebody = 0.5;
    auto const use = from_.cores();
    foreign_ = use.foreign < somebody ? 0 : use.foreign;
    auto const* const probed = foreign_ > 0 ? next_to_probe() : nullptr;
    double const late =
        probed ? std::max(0.0, from_.fork(probed->threads) - probed->fork_seconds) : 0;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      auto& each = paths_[i];
      if (each.threads == 0) { continue; }
      double const factor =
          std::max({1.0, (each.threads + foreign_) / use.cores, each.threads / use.quota});
      double wait = 0;
      if (probed != nullptr && each.threads > 1) {
        bool const mine = &each == probed || each.probes == 0;
        wait = mine ? smoothed(to_.wait(i), late, each.probes) : to_.wait(i);
      }
      each.probes = probed == nullptr ? 0 : each.probes + (&each == probed ? 1 : 0);
      to_.set(i, wait, factor);
    }
  }
  /// The path of several threads with the fewest probes, and of those the one with most threads.
  /// One at a time: a probe wakes all its threads.
  watched_path const* next_to_probe() const noexcept {
    watched_path const* next = nullptr;
    for (auto const& each : paths_) {
      if (each.threads < 2) { continue; }
      bool const fewer = next == nullptr || each.probes < next->probes ||
                         (each.probes == next->probes && each.threads > next->threads);
      if (fewer) { next = &each; }
    }
    return next;
  }

  void watch_device() {
    others_ = from_.others_on_device();
    if (others_ && to_.own.left(0).device > 0) { return; }  // a probe would wait for own work
    if (others_) {
      // The second kernel comes when the others have just begun a slice, and waits for all of it.
      // Calls come at any moment of a slice, as the first one did.
      auto const [first, second] = from_.two_kernels();
      shortest_ = std::min({shortest_, first, second});
      double const late = 0.5 * (first - shortest_ + 0.5 * (second - shortest_));
      device_.wait = smoothed(device_.wait, late, device_.probes);
      device_.share = smoothed(device_.share, second > 2 * most_alone ? 1 : 0, device_.probes);
      ++device_.probes;
    } else {
      device_ = {};
    }
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].threads != 0) { continue; }
      // Two processes that never pause get one slice after the other, and a long call doubles.
      to_.set(i, device_.wait, 1 + device_.share);
    }
  }

  load_board& to_;
  load_sources from_;
  std::vector<watched_path> paths_;
  static constexpr double most_alone = 50e-6;  // of a short kernel on a free device
  double shortest_ = most_alone;
  bool device_next_ = false;  // the first poll asks: counters of cores say nothing yet
  bool others_ = false;       // on the device, at the last answer
  double foreign_ = 0;        // cores that others kept busy, at the last look
  struct {
    double wait = 0;
    double share = 0;  // of the probes that others delayed
    int probes = 0;    // since others came
  } device_;
};

/// `choose::by_model` that heeds the loads of a board. An engine tells it of its own work.
class loaded_choice {
 public:
  explicit loaded_choice(costs const& of) : of_(&of), board_(std::make_unique<load_board>(of)) {}

  std::size_t operator()(facts const& known) const noexcept {
    path_loads now;
    board_->read(now, 0);
    return of_->best(known, now);
  }
  load_board& board() const noexcept { return *board_; }

 private:
  costs const* of_;
  std::unique_ptr<load_board> board_;
};

/// The same, with a thread that watches the machine.
class watched_choice : public loaded_choice {
 public:
  watched_choice(costs const& of, double period_seconds, load_sources from)
      : loaded_choice(of),
        watcher_(std::make_unique<load_watcher>(of, board(), std::move(from))),
        thread_(std::make_unique<host::periodic_thread>(
            period_seconds, [watcher = watcher_.get()] { return watcher->poll(); })) {}

 private:
  std::unique_ptr<load_watcher> watcher_;
  std::unique_ptr<host::periodic_thread> thread_;  // ends before the members that it uses
};

/// The sources of this host.
inline load_sources host_sources() {
  return {
      .cores = [watch = std::make_shared<core_watch>()] { return watch->since_last(); },
      .fork =
          [](int threads) {
            auto const begin = std::chrono::steady_clock::now();
            host::parallel_for(threads, threads, 1, [](std::int64_t, std::int64_t) {});
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          }};
}

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

/// As `own_queue`, and a thread watches for other processes. The host is watched always. The
/// device of an engine is watched by <assay/dispatch/device_load.cuh>.
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
    throw std::invalid_argument("load::watched: a period of " + std::to_string(period_seconds) +
                                " s: it is 0.001 s at least, and 0.2 s as a rule");
  }
  auto bound(dispatch::costs const& of) const {
    require();
    return dispatch::watched_choice{of, period_seconds, dispatch::host_sources()};
  }
};
static_assert(dispatch::chooser<watched>);

}  // namespace assay::load
