// SPDX-License-Identifier: Apache-2.0
/// @file
/// A machine of formulas: true times of host paths and of a device, and a bench that measures them
/// with noise, outliers of 300x, drift, slow periods and a clock of coarse ticks.
#pragma once

#include <assay/dispatch/sampling.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::test {

/// Uniform and normal numbers from one seed.
struct draws {
  stats::random_source from;
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(from.next() >> 11U) * 0x1p-53;
  }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  double normal() {
    return std::sqrt(-2 * std::log(uniform(1e-300, 1))) *
           std::cos(2 * std::numbers::pi * uniform(0, 1));
  }
};

/// fork + n seconds per element, which rise where the arrays leave two caches.
struct true_time {
  double fork = 0;
  double per_element = 0;
  double cache[2]{};
  double rise[2]{};

  double operator()(double n) const {
    double factor = 1;
    for (int i = 0; i < 2; ++i) {
      factor += rise[i] / (1 + std::exp(-4 * std::log2(n / cache[i])));  // over about an octave
    }
    return fork + n * per_element * factor;
  }
};

/// A machine with paths of 1, 4 and 16 threads, or of the given count.
class synthetic_machine final : public dispatch::bench {
 public:
  static constexpr double smallest = 16;
  static constexpr double largest = 1 << 24;

  explicit synthetic_machine(std::uint64_t seed) : random_{stats::random_source{seed}} {
    double const element = random_.log_uniform(2e-10, 5e-9);
    for (int threads : {1, 4, 16}) {
      true_time path;
      path.fork = threads == 1 ? random_.log_uniform(5e-9, 5e-8)
                               : threads * random_.log_uniform(2e-7, 5e-6);
      path.per_element = element / std::pow(threads, random_.uniform(-0.1, 0.9));
      for (int i = 0; i < 2; ++i) {
        path.cache[i] = threads * (i == 0 ? 4e3 : 2e5) * random_.uniform(0.7, 1.4);
        path.rise[i] = random_.uniform(0, 0.8);
      }
      add(on::host{threads}, path);
    }
    noise_ = random_.log_uniform(0.003, 0.03);
    drift_ = random_.uniform(0, 0.03);
    period_ = random_.log_uniform(1, 100);
    tick_ = random_.uniform(0, 1) < 0.5 ? 25e-9 : 1e-6;
  }

  void add(dispatch::path where, std::function<double(double)> seconds) {
    found.paths.push_back({.where = std::move(where)});
    truth.push_back(std::move(seconds));
  }
  dispatch::costs calibrated(std::uint64_t seed, double budget = 10) {
    found.seed = seed;
    return dispatch::calibrate_on(
        *this, found,
        {{static_cast<std::size_t>(smallest), static_cast<std::size_t>(largest)}, budget, nullptr});
  }
  /// From now on all calls take `factor` times as long in three of ten periods of this length.
  void slow_down(double factor, double period) {
    slow_ = factor;
    slow_period_ = period;
  }

  // What a bench does.
  std::vector<memory_type> host_memories() const override {
    if (!copies) { return {}; }
    return {memory_type::pageable, memory_type::page_locked};
  }
  void lie_in(memory_type memory) override { memory_ = memory; }
  void make_resident(dispatch::resident_arrays which) override {
    using dispatch::resident_arrays;
    for (auto& each : known_.arrays) {
      bool const home = placed_ == memory_type::device || which == resident_arrays::all ||
                        (which == resident_arrays::written && each.is_written());
      each.memory = home ? memory_type::device : placed_;
      each.newest = home ? 0 : dispatch::array_fact::on_host;
    }
  }
  dispatch::facts const& known() const override { return known_; }
  std::size_t open(std::size_t size) override {
    all_.emplace_back(size, memory_);
    open_again(all_.size() - 1);
    return all_.size() - 1;
  }
  void close() { all_.clear(); }
  void open_again(std::size_t number) override {
    auto const [size, memory] = all_[number];
    size_ = static_cast<double>(size);
    placed_ = memory;
    ++opened;
    known_ = dispatch::facts_of_size(size);
    for (auto const& each : arrays) { known_.arrays[known_.count++] = each; }
    for (auto& each : known_.arrays) { each.bytes = 4 * size_; }
    make_resident(dispatch::resident_arrays::none);
  }
  std::optional<std::string> wrong(std::size_t path) override {
    now_ += truth[path](size_);
    return std::nullopt;
  }
  double seconds(std::size_t path, int calls) override {
    double const once = truth[path](size_) + (copies ? copies(path, known_) : 0);
    double taken = calls * once * std::exp(noise_ * random_.normal()) * drift_of(now_);
    double const usual = taken;
    if (random_.uniform(0, 1) < 0.02) { taken *= 300; }
    now_ += usual;  // else a few outliers at large sizes would use up the budget
    return std::floor(taken / tick_ + random_.uniform(0, 1)) * tick_;
  }
  double group_seconds() const override { return std::max(5e-6, 100 * tick_); }
  double now() const override { return now_; }

  dispatch::measurements found{.task = "synthetic", .paths = {}};
  std::vector<std::function<double(double)>> truth;
  /// The seconds of the copies of a call on a path; none where calls copy nothing.
  std::function<double(std::size_t path, dispatch::facts const& known)> copies{};
  /// The arrays of calls, of 4 bytes an element.
  std::vector<dispatch::array_fact> arrays{{}, {}, {.way = dispatch::direction::out}};
  int opened = 0;
  draws random_;

 private:
  double drift_of(double moment) const {
    auto const number = static_cast<std::uint64_t>(moment / slow_period_);
    bool const is_slow = stats::derive_seed(17, number) % 10 < 3;
    return (is_slow ? slow_ : 1) * (1 + drift_ * std::sin(2 * std::numbers::pi * moment / period_));
  }

  double noise_ = 0, drift_ = 0, period_ = 1, tick_ = 0;
  double slow_ = 1, slow_period_ = 1;
  double now_ = 0;
  double size_ = 0;
  memory_type memory_ = memory_type::device;  // of sizes that are opened next
  memory_type placed_ = memory_type::device;  // of the open size
  std::vector<std::pair<std::size_t, memory_type>> all_;
  dispatch::facts known_;
};

}  // namespace assay::test
