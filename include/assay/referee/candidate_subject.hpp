// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to run_referee.hpp: what is timed in a process of the referee.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/subject.hpp>
#include <assay/referee/charge.hpp>
#include <assay/serve/remote_subject.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::referee_detail {

/// What the referee sees of one process, from outside, over all its cells.
struct outside_watch {
  /// Of each pass of calls: seconds by the clock of the process, and those by this process beyond.
  std::vector<double> inside, beyond;
  double longest = 0;     ///< seconds of a call, the mean of a pass
  double looking = 0;     ///< seconds for judgements
  double timing = 0;      ///< seconds for calls and their inputs
  bool is_known = false;  ///< the reference in the process of an earlier comparison
  stats::random_source random{stats::draw_seed()};
  std::optional<charge> found;
};

/// The quantile of values in any order.
inline double quantile(std::vector<double> of, double share) {
  std::sort(of.begin(), of.end());
  return stats::quantile(of, share);
}

/// The charge that the clock of a candidate's process is slow, by three quarters of all passes. The
/// reference shows how long a request takes without its calls.
inline std::optional<charge> wrong_clock(outside_watch const& reference,
                                         outside_watch const& candidate) {
  double const told = quantile(candidate.inside, 0.5);
  double const beyond = quantile(candidate.beyond, 0.25);
  if (beyond <= 2 * quantile(reference.beyond, 0.75) + 0.15 * told + 20e-6) { return {}; }
  return charge{
      charge::kind::changed_environment,
      concat({"by the clock of its process calls took ", stats::number_text(told), " s that took ",
              stats::number_text(told + beyond), " s by the clock of the referee"})};
}

/// The arrays and calls of one process. A cell goes through all its buffer sets in turn, so both
/// numbers of a set stand for all of them.
///
/// This process clocks each pass of calls too. It judges outputs as they lie behind some cells,
/// those of a call that was drawn with the inputs, for a fifth of the time of the calls. After some
/// of these cells follows a like one over special values, whose time does not count.
class candidate_subject final : public measure::subject {
 public:
  candidate_subject(std::shared_ptr<measure::remote_process> in,
                    std::shared_ptr<outside_watch> watch)
      : process_(std::move(in)), watch_(std::move(watch)) {
    process_->send({"build"});
  }
  candidate_subject(candidate_subject const&) = delete;
  candidate_subject& operator=(candidate_subject const&) = delete;
  ~candidate_subject() override {
    try {
      finish_building();  // takes the reply, which the next subject must not get
    } catch (...) {       // the next request tells
    }
  }

  void finish_building() override {
    if (std::exchange(is_built_, true)) { return; }
    using namespace measure::served;
    auto const built = process_->receive();
    bytes_ = to_number<double>(at(built, 1));
    flops_ = to_number<double>(at(built, 2));
    checked_ = to_checks(at(built, 3));
    sets_ = to_number<int>(at(built, 4));
    notes_.assign(built.begin() + 5, built.end());
  }

  /// Nothing before calls that are so long that caches do not matter.
  void warm(int, int launches) override {
    if (watch_->longest < 0.1) { (void)passes(launches, "usual"); }
  }

  measure::cell time(int, int launches) override {
    auto const made = passes(launches, "usual");
    if (watch_->looking <= looking_share * watch_->timing) {
      judge();
      if (watch_->random.below(4) == 0) { judge_special(); }
    }
    return made;
  }

  /// Judges the last pass whole. Calls only where there was none. Of a reference that was judged
  /// whole before, parts are looked at, as behind cells.
  std::optional<std::string> verify(int) override {
    if (calls_ == 0) { (void)passes(1, "usual"); }
    auto const* const most = watch_->is_known ? part : whole;
    if (judged_ != most) { judge(most); }
    return {};
  }

  /// More calls behind a comparison, judged as timed ones are: what begins late is seen here. Of a
  /// candidate that is wrong in each fourth call by then, they alone miss 1 in 1,000.
  void look_often() {
    constexpr int usual = 24, special = 12;
    constexpr double long_call = 0.01, most_seconds = 0.5;
    finish_building();
    auto const begin = steady_clock::now();
    for (int i = 0; i < usual; ++i) {
      if (watch_->longest >= long_call && since(begin) > most_seconds) { return; }
      (void)passes(sets_, "usual");
      judge();
      if (i < special) { judge_special(); }
    }
  }

  double bytes() const override { return bytes_; }
  double flops() const override { return flops_; }
  measure::checks checked() const override { return checked_; }
  std::vector<std::string> caveats() const override { return notes_; }

 private:
  using steady_clock = std::chrono::steady_clock;
  static constexpr double looking_share = 0.2;
  static constexpr char const *part = "part", *whole = "whole";

  static double since(steady_clock::time_point begin) {
    return std::chrono::duration<double>(steady_clock::now() - begin).count();
  }

  /// So many calls, each over inputs of its own.
  measure::cell passes(int launches, char const* values) {
    finish_building();
    auto const begin = steady_clock::now();
    measure::cell mean;
    mean.seconds = {};
    for (int done = 0; done < launches; done += calls_) {
      calls_ = std::min(sets_, launches - done);
      (void)process_->request({"prepare", std::to_string(calls_), values});
      auto const asked = steady_clock::now();
      auto told = process_->request({"run"});
      double const outside = since(asked);
      auto const inside = measure::served::to_number<double>(measure::served::at(told, 1));
      told.erase(told.begin() + 1);
      auto const pass = measure::served::to_cell(told);
      watch_->longest = std::max(watch_->longest, inside / calls_);
      watch_->inside.push_back(inside);
      watch_->beyond.push_back(outside - inside);
      for (auto const on : measure::all_clocks) { mean[on] += pass[on] * calls_ / launches; }
      if (!pass.disturbance.empty()) { mean.disturbance = pass.disturbance; }
    }
    judged_ = nullptr;
    watch_->timing += since(begin);
    return mean;
  }

  void judge_special() {
    (void)passes(1, "special");
    judge();
  }

  void judge(char const* what = part) {
    auto const begin = steady_clock::now();
    auto const told = process_->request({"judge", what});
    judged_ = what;
    watch_->looking += since(begin);
    using measure::served::at;
    if (at(told, 0) == "ok") { return; }
    watch_->found = charge{charge_kind(at(told, 1)), at(told, 2)};
    throw std::runtime_error(watch_->found->text);
  }

  std::shared_ptr<measure::remote_process> process_;
  std::shared_ptr<outside_watch> watch_;
  bool is_built_ = false;
  int sets_ = 1;
  int calls_ = 0;                 ///< of the last pass
  char const* judged_ = nullptr;  ///< how much of one of these calls
  double bytes_ = 0, flops_ = 0;
  measure::checks checked_ = measure::checks::none;
  std::vector<std::string> notes_;
};

/// The charge that judgements behind a comparison find.
inline std::optional<charge> found_behind(std::shared_ptr<measure::remote_process> in,
                                          std::shared_ptr<outside_watch> const& watch) {
  try {
    candidate_subject more{std::move(in), watch};
    more.look_often();
  } catch (std::exception const& cause) {
    return watch->found ? watch->found : charge{charge::kind::failure, cause.what()};
  }
  return {};
}

}  // namespace assay::referee_detail
