// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two copy engines and a compute engine, simulated event by event: what the model is held against.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

namespace assay::test {

/// Engines that take chunks in order. The state is that of a real machine: the number of chunks
/// that each engine has finished, the rest of its present chunk, and its phase. A copy first
/// needs its set-up time, then moves bytes at a rate that depends, at each instant, on whether the
/// other copy engine is moving bytes.
class engine_simulator {
 public:
  struct machine {
    double in_alone = 0, in_duplex = 0, out_alone = 0, out_duplex = 0;  ///< bytes a second
    double element_seconds = 0;
    double in_setup = 0, kernel_setup = 0, out_setup = 0;  ///< seconds a chunk
    double submit_seconds = 0;
  };
  struct chunk {
    double in_bytes = 0, elements = 0, out_bytes = 0;
  };

  engine_simulator(machine const& what, std::vector<chunk> chunks, std::size_t slots)
      : machine_(what), chunks_(std::move(chunks)), slots_(slots) {}

  /// Seconds until the last chunk is out.
  double run() {
    while (done_[out] < chunks_.size()) {
      start_all();
      if (done_[out] == chunks_.size()) { break; }
      double step = std::numeric_limits<double>::infinity();
      for (auto const stage : {in, kernel, out}) {
        if (phase_[stage] == idle) { continue; }
        step = std::min(step, left_[stage] / speed(stage));
      }
      // A chunk that is not submitted yet is an event too.
      if (phase_[in] == idle && done_[in] < chunks_.size() && submitted_at(done_[in]) > now_) {
        step = std::min(step, submitted_at(done_[in]) - now_);
      }
      if (step == std::numeric_limits<double>::infinity()) {
        throw std::logic_error("the simulated engines wait for each other for ever");
      }
      std::array<double, 3> speeds{};
      for (auto const stage : {in, kernel, out}) { speeds[stage] = speed(stage); }
      now_ += step;
      for (auto const stage : {in, kernel, out}) { advance(stage, step * speeds[stage]); }
    }
    return now_;
  }

 private:
  enum stages : std::size_t { in, kernel, out };
  enum phases { idle, setting_up, working };

  double submitted_at(std::size_t which) const {
    return static_cast<double>(which + 1) * machine_.submit_seconds;
  }

  bool may_start(stages stage) const {
    auto const next = done_[stage];
    if (next == chunks_.size()) { return false; }
    if (stage == in) {
      return submitted_at(next) <= now_ * (1 + 1e-12) && (next < slots_ + done_[kernel]);
    }
    if (stage == kernel) { return next < done_[in] && next < slots_ + done_[out]; }
    return next < done_[kernel];
  }

  /// A stage without set-up and work is over as it starts, which may let another one start.
  void start_all() {
    for (auto before = done_;; before = done_) {
      for (auto const stage : {in, kernel, out}) { start(stage); }
      if (done_ == before) { return; }
    }
  }

  void start(stages stage) {
    if (phase_[stage] != idle || !may_start(stage)) { return; }
    phase_[stage] = setting_up;
    left_[stage] = stage == in       ? machine_.in_setup
                   : stage == kernel ? machine_.kernel_setup
                                     : machine_.out_setup;
    advance(stage, 0);
  }

  double amount(stages stage) const {
    auto const& each = chunks_[done_[stage]];
    return stage == in ? each.in_bytes : stage == kernel ? each.elements : each.out_bytes;
  }

  double speed(stages stage) const {
    if (phase_[stage] != working) { return 1; }
    if (stage == kernel) { return 1 / machine_.element_seconds; }
    auto const other = stage == in ? out : in;
    bool const both = phase_[other] == working;
    return stage == in ? (both ? machine_.in_duplex : machine_.in_alone)
                       : (both ? machine_.out_duplex : machine_.out_alone);
  }

  void advance(stages stage, double by) {
    if (phase_[stage] == idle) { return; }
    left_[stage] -= by;
    auto const none = phase_[stage] == working ? 1e-9 * amount(stage) : 1e-15;
    if (left_[stage] > none) { return; }
    if (phase_[stage] == setting_up) {
      phase_[stage] = working;
      left_[stage] = amount(stage);
      if (left_[stage] > 0) { return; }
    }
    phase_[stage] = idle;
    ++done_[stage];
  }

  machine machine_;
  std::vector<chunk> chunks_;
  std::size_t slots_;
  double now_ = 0;
  std::array<std::size_t, 3> done_{};
  std::array<phases, 3> phase_{idle, idle, idle};
  std::array<double, 3> left_{};
};

}  // namespace assay::test
