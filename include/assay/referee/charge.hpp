// SPDX-License-Identifier: Apache-2.0
/// @file
/// `charge`: what the referee holds against a candidate. `referee_result`: its verdict.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// One thing that the referee holds against a candidate.
struct charge {
  enum class kind {
    escaped_work,         ///< work goes on after the call, or outside its stream
    kept_results,         ///< of an earlier call
    unwritten_output,     ///< poison is left in an output
    out_of_bounds,        ///< a write before or behind an array
    wrong_size,           ///< wrong at another size than the first
    wrong_values,         ///< right only for usual values
    modified_input,       ///< an input has other bytes after a call
    low_precision,        ///< beyond the bound, within 16384 times the bound
    lazy_work,            ///< done by the next call
    growing_memory,       ///< from call to call, and threads and open files
    changed_environment,  ///< of its process, and clocks
    kept_buffer,          ///< a call writes to the buffers of an earlier call
    left_behind,          ///< memory or threads after the candidate was unloaded
    impossible_rate,      ///< above the ceiling of its place
    wrong_answer,         ///< none of the above
    failure,              ///< a crash, a time limit, an error code, a library that cannot be loaded
  };
  kind what = kind::failure;
  std::string text;

  bool operator==(charge const&) const = default;
};

inline constexpr std::array<std::string_view, 16> charge_names{
    "escaped work", "kept results",    "unwritten output",    "out of bounds",
    "wrong size",   "wrong values",    "modified input",      "low precision",
    "lazy work",    "growing memory",  "changed environment", "kept buffer",
    "left behind",  "impossible rate", "wrong answer",        "failure"};

constexpr std::string_view to_string(charge::kind which) noexcept {
  return charge_names[static_cast<std::size_t>(which)];
}

/// Throws `std::invalid_argument` for a name of no kind.
inline charge::kind charge_kind(std::string_view name) {
  auto const* const found = std::find(charge_names.begin(), charge_names.end(), name);
  if (found == charge_names.end()) {
    throw std::invalid_argument(concat({"'", name, "' is no kind of charge"}));
  }
  return static_cast<charge::kind>(found - charge_names.begin());
}

namespace referee_detail {

/// The steps of an examination, in their order.
inline constexpr std::array<std::string_view, 6> examination_steps{"first", "answer",  "again",
                                                                   "sizes", "repeats", "growth"};

}  // namespace referee_detail

/// For how long the referee waited for its processes.
struct waiting {
  std::string request;  ///< what it waited for
  int times = 0;
  double seconds = 0;
};

/// The verdict on one candidate. A candidate with charges is not timed, or its times do not count.
struct referee_result {
  std::string candidate;
  std::vector<charge> charges;
  std::optional<comparison> timed;  ///< "candidate" against "reference"
  double seconds = 0;               ///< that the verdict took
  std::vector<waiting> waits;       ///< of these, the longest first

  bool is_accused() const noexcept { return !charges.empty(); }
};

}  // namespace assay
