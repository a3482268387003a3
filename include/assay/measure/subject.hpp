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

/// What one cell measured: mean seconds per launch on each clock, NaN where the subject has no such
/// clock; and the mean SM clock during the cell in Hz, NaN where it cannot be known.
struct cell {
  std::array<double, 3> seconds{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN()};
  double sm_hertz = std::numeric_limits<double>::quiet_NaN();

  double& operator[](clock which) { return seconds[static_cast<std::size_t>(which)]; }
  double operator[](clock which) const { return seconds[static_cast<std::size_t>(which)]; }
};

/// One variant made real for one epoch, with two arenas: two sets of all that it reads and writes.
///
/// Which arena is used must not change what is computed. All calls come from one thread.
class subject {
 public:
  virtual ~subject() = default;

  /// Runs `launches` launches in `arena` (0 or 1) untimed: the wash-out before a cell.
  virtual void warm(int arena, int launches) = 0;

  /// Runs and times `launches` launches in `arena`; blocks until they are done.
  virtual cell time(int arena, int launches) = 0;

  /// Runs once in `arena` over poisoned outputs and says what is wrong, or nothing.
  virtual std::optional<std::string> verify(int arena) = 0;
};

/// What an epoch hands to those who build its subjects: all that a label could own is made anew,
/// and what is random about it follows from `seed`, which is the same for every variant.
struct epoch {
  int number = 0;
  std::uint64_t seed = 0;
};

/// One variant of an experiment, and how to make it real.
struct variant {
  std::string label;                                      ///< unique within the experiment
  std::vector<std::pair<std::string, std::string>> axes;  ///< axis name, choice
  std::function<std::unique_ptr<subject>(epoch const&)> build;
  double bytes = 0;  ///< bytes that one launch must move, 0 where not declared
  double flops = 0;  ///< FLOPs that one launch must do, 0 where not declared
};

}  // namespace assay::measure
