// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bench`: the calls that a calibration times.
#pragma once

#include <assay/core/memory_type.hpp>
#include <assay/dispatch/facts.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace assay::dispatch {

/// Calls on several paths that can be timed.
class timed_paths {
 public:
  virtual ~timed_paths() = default;
  /// Seconds of a group of calls.
  virtual double seconds(std::size_t path, int calls) = 0;
  /// A group is to take so long or longer.
  virtual double group_seconds() const = 0;
  /// A clock for budgets.
  virtual double now() const = 0;
};

/// Calls of one task, at one size after another.
class bench : public timed_paths {
 public:
  /// Prepares calls of a size, and returns a number for `open_again`.
  virtual std::size_t open(std::size_t size) = 0;
  /// Goes back to the calls of an earlier size.
  virtual void open_again(std::size_t number) = 0;
  /// Runs one call of the open size, and returns the error of its result.
  virtual std::optional<std::string> wrong(std::size_t path) = 0;
  /// The types of host memory from which a device copies, perhaps none.
  virtual std::vector<memory_type> host_memories() const = 0;
  /// The memory of the arrays of further sizes. With `device`, each path has them in memory of its
  /// own.
  virtual void lie_in(memory_type memory) = 0;
  /// Further calls of the open size have these arrays in the memory of each path itself.
  virtual void make_resident(resident_arrays which) = 0;
  /// The facts of the calls of the open size.
  virtual facts const& known() const = 0;
};

}  // namespace assay::dispatch
