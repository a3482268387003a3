// SPDX-License-Identifier: Apache-2.0
/// @file
/// What can be measured: anything that runs, and that can be verified.
#pragma once

#include <assay/measure/clock.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// One timed cell: mean seconds per launch on each clock, and the mean SM clock in Hz. NaN stands
/// for a clock that the subject does not have, and for an SM clock that is not known.
struct cell {
  std::array<double, 3> seconds{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN()};
  double sm_hertz = std::numeric_limits<double>::quiet_NaN();
  /// Why this cell cannot be trusted, as its epoch is dropped and repeated then; else empty.
  std::string disturbance{};

  double& operator[](clock which) { return seconds[static_cast<std::size_t>(which)]; }
  double operator[](clock which) const { return seconds[static_cast<std::size_t>(which)]; }
};

/// One variant made real for one epoch, with two buffer sets: two sets of all that it reads and
/// writes.
///
/// The buffer set must not change what is computed. All calls come from one thread.
class subject {
 public:
  virtual ~subject() = default;

  /// Runs `launches` launches in buffer set 0 or 1 untimed: the wash-out before a cell.
  virtual void warm(int buffer_set, int launches) = 0;

  /// Runs and times `launches` launches in a buffer set; blocks until they are done.
  virtual cell time(int buffer_set, int launches) = 0;

  /// Runs once in a buffer set over poisoned outputs and says what is wrong, or nothing.
  virtual std::optional<std::string> verify(int buffer_set) = 0;

  /// Bytes that one launch must move, and FLOPs that it must do; 0 where not declared.
  virtual double bytes() const { return 0; }
  virtual double flops() const { return 0; }

  /// What even a short report must say of the way in which this subject is measured.
  virtual std::vector<std::string> caveats() const { return {}; }
};

/// One epoch, as the builders of its subjects see it. Everything that a variant owns is made anew
/// in each epoch. All that is random in a subject follows from `seed`, the same for every variant.
struct epoch {
  int number = 0;
  std::uint64_t seed = 0;
  int instance = 0;  ///< 1 for the control's second instance, which shares nothing with the first
};

/// One variant of an experiment, and how to make it real.
struct variant {
  std::string label;                                      ///< unique within the experiment
  std::vector<std::pair<std::string, std::string>> axes;  ///< axis name, choice
  std::function<std::unique_ptr<subject>(epoch const&)> build;
  double bytes = 0;          ///< bytes that one launch must move; 0: the subject says
  double flops = 0;          ///< FLOPs that one launch must do; 0: the subject says
  bool renews_code = false;  ///< each build loads its code anew, so that its addresses are redrawn
};

}  // namespace assay::measure
