// SPDX-License-Identifier: Apache-2.0
/// @file
/// `subject`: anything that can be run, timed and verified, by three clocks. `variant`: how to
/// build one.
#pragma once

#include <assay/measure/comparison.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// One timed cell: mean seconds per launch on each clock, and the mean SM clock in Hz. NaN means
/// that the subject does not have this clock, or that the SM clock is unknown.
struct cell {
  std::array<double, 3> seconds{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN()};
  double sm_hertz = std::numeric_limits<double>::quiet_NaN();
  /// A reason to drop and repeat the epoch of this cell; else empty.
  std::string disturbance{};
  /// Seconds of each launch on the deciding clock, where launches are timed one by one; else empty.
  std::vector<double> launches{};

  double& operator[](clock which) { return seconds[static_cast<std::size_t>(which)]; }
  double operator[](clock which) const { return seconds[static_cast<std::size_t>(which)]; }
};

/// A cell of no launches, to add parts to.
inline cell no_cell() {
  cell none;
  none.seconds = {};
  return none;
}

/// Adds a part of a cell, whose seconds count with a weight. The SM clock is that of the last part.
inline void add_part(cell& to, cell const& part, double weight) {
  for (std::size_t k = 0; k < to.seconds.size(); ++k) { to.seconds[k] += weight * part.seconds[k]; }
  to.sm_hertz = part.sm_hertz;
  to.launches.insert(to.launches.end(), part.launches.begin(), part.launches.end());
  if (to.disturbance.empty()) { to.disturbance = part.disturbance; }
}

/// One variant, built for one epoch, with two buffer sets: two sets of all that it reads and
/// writes.
///
/// Both buffer sets lead to the same result. All calls come from one thread.
class subject {
 public:
  virtual ~subject() = default;

  /// Blocks until the subject can be used. A build function may return before that, so that several
  /// programs start at once.
  virtual void finish_building() {}

  /// Asks the subject to end, without a wait, so that several programs end at once. The destructor
  /// is the only call after it.
  virtual void begin_to_end() noexcept {}

  /// Runs `launches` launches in buffer set 0 or 1 untimed, before a cell of timed ones.
  virtual void warm(int buffer_set, int launches) = 0;

  /// Runs and times `launches` launches in a buffer set; blocks until they are done.
  virtual cell time(int buffer_set, int launches) = 0;

  /// Runs once in a buffer set over poisoned outputs. Returns the error in the output, or nothing.
  virtual std::optional<std::string> verify(int buffer_set) = 0;

  /// Bytes that one launch must move, and FLOPs that it must do; 0 where not declared.
  virtual double bytes() const { return 0; }
  virtual double flops() const { return 0; }

  /// The results that `verify` compares with what is right.
  virtual checks checked() const { return checks::none; }

  /// Times a cell of calls of the same kind that do nothing, in the same way; nothing where a
  /// launch is more than a call.
  virtual std::optional<cell> time_empty(int /*launches*/) { return {}; }

  /// Facts about the way of measuring that even a short report must have.
  virtual std::vector<std::string> caveats() const { return {}; }

  /// \name Over ranks
  /// All ranks launch equally often, since a launch may wait for those of other ranks.
  /// @{

  /// The launches by which this subject would find out more about its work after a call of `time`
  /// or `verify`; 0 if it knows enough. Where one rank asks, all ranks `look`.
  virtual int doubts() const { return 0; }
  /// Runs so many launches, and throws an error of the work that it finds.
  virtual void look(int /*buffer_set*/, int /*launches*/) {}
  /// The most launches that begin together. A longer cell is timed in parts, before each of which
  /// the ranks wait for each other.
  virtual int at_once() const { return std::numeric_limits<int>::max(); }
  /// The GPU that the work runs on, as `gpu_uuid` names it; empty on the host.
  virtual std::string gpu() const { return {}; }
  /// Says that another rank has the same GPU.
  virtual void share_gpu() {}
  /// @}
};

/// One epoch, for the builders of its subjects. Everything that a variant owns is made anew in each
/// epoch. All random choices of a subject follow from `seed`, which all variants share.
struct epoch {
  int number = 0;
  std::uint64_t seed = 0;
  int instance = 0;  ///< 1 for the control's second instance, which shares nothing with the first
  /// The clock that decides the verdict, which subjects must time; if not given: their own.
  std::optional<clock> decides{};
  /// Over ranks: a subject calls it once in each timed cell, before its first launch. Blocks until
  /// all ranks have come. Empty for a process alone.
  std::function<void()> arrive{};
  /// Over ranks: a subject waits for its launches for at most this, since a launch may wait for a
  /// rank that has failed.
  std::chrono::duration<double> patience{std::numeric_limits<double>::infinity()};
};

/// One variant of an experiment, with the function that builds its subject.
struct variant {
  std::string label;                                      ///< unique within the experiment
  std::vector<std::pair<std::string, std::string>> axes;  ///< axis name, choice
  std::function<std::unique_ptr<subject>(epoch const&)> build;
  double bytes = 0;          ///< bytes that one launch must move; 0: the subject says
  double flops = 0;          ///< FLOPs that one launch must do; 0: the subject says
  bool renews_code = false;  ///< each build loads the code anew, at other addresses
  /// The share of its time that the placement of buffers may be worth which it keeps in all epochs;
  /// 0 where each build has new ones, or where all variants keep the same ones.
  double placement = 0;
  double short_placement = 0;  ///< the same of launches below `short_launch_seconds`, if it is more
};

/// Launches below this may work on the nearest caches alone, where placement is worth most.
inline constexpr double short_launch_seconds = 50e-6;

}  // namespace assay::measure
