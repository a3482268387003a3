// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `run_race.hpp`: which candidates work, and which are too long to be timed in epochs.
#pragma once

#include <assay/measure/subject.hpp>
#include <assay/measure/subject_runner.hpp>
#include <assay/race/result.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace assay::measure::detail {

/// A candidate is cut off if it takes more than twice as long as another in each of four pairs.
inline constexpr double cut_off = 2;
/// Shorter cells cut nothing off, because a clock or the scheduler of a host can double them.
inline constexpr double short_seconds = 100e-6;
/// Shorter launches are cut off after the common warm-up only. Four longer ones last for 20 ms,
/// the time in which pools grow and threads start. Until then a candidate may be slow by itself.
inline constexpr double long_candidate_seconds = 5e-3;
/// Cells are shorter than 1 ms where a stream takes no more launches.
inline constexpr int most_warm_up_cells = 1000;

/// Runs and times one cell of a candidate.
inline cell timed_cell(subject_runner& runner, subject& of, std::size_t candidate, int set,
                       int launches, stats::random_source& from) {
  return runner.time(of, {static_cast<int>(candidate), set}, launches, from);
}

/// The time of `slow` over that of `fast`; nothing unless `slow` is to be cut off.
///
/// Each candidate has a new cell in each pair, and the order alternates. So a machine whose speed
/// changes once cannot make every pair long. `time(candidate, buffer set)` gives seconds. Beyond a
/// factor of 10, two pairs suffice if they last as long as four of the shortest that count.
template <class Time>
std::optional<double> times_as_long(std::size_t slow, std::size_t fast, double shortest,
                                    stats::random_source& from, Time&& time) {
  bool fast_first = from.flip();
  double least = std::numeric_limits<double>::infinity();
  double slow_sum = 0;
  double fast_sum = 0;
  for (int pair = 0; pair < 4; ++pair) {
    int const set = pair % 2;
    double const first = time(fast_first ? fast : slow, set);
    double const second = time(fast_first ? slow : fast, set);
    auto const [of_fast, of_slow] =
        fast_first ? std::pair{first, second} : std::pair{second, first};
    if (!(of_slow > cut_off * of_fast) || of_slow < shortest) { return {}; }
    slow_sum += of_slow;
    fast_sum += of_fast;
    least = std::min(least, of_slow / of_fast);
    fast_first = !fast_first;
    if (pair == 1 && least > 5 * cut_off && slow_sum >= 4 * shortest) { break; }
  }
  return slow_sum / fast_sum;
}

/// Builds and verifies candidates one after another before the first epoch. The fastest so far
/// stays alive, and a long candidate is timed beside it.
class qualification {
 public:
  /// The first candidate runs for `warm_up_seconds` before it is timed.
  qualification(subject_runner& runner, race_result& record, epoch const& now,
                stats::random_source& from, double warm_up_seconds)
      : runner_(runner),
        record_(record),
        now_(now),
        from_(from),
        warm_up_seconds_(warm_up_seconds),
        built_(runner.instances()) {}

  /// A candidate that takes too long, the one beside it, and the ratio of their times.
  struct long_one {
    std::size_t candidate = 0, beside = 0;
    double ratio = 0;
  };

  /// Verifies a candidate and times a launch of it. Two candidates are alive where both fit into
  /// memory; else one of them is destroyed whenever the other one is needed.
  std::optional<long_one> examine(std::size_t candidate) {
    bool const beside = fastest_ && built_[*fastest_];
    try {
      return examined(candidate);
    } catch (memory_shortage const&) {
      if (!beside || apart_) { throw; }
    }
    apart_ = true;
    destroy_all();
    return examined(candidate);
  }

  /// Destroys a candidate that failed, and those that were timed beside it.
  void forget(std::size_t candidate) {
    if (fastest_ == candidate) { fastest_.reset(); }
    for (std::size_t i = 0; i < built_.size(); ++i) {
      if (i == candidate || i != fastest_) { built_[i].reset(); }
    }
  }

 private:
  double& guess(std::size_t candidate) { return record_.racers[candidate].guess; }

  std::optional<long_one> examined(std::size_t candidate) {
    auto& own = at_hand(candidate);
    subjects alone(built_.size());  // a verification is for all subjects that it is given
    std::swap(alone[candidate], built_[candidate]);
    runner_.verify(alone, "before timing", from_);
    if (!fastest_) { warm_up(own, candidate); }
    guess(candidate) = longest_clock(timed_cell(runner_, own, candidate, 0, 1, from_));
    std::swap(alone[candidate], built_[candidate]);
    return beside_fastest(candidate);
  }

  /// Warms up the machine for all candidates, since clocks need time to ramp up.
  void warm_up(subject& of, std::size_t candidate) {
    int launches = 1;
    double spent = 0;
    for (int cells = 0; cells < most_warm_up_cells && spent < warm_up_seconds_; ++cells) {
      auto const seconds =
          longest_clock(timed_cell(runner_, of, candidate, cells % 2, launches, from_));
      spent += seconds * launches;
      launches = runner_.launches_for({seconds});
    }
  }

  std::optional<long_one> beside_fastest(std::size_t candidate) {
    std::optional<long_one> found;
    auto const other = fastest_.value_or(candidate);
    auto const [fast, slow] = std::minmax(
        candidate, other, [&](std::size_t a, std::size_t b) { return guess(a) < guess(b); });
    if (guess(slow) > cut_off * guess(fast) && guess(slow) >= long_candidate_seconds) {
      auto const ratio =
          times_as_long(slow, fast, long_candidate_seconds, from_, [&](std::size_t i, int set) {
            return timed_cell(runner_, at_hand(i), i, set, 1, from_)[record_.primary];
          });
      if (ratio) { found = long_one{slow, fast, *ratio}; }
    }
    fastest_ = fast;
    if (slow != fast) { built_[slow].reset(); }
    return found;
  }

  /// The subject of a candidate, which is built if it is not alive.
  subject& at_hand(std::size_t candidate) {
    if (!built_[candidate]) {
      if (apart_) { destroy_all(); }
      built_[candidate] = std::move(runner_.build(now_, {candidate})[candidate]);
    }
    return *built_[candidate];
  }

  void destroy_all() {
    for (auto& each : built_) { each.reset(); }
  }

  subject_runner& runner_;
  race_result& record_;
  epoch now_;
  stats::random_source& from_;
  double warm_up_seconds_;
  subjects built_;
  std::optional<std::size_t> fastest_;
  bool apart_ = false;  ///< two do not fit into memory together
};

}  // namespace assay::measure::detail
