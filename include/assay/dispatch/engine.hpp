// SPDX-License-Identifier: Apache-2.0
/// @file
/// `engine`: runs a task on the path that a chooser picks.
#pragma once

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/dispatch/task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// The path of one call, and what was predicted for each path.
struct decision {
  std::size_t chosen = 0;
  std::vector<prediction> predictions;

  path const& where() const { return predictions.at(chosen).where; }
  /// `host{4}: 41 us [39, 44]; host{1} 63 us [60, 66]`.
  std::string describe() const {
    auto const& mine = predictions.at(chosen);
    auto text = mine.where.describe() + ": " + in_words(mine.total);
    for (auto const& each : predictions) {
      if (&each == &mine) { continue; }
      text += "; " + each.where.describe() + ' ' + in_words(each.total);
    }
    return mine.extrapolated ? text + " (outside the calibrated sizes)" : text;
  }
};

inline std::ostream& operator<<(std::ostream& out, decision const& of) {
  return out << of.describe();
}

/// Runs calls of one task on host paths. Several threads may call one engine at the same time.
template <chooser C = choose::by_model>
class engine {
 public:
  /// Throws `std::invalid_argument` if the costs lack a path that the policy names, or if they have
  /// a path on a device.
  explicit engine(costs of, C policy = {})
      : costs_(std::make_unique<costs const>(std::move(of))), pick_(policy.bound(*costs_)) {
    for (auto const& each : costs_->paths()) {
      if (each.where.host() != nullptr) { continue; }
      throw std::invalid_argument("the costs of " + costs_->task() + " have the path " +
                                  each.where.describe() +
                                  ", and this engine runs host paths: calibrate those alone");
    }
  }

  /// Runs the call and returns when it is complete. Throws `std::invalid_argument` for a task of
  /// another name, and for counts that `require_work` refuses. Exceptions of the task pass through.
  template <task T>
  void operator()(T const& call) const {
    if (T::name != costs_->task()) {
      throw std::invalid_argument("unknown task " + std::string{T::name} +
                                  ": this engine has the costs of " + costs_->task());
    }
    auto& mine = of_this_thread();
    mine = {.engine = number_, .known = facts_of(call), .chosen = 0};
    mine.chosen = pick_(mine.known);
    run_on_host(call, *costs_->paths()[mine.chosen].where.host());
  }

  /// The decision of the calling thread's latest call. Throws `std::logic_error` if that call was
  /// one of another engine.
  decision last() const {
    auto const& mine = of_this_thread();
    if (mine.engine != number_) {
      throw std::logic_error("last(): this thread's latest call was not of this engine");
    }
    decision made{.chosen = mine.chosen, .predictions = {}};
    for (std::size_t i = 0; i < costs_->paths().size(); ++i) {
      made.predictions.push_back(costs_->predict(i, mine.known));
    }
    return made;
  }

 private:
  struct latest {
    std::uint64_t engine = 0;
    facts known;
    std::size_t chosen = 0;
  };
  static latest& of_this_thread() {
    thread_local latest mine;
    return mine;
  }
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> made{0};
    return ++made;
  }

  std::unique_ptr<costs const> costs_;
  decltype(std::declval<C const&>().bound(std::declval<costs const&>())) pick_;
  std::uint64_t number_ = next_number();
};

}  // namespace assay::dispatch
