// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to sampling.hpp: how a calibration goes through sizes and moments.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/timing.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::dispatch {
namespace detail {

/// The half-width in octaves that a time of one moment has beyond its own: the machine may have
/// been slower just then.
inline constexpr double one_moment_spread = 0.5;

/// The result of several moments at a size: the lower median of three times of each, or of all that
/// a moment has. Moments of long calls have one time, and one outlier of two must not count. The
/// spread is that between the moments, or within one if that is more.
inline knot merged(std::size_t size, std::vector<std::vector<double>> const& moments) {
  std::vector<double> medians, spreads, times;
  for (auto of : moments) {
    auto const summary = summarised(size, of);
    medians.push_back(summary.seconds);
    spreads.push_back(summary.spread);
    std::sort(of.begin(), of.end());
    auto const taken = std::min<std::size_t>(of.size(), 3);
    for (std::size_t i = 0; i < taken; ++i) {
      times.push_back(of[(2 * i + 1) * of.size() / (2 * taken)]);
    }
  }
  auto found = summarised(size, std::move(medians));
  std::sort(times.begin(), times.end());
  found.seconds = times[(times.size() - 1) / 2];
  found.spread = std::max(found.spread, stats::summarise(spreads).median);
  if (moments.size() == 1) { found.spread += one_moment_spread; }
  return found;
}

/// The sizes that a calibration measures, each at one moment or at several.
class sampler {
 public:
  sampler(bench& with, measurements& found, sampling_options const& options)
      : bench_(with), found_(found), options_(options), random_{found.seed} {}

  /// Verifies and measures all sizes once, however long that takes, and the copies after them.
  void measure_once() {
    auto const sizes = options_.sizes.knots();
    open_all(sizes, memory_type::device);
    auto const copies = [](path_costs const& each) {
      return each.where.device() != nullptr && each.wrong.empty();
    };
    if (std::ranges::none_of(found_.paths, copies)) { return; }
    for (auto const memory : bench_.host_memories()) { open_all(sizes, memory); }
  }
  /// Measures them again until the budget is used. From the third moment on, each size has the same
  /// share of it.
  void repeat() {
    double const share = options_.budget_seconds / static_cast<double>(visits_.size());
    for (bool gains = true; gains;) {
      gains = false;
      for (auto const i : stats::draw_order(visits_.size(), random_)) {
        auto& at = visits_[i];
        if (used() >= options_.budget_seconds) { return; }
        if (at.moments > 1 && at.seconds > share) { continue; }
        bench_.open_again(at.number);
        measure(at);
        gains = true;
      }
    }
  }
  /// Gives the paths their knots and the device its links. Returns how many sizes were measured at
  /// one moment alone.
  std::size_t conclude() {
    std::size_t once = 0;
    std::map<memory_type, std::vector<copied_call>> copied;
    std::ranges::sort(visits_, {}, &visit::size);
    for (auto& at : visits_) {
      if (at.memory != memory_type::device) { continue; }
      once += at.moments == 1 ? 1 : 0;
      for (auto const& each : at.calls) {
        if (is_right(each.path)) {
          found_.paths[each.path].knots.push_back(merged(at.size, each.moments));
        }
      }
    }
    for (auto const& at : visits_) {
      if (at.memory == memory_type::device) { continue; }
      for (auto const& each : at.calls) {
        auto const& knots = found_.paths[each.path].knots;
        auto const resident = std::ranges::find(knots, static_cast<double>(at.size), &knot::size);
        auto call = each.copied;
        call.seconds = merged(at.size, each.moments).seconds;
        call.extra_seconds = call.seconds - resident->seconds;
        copied[at.memory].push_back(call);
      }
    }
    for (auto const& [memory, calls] : copied) {
      found_.links.push_back(fitted_link(memory, calls));
    }
    return once;
  }

 private:
  /// Calls of one path over arrays of which some are resident.
  struct timed_call {
    std::size_t path;
    resident_arrays resident;
    copied_call copied{};
    std::vector<std::vector<double>> moments{};  // the times of each
  };
  /// Calls of one size with their arrays in one type of memory, which are timed in turns.
  struct visit {
    std::size_t size;
    memory_type memory;
    std::size_t number;  // of its arrays
    std::vector<timed_call> calls{};
    std::vector<int> groups{};
    std::size_t moments = 0;
    double seconds = 0;  // that all moments took
  };
  /// The calls of a visit, as more paths.
  class visited_calls final : public timed_paths {
   public:
    visited_calls(bench& with, visit const& at) : bench_(with), at_(at) {}
    double seconds(std::size_t number, int calls) override {
      bench_.make_resident(at_.calls[number].resident);
      return bench_.seconds(at_.calls[number].path, calls);
    }
    double group_seconds() const override { return bench_.group_seconds(); }
    double now() const override { return bench_.now(); }

   private:
    bench& bench_;
    visit const& at_;
  };

  double used() const { return bench_.now() - begin_; }
  bool is_right(std::size_t path) const { return found_.paths[path].wrong.empty(); }

  void open_all(std::vector<std::size_t> sizes, memory_type memory) {
    random_.shuffle(sizes);
    bench_.lie_in(memory);
    for (auto const size : sizes) {
      if (options_.progress) { options_.progress(used() / options_.budget_seconds, size); }
      visit made{size, memory, bench_.open(size)};
      if (memory == memory_type::device) { verify(size); }
      for (std::size_t p = 0; p < found_.paths.size(); ++p) {
        if (!is_right(p)) { continue; }
        if (memory == memory_type::device) {
          made.calls.push_back({p, resident_arrays::all});
        } else if (found_.paths[p].where.device() != nullptr) {
          for (auto const which : {resident_arrays::none, resident_arrays::written}) {
            made.calls.push_back({p, which, copied_by(which)});
          }
        }
      }
      measure(visits_.emplace_back(std::move(made)));
    }
    bench_.lie_in(memory_type::device);
  }
  /// Runs each path once at the open size, and marks those with wrong results.
  void verify(std::size_t size) {
    for (std::size_t i = 0; i < found_.paths.size(); ++i) {
      auto& wrong = found_.paths[i].wrong;
      if (!wrong.empty()) { continue; }
      if (auto const what = bench_.wrong(i)) {
        wrong = concat({"at size ", std::to_string(size), ": ", *what});
      }
    }
    auto const is_wrong = [](path_costs const& each) { return !each.wrong.empty(); };
    if (std::ranges::all_of(found_.paths, is_wrong)) { (void)costs{found_}; }  // says why
  }
  /// The copies that calls of the open size make.
  copied_call copied_by(resident_arrays which) {
    bench_.make_resident(which);
    copied_call made;
    auto const& known = bench_.known();
    for (std::size_t i = 0; i < known.count; ++i) {
      auto const& each = known.arrays[i];
      if (each.memory == memory_type::device) { continue; }
      made.copies += (each.is_read() ? 1 : 0) + (each.is_written() ? 1 : 0);
      made.bytes_in += each.is_read() ? each.bytes : 0;
      made.bytes_back += each.is_written() ? each.bytes : 0;
    }
    return made;
  }
  /// Measures the open size at one more moment. The first has three rounds at least, so that an
  /// outlier counts for nothing.
  void measure(visit& at) {
    int const rounds = at.moments == 0 ? 9 : 3;
    double const begin = bench_.now();
    visited_calls calls{bench_, at};
    if (at.groups.empty()) {
      for (std::size_t i = 0; i < at.calls.size(); ++i) {
        at.groups.push_back(group_size(calls, i));
      }
    }
    std::vector<std::size_t> right;
    std::vector<int> groups;
    for (std::size_t i = 0; i < at.calls.size(); ++i) {
      if (!is_right(at.calls[i].path)) {
        continue;
      }  // another size may have shown that it is wrong
      right.push_back(i);
      groups.push_back(at.groups[i]);
    }
    auto times = interleaved(calls, right, groups, rounds, moment_seconds, random_);
    for (std::size_t i = 0; i < right.size(); ++i) {
      at.calls[right[i]].moments.push_back(std::move(times[i]));
    }
    ++at.moments;
    at.seconds += bench_.now() - begin;
  }

  bench& bench_;
  measurements& found_;
  sampling_options const& options_;
  stats::random_source random_;
  double begin_ = bench_.now();
  std::vector<visit> visits_;
};

}  // namespace detail

ASSAY_INLINE costs calibrate_on(bench& with, measurements found, sampling_options const& options) {
  options.sizes.require();
  if (!(options.budget_seconds > 0 && std::isfinite(options.budget_seconds))) {
    throw std::invalid_argument(
        concat({"budget_seconds = ", stats::number_text(options.budget_seconds),
                ": a finite number above 0 is needed, such as 2"}));
  }
  detail::sampler sizes{with, found, options};
  sizes.measure_once();
  sizes.repeat();
  auto const once = sizes.conclude();
  costs made{std::move(found)};
  if (once > 0) {
    made.warnings.push_back(
        concat({"budget_seconds = ", stats::number_text(options.budget_seconds),
                " was too small to measure ", std::to_string(once), " of ",
                std::to_string(options.sizes.knots().size()),
                " sizes twice: their intervals are wide; give more seconds or smaller "
                "sizes"}));
  }
  return made;
}

}  // namespace assay::dispatch
