// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `copy_sampler`: what copies add to whole calls, as factors of their links.
#pragma once

#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/timing.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::dispatch {

namespace detail {

/// The ends of rising sizes, and then always the middles of the gaps: a calibration that ends early
/// has factors for the whole range.
inline std::vector<std::size_t> coarse_first(std::vector<std::size_t> const& sizes) {
  std::vector<std::size_t> order{sizes.back()};
  for (auto step = std::bit_ceil(sizes.size()); step > 0; step /= 2) {
    for (std::size_t i = 0; i < sizes.size(); i += step) {
      if (std::find(order.begin(), order.end(), sizes[i]) == order.end()) {
        order.push_back(sizes[i]);
      }
    }
  }
  return order;
}

/// Measures how much longer a call takes with its arrays in host memory than resident. A factor
/// compares calls of one moment alone, since a host may change its speed between moments.
template <class Bench>
class copy_sampler {
 public:
  copy_sampler(Bench& bench, measurements const& found, std::vector<std::size_t> const& sizes,
               stats::random_source& random)
      : bench_(bench), found_(found), random_(random) {
    for (auto const size : coarse_first(sizes)) {
      for (auto const memory : bench.host_memories()) { left_.push_back({size, memory}); }
    }
  }

  /// Measures calls of one size over one type of memory: each at five moments, or once if that
  /// takes longer than `long_seconds`. False if nothing is left.
  bool next(double long_seconds) {
    constexpr int moments = 5;
    if (left_.empty()) { return false; }
    auto at = std::move(left_.front());
    left_.pop_front();
    double const begin = bench_.now();
    measure(at, long_seconds);
    ++at.moments;
    double const taken = bench_.now() - begin;
    used_ += taken;
    if (at.moments < moments && taken < long_seconds) { left_.push_back(std::move(at)); }
    return true;
  }
  /// The seconds that all measurements so far took.
  double used() const noexcept { return used_; }

  /// The factors of a path: medians of the moments.
  std::vector<copy_factor> factors(std::size_t path) const {
    std::vector<copy_factor> made;
    std::vector<double> spreads;
    for (auto const& [key, all] : factors_) {
      auto const [of, end, memory, size] = key;
      if (of != path) { continue; }
      auto const found = summarised(size, all);
      made.push_back({end, memory, found.size, found.seconds, std::exp2(found.spread) - 1});
      spreads.push_back(made.back().spread);
    }
    constexpr double between_sizes = 0.02;  // factors between the sizes are interpolated
    for (auto& each : made) {               // few moments may agree by chance
      each.spread += stats::summarise(spreads).median + between_sizes;
    }
    return made;
  }

 private:
  struct place {
    std::size_t size;
    memory_type memory;
    int moments = 0;
    std::size_t number = 0;    // of its arrays, once there are any
    std::vector<int> calls{};  // in the groups of each path
  };
  /// Paths with some resident arrays, as a bench with more paths.
  struct placed_calls {
    Bench& bench;
    std::vector<std::pair<std::size_t, resident_arrays>> all{};
    double seconds(std::size_t number, int calls) {
      bench.make_resident(all[number].second);
      return bench.seconds(all[number].first, calls);
    }
    double group_seconds() const { return bench.group_seconds(); }
    double now() const { return bench.now(); }
  };

  void measure(place& at, double limit_seconds) {
    constexpr int rounds = 9;
    if (at.moments == 0) {
      bench_.lie_in(at.memory);
      at.number = bench_.open(at.size);
      bench_.lie_in(memory_type::device);
    } else {
      bench_.open_again(at.number);
    }
    placed_calls calls{bench_};
    std::vector<std::size_t> numbers;
    for (std::size_t p = 0; p < found_.paths.size(); ++p) {
      auto const& path = found_.paths[p];
      if (!path.wrong.empty() || path.where.device() == nullptr) { continue; }
      for (auto const which :
           {resident_arrays::none, resident_arrays::written, resident_arrays::all}) {
        calls.all.emplace_back(p, which);
      }
    }
    for (std::size_t i = 0; i < calls.all.size(); ++i) { numbers.push_back(i); }
    if (at.calls.empty()) { at.calls = group_sizes(calls, numbers); }
    auto const times = interleaved(calls, numbers, at.calls, rounds, limit_seconds, random_);
    for (std::size_t i = 0; i < calls.all.size(); i += 3) {
      auto const median = [&](std::size_t k) { return summarised(1, times[i + k]).seconds; };
      note(at, calls.all[i].first, median(0), median(1), median(2));
    }
  }

  /// The factors by the seconds of calls with no resident array, with those that they write, and
  /// with all.
  void note(place const& at, std::size_t path, double none, double written, double all) {
    path_links const links{found_.machine, found_.paths[path].where};
    auto const copied = [&](resident_arrays which) {
      bench_.make_resident(which);
      return links.of(bench_.known());
    };
    auto const some = copied(resident_arrays::written);
    auto const every = copied(resident_arrays::none);
    double const in = every.before.seconds;
    double const back = every.after.seconds;
    if (!(in + back > 0 && std::isfinite(in + back))) { return; }
    // The difference of two long calls says nothing about a short copy beside a long one.
    constexpr double too_short = 0.1;
    double const both = (none - all) / (in + back);
    bool const apart = some.before.seconds > 0 && std::min(in, back) > too_short * (in + back);
    double const inward = apart ? (written - all) / some.before.seconds : both;
    double const backward = apart ? (none - all - std::max(inward, 0.0) * in) / back : both;
    auto const keep = [&](to end, double factor) {
      factors_[{path, end, at.memory, at.size}].push_back(std::clamp(factor, 1.0 / 16, 16.0));
    };
    if (in > 0) { keep(to::device, inward); }
    if (back > 0) { keep(to::host, backward); }
  }

  Bench& bench_;
  measurements const& found_;
  stats::random_source& random_;
  std::deque<place> left_;
  double used_ = 0;
  std::map<std::tuple<std::size_t, to, memory_type, std::size_t>, std::vector<double>> factors_;
};

}  // namespace detail

}  // namespace assay::dispatch
