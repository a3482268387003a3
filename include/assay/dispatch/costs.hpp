// SPDX-License-Identifier: Apache-2.0
/// @file
/// `costs`: what a task costs on each path of a machine, and the choice between paths.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/dispatch/curve.hpp>
#include <assay/dispatch/facts.hpp>
#include <assay/dispatch/links.hpp>
#include <assay/dispatch/path.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// Seconds and the ends of their interval. Infinite where a call is impossible.
struct estimate {
  double seconds = 0;
  double low = 0;
  double high = 0;
  bool operator==(estimate const&) const = default;
};

/// A call that cannot be made.
inline constexpr estimate impossible{std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};

namespace detail {

inline std::string fixed(double value) {
  return stats::number_text(value, value < 9.95 ? 1 : 0, std::chars_format::fixed);
}

inline std::pair<double, char const*> unit_of(double seconds) noexcept {
  if (seconds >= 0.9995) { return {1, " s"}; }
  if (seconds >= 0.9995e-3) { return {1e3, " ms"}; }
  if (seconds >= 0.9995e-6) { return {1e6, " us"}; }
  return {1e9, " ns"};
}

}  // namespace detail

/// The seconds alone: `41 us`.
inline std::string short_text(double seconds) {
  if (!std::isfinite(seconds)) { return "impossible"; }
  auto const [factor, unit] = detail::unit_of(seconds);
  return detail::fixed(seconds * factor) + unit;
}

/// `41 us [39, 44]`: both ends have the unit of the estimate.
inline std::string in_words(estimate const& of) {
  auto text = short_text(of.seconds);
  if (!std::isfinite(of.seconds)) { return text; }
  auto const factor = detail::unit_of(of.seconds).first;
  return concat(
      {text, " [", detail::fixed(of.low * factor), ", ", detail::fixed(of.high * factor), "]"});
}

/// What other work adds to a call now.
struct load_now {
  double stream_queue = 0;   ///< seconds until own work on the stream of a call has ended
  double device_queue = 0;   ///< seconds until own work on the device has ended
  double device_wait = 0;    ///< mean seconds for which a call on the device waits for others
  double device_factor = 1;  ///< of the time of a call on the device; copies are as without load
  bool operator==(load_now const&) const = default;
};

/// A part of a prediction: `queue`, `load`, `copies in`, `work` or `copies back`.
struct item {
  std::string_view name;
  double seconds = 0;
  std::string_view memory{};  ///< of copies: the type of host memory, or `mixed`
};

/// The predicted time of one call on one path, with its items.
///
/// The interval is that of the measured medians beside the size. It does not hold what changes
/// after the calibration, bends of the curve between knots, and errors of links. Beyond the
/// calibrated sizes, `extrapolated` is set and the interval is a guess.
struct prediction {
  path where;
  estimate total;
  std::vector<item> items;
  bool extrapolated = false;

  /// `device{0}: 41 us [39, 44]: copies in 6.0 us, work 35 us`.
  std::string describe() const;
};

/// The measurements of one path.
struct path_costs {
  path where = on::host{1};
  /// The times of whole calls with all arrays in the memory that the path uses.
  std::vector<knot> knots{};
  std::string wrong{};  ///< the first wrong result; there are then no knots
};

/// All that calibration finds out about a task, as the file keeps it.
struct measurements {
  std::string task;
  std::vector<path_costs> paths;
  std::vector<link> links{};  ///< of the device, one for each type of host memory
  std::string cpu{}, device{}, driver{}, compiler{}, started_at{};
  std::string library{};  ///< what the task says of the library that computes it
  int cores = 0;
  std::uint64_t seed = 0;
};

/// The costs of one task on one machine. Calls of const members from several threads are safe.
class costs {
 public:
  /// Throws `std::invalid_argument` without a path that computes right results, if a path is there
  /// twice, and for knots that `curve` refuses.
  explicit costs(measurements of);
  costs(costs const&);
  costs(costs&&) noexcept;
  costs& operator=(costs const&);
  costs& operator=(costs&&) noexcept;
  ~costs();

  measurements const& measured() const noexcept { return all_; }
  std::string const& task() const noexcept { return all_.task; }
  std::vector<path_costs> const& paths() const noexcept { return all_.paths; }
  /// The device of all device paths, if there is one. Throws as `one_device`.
  std::optional<on::device> device() const;
  /// What a reader should know: sizes that a calibration measured too seldom, and differences
  /// between this program and the program that calibrated, such as another compiler.
  std::vector<std::string> warnings;

  /// The number of a path in `paths()`. Throws `std::invalid_argument` if the path is missing.
  std::size_t index_of(path const& wanted) const;

  /// The copies that a call needs on a path.
  copies copies_of(std::size_t number, facts const& known) const noexcept {
    return links_[number].of(known);
  }
  /// The predicted seconds of a call; infinite where it is impossible or known to be wrong.
  double seconds(std::size_t number, facts const& known,
                 load_now const& under = {}) const noexcept {
    return seconds(number, known, log_size(known), under);
  }

  /// The number of the path with the least predicted time. Where every path is impossible, it is
  /// the first that computes right results: a wrong path is never chosen.
  std::size_t best(facts const& known, load_now const& under = {}) const noexcept {
    double const at = log_size(known);
    std::size_t chosen = first_right_;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = first_right_; i < curves_.size(); ++i) {
      if (double const each = seconds(i, known, at, under); each < least) {
        least = each;
        chosen = i;
      }
    }
    return chosen;
  }
  /// The path with the least predicted time.
  path const& choose(facts const& known) const noexcept { return all_.paths[best(known)].where; }

  /// The predicted time of a call, with its items.
  prediction predict(std::size_t number, facts const& known, load_now const& under = {}) const;

 private:
  struct path_load {
    double queue, wait, factor;
  };
  static path_load load_of(path const& where, load_now const& under) noexcept {
    if (where.device() == nullptr) { return {under.stream_queue, 0, 1}; }
    return {under.device_queue, under.device_wait, under.device_factor};
  }
  static double log_size(facts const& known) noexcept {
    return std::log2(static_cast<double>(std::max<std::size_t>(known.amount.size, 1)));
  }

  double seconds(std::size_t number, facts const& known, double at,
                 load_now const& under) const noexcept {
    if (!curves_[number]) { return std::numeric_limits<double>::infinity(); }
    auto const [queue, wait, factor] = load_of(all_.paths[number].where, under);
    return std::exp2(curves_[number]->log_seconds(at)) * factor + wait + queue +
           links_[number].of(known).seconds();
  }

  measurements all_;
  std::vector<std::optional<curve>> curves_;
  std::vector<path_links> links_;
  std::size_t first_right_ = 0;
};

}  // namespace assay::dispatch

#ifndef ASSAY_DECLARED
#include <assay/dispatch/costs_definitions.hpp>
#endif
