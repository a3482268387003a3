// SPDX-License-Identifier: Apache-2.0
/// @file
/// A machine in virtual time with every known disturbance of timings, as subjects for the engine.
#pragma once

#include <assay/measure/procedure.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::test {

/// Disturbances of a launch's log time. Sizes are shares: 0.01 is 1 %.
struct noise {
  std::string name;
  double white = 0.003;         ///< sd, every launch anew
  double outlier_share = 0;     ///< this share of launches ...
  double outlier_size = 0;      ///< ... takes longer by this
  double ramp = 0;              ///< linear drift over 24 epochs
  double warm_up = 0;           ///< excess at the start, decaying over two epochs
  double wander = 0;            ///< sd of an AR(1) with coefficient 0.99 per launch
  double two_state = 0;         ///< size of a clock that jumps, once in 500 launches on average
  double wave = 0;              ///< amplitude of a sine ...
  double wave_cells = 4;        ///< ... of this period in cells: the period of ABBA
  double offset = 0;            ///< sd, drawn per epoch, for all variants alike
  double carry_over = 0;        ///< a launch after another variant's, halving with each launch
  double epoch_start = 0;       ///< excess of an epoch's first timed cell
  double buffer_set = 0;        ///< sd of the buffer sets' own effects, drawn per epoch
  double label_buffer_set = 0;  ///< effect of a placement that stays with the label: confounded
  double built_first = 0;       ///< for the instance that was built first in its epoch
  double touched_later = 0;     ///< for instances that touch their memory after another did
  double burst_share = 0;       ///< this share of epochs has bursts of other work ...
  double burst_size = 0;        ///< ... which add this to all launches for 40 launches on average
  double interaction = 0;       ///< sd, drawn per epoch and instance: code meets placement
  double lag = 0;               ///< its correlation with the effect of the epoch before
  double tick = 0;              ///< a cell's time is rounded to this many seconds
};

inline std::vector<noise> null_scenarios() {
  return {
      {.name = "white 0.3 %"},
      {.name = "white 0.7 %, 2 % outliers",
       .white = 0.007,
       .outlier_share = 0.02,
       .outlier_size = 0.2},
      {.name = "ramp 0.5 %", .ramp = 0.005},
      {.name = "ramp 1 %, wander 0.3 %, two-state 1 %",
       .ramp = 0.01,
       .wander = 0.003,
       .two_state = 0.01},
      {.name = "warm-up 1 %", .warm_up = 0.01},
      {.name = "wander 0.3 %", .wander = 0.003},
      {.name = "two-state clock 1 %", .two_state = 0.01},
      {.name = "wave with the period of a half, 1 %", .wave = 0.01},
      {.name = "wave with the period of a block, 1 %", .wave = 0.01, .wave_cells = 8},
      {.name = "offset per epoch 0.4 %", .offset = 0.004},
      {.name = "offset per epoch 0.3 %, white 0.05 %", .white = 0.0005, .offset = 0.003},
      {.name = "carry-over 1 %, wander 0.3 %", .wander = 0.003, .carry_over = 0.01},
      {.name = "epoch's first cell 1 %, wander 0.1 %",
       .white = 0.0005,
       .wander = 0.001,
       .epoch_start = 0.01},
      {.name = "buffer set 0.5 % per epoch", .buffer_set = 0.005},
      {.name = "interaction 0.1 %",
       .ramp = 0.01,
       .wander = 0.003,
       .two_state = 0.01,
       .interaction = 0.001},
      {.name = "interaction 0.3 %",
       .ramp = 0.01,
       .wander = 0.003,
       .two_state = 0.01,
       .interaction = 0.003},
      {.name = "white 3 % and everything",
       .white = 0.03,
       .outlier_share = 0.02,
       .outlier_size = 0.2,
       .ramp = 0.01,
       .warm_up = 0.01,
       .wander = 0.003,
       .two_state = 0.01,
       .wave = 0.005,
       .offset = 0.004,
       .carry_over = 0.01,
       .buffer_set = 0.003,
       .interaction = 0.001},
      {.name = "carry-over 2 %, white 0.05 %", .white = 0.0005, .carry_over = 0.02},
      {.name = "built first 0.5 %", .built_first = 0.005},
      {.name = "touched later is 0.5 % faster", .white = 0.0005, .touched_later = -0.005},
      {.name = "interaction 0.3 %, correlated 0.5 from epoch to epoch",
       .interaction = 0.003,
       .lag = 0.5},
      {.name = "bursts of other work in half of the epochs", .burst_share = 0.5, .burst_size = 0.4},
      {.name = "ticks of 0.5 us on launches of 250 us", .white = 0.0002, .tick = 0.5e-6},
  };
}

/// Normal deviates by a table of 2^14 quantiles: exact enough for noise, and fast.
class normal_table {
 public:
  static double at(std::uint64_t bits) {
    static normal_table const table;
    return table.quantiles_[bits & 0x3FFFU];
  }

 private:
  normal_table() : quantiles_(1U << 14U) {
    for (std::size_t i = 0; i < quantiles_.size(); ++i) {
      double const p = (static_cast<double>(i) + 0.5) / static_cast<double>(quantiles_.size());
      double low = -6;
      double high = 6;
      for (int step = 0; step < 60; ++step) {
        double const middle = 0.5 * (low + high);
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
      }
      quantiles_[i] = 0.5 * (low + high);
    }
  }
  std::vector<double> quantiles_;
};

/// The machine: what one launch takes depends on all that ran before.
class world {
 public:
  static constexpr double launch_seconds = 250e-6;  // cells of 2 to 4 untimed and 4 timed launches
  static constexpr double launches_per_epoch = 300;
  inline static thread_local std::int64_t all_launches = 0;  ///< of all worlds: the virtual time

  world(noise const& what, std::uint64_t seed) : noise_(what), coins_(seed), high_(coins_.flip()) {
    phase_ = uniform() * 2 * pi;
    wander_ = noise_.wander * normal_table::at(coins_.next());
  }

  void begin_epoch() {
    offset_ = noise_.offset * normal_table::at(coins_.next());
    for (auto& each : buffer_set_) { each = noise_.buffer_set * normal_table::at(coins_.next()); }
    start_ = true;
    last_label_ = -1;
    touched_ = false;
    bursts_ = uniform() < noise_.burst_share;
    in_burst_ = false;
  }

  /// The cost of an instance's first touch of its memory for all its launches in this epoch.
  double touch() { return std::exchange(touched_, true) ? noise_.touched_later : 0; }

  /// The own effect of the instance that is built as number `slot` in its epoch. It follows its
  /// predecessor in the same slot, as memory that is handed out in the same order does.
  double draw_interaction(std::size_t slot) {
    own_.resize(std::max(own_.size(), slot + 1));
    double const fresh = noise_.interaction * normal_table::at(coins_.next());
    own_[slot] = noise_.lag * own_[slot] + std::sqrt(1 - noise_.lag * noise_.lag) * fresh;
    return own_[slot];
  }

  /// Log of one launch's time over `launch_seconds`.
  double launch(int label, int buffer_set) {
    auto const bits = coins_.next();
    double value = noise_.white * normal_table::at(bits) + offset_ + buffer_set_[buffer_set & 1];
    double const epochs = static_cast<double>(count_) / launches_per_epoch;
    value += noise_.ramp * epochs / 24 + noise_.label_buffer_set * (label % 100);
    if (noise_.warm_up != 0) { value += noise_.warm_up * std::exp(-epochs / 2); }
    if (noise_.wander != 0) {
      constexpr double keep = 0.99;
      wander_ = keep * wander_ +
                noise_.wander * std::sqrt(1 - keep * keep) * normal_table::at(bits >> 14U);
      value += wander_;
    }
    if (noise_.two_state != 0) {
      if (((bits >> 28U) & 0xFFFFU) < 131) { high_ = !high_; }  // 131 / 65536 = 1 / 500
      value += high_ ? noise_.two_state : 0;
    }
    if (static_cast<double>((bits >> 44U) & 0xFFFFU) < noise_.outlier_share * 65536) {
      value += noise_.outlier_size;
    }
    if (bursts_) {
      if (uniform() < 1.0 / 40) { in_burst_ = !in_burst_; }
      value += in_burst_ ? noise_.burst_size : 0;
    }
    if (noise_.wave != 0) {
      value += noise_.wave *
               std::sin(2 * pi * static_cast<double>(count_) / (7 * noise_.wave_cells) + phase_);
    }
    if (noise_.carry_over != 0) {
      since_switch_ = label == last_label_ ? since_switch_ + 1 : 0;
      value += std::ldexp(noise_.carry_over, -since_switch_);
    }
    last_label_ = label;
    ++count_;
    ++all_launches;
    return value;
  }

  /// Mean seconds per launch of a cell.
  double cell(int label, int buffer_set, int launches, double effect) {
    double sum = 0;
    double const extra = effect + (start_ ? noise_.epoch_start : 0);
    start_ = false;
    for (int i = 0; i < launches; ++i) {
      sum += launch_seconds * std::exp(launch(label, buffer_set) + extra);
    }
    if (noise_.tick > 0) { sum = noise_.tick * std::floor(sum / noise_.tick + uniform()); }
    return sum / launches;
  }

 private:
  static constexpr double pi = 3.14159265358979323846;
  double uniform() { return static_cast<double>(coins_.next() >> 11U) * 0x1p-53; }

  noise noise_;
  stats::random_source coins_;
  bool high_;
  bool start_ = true, touched_ = false, bursts_ = false, in_burst_ = false;
  std::vector<double> own_;  // by the order in which instances are built
  double phase_ = 0, wander_ = 0, offset_ = 0;
  double buffer_set_[2] = {0, 0};
  int last_label_ = -1;
  int since_switch_ = 0;
  std::int64_t count_ = 0;
};

class simulated : public measure::subject {
 public:
  simulated(std::shared_ptr<world> where, int label, double effect, std::size_t slot = 0)
      : world_(std::move(where)), label_(label), effect_(effect + world_->draw_interaction(slot)) {}

  void warm(int buffer_set, int launches) override {
    if (!std::exchange(touched_, true)) { effect_ += world_->touch(); }
    for (int i = 0; i < launches; ++i) { (void)world_->launch(label_, buffer_set); }
  }
  measure::cell time(int buffer_set, int launches) override {
    measure::cell timed;
    timed[measure::clock::wall] = world_->cell(label_, buffer_set, launches, effect_);
    return timed;
  }
  std::optional<std::string> verify(int) override { return {}; }

 private:
  std::shared_ptr<world> world_;
  int label_;
  double effect_;
  bool touched_ = false;
};

/// Variants on one simulated machine. Variant v takes exp(log_effects[v]) times as long.
inline std::vector<measure::variant> simulate(noise const& what, std::uint64_t seed,
                                              std::vector<double> const& log_effects) {
  auto const where = std::make_shared<world>(what, seed);
  auto const built_in = std::make_shared<int>(-1);
  auto const slot = std::make_shared<std::size_t>(0);
  std::vector<measure::variant> variants;
  for (std::size_t v = 0; v < log_effects.size(); ++v) {
    variants.push_back({"v" + std::to_string(v), {}, [=](measure::epoch const& now) {
                          double place = 0;
                          if (*built_in != now.number) {
                            where->begin_epoch();
                            *built_in = now.number;
                            *slot = 0;
                            place = what.built_first;
                          }
                          int const label = static_cast<int>(v) + 100 * now.instance;
                          return std::make_unique<simulated>(where, label, log_effects[v] + place,
                                                             (*slot)++);
                        }});
  }
  return variants;
}

/// The number of simulated comparisons: 20,000 with ASSAY_FULL=1, else `few`.
inline int simulated_runs(int few) { return std::getenv("ASSAY_FULL") != nullptr ? 20'000 : few; }

/// The largest excess of a share seen in `runs` runs over its true value: 4.5 standard errors. A
/// run of the tests checks about 180 shares under seeds of its own. At 3 standard errors one run in
/// ten fails by chance, at 4.5 one in a thousand.
inline double slack(double share, int runs) { return 4.5 * std::sqrt(share * (1 - share) / runs); }

}  // namespace assay::test
