// SPDX-License-Identifier: Apache-2.0
/// @file
/// The statistics of a race: which of many candidates can no longer be the best, and when no other
/// can be better than the leader by more than a margin.
#pragma once

#include <assay/stats/number_text.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace assay::stats {

/// The log of the evidence that `above` of `above + below` signs are positive because positive
/// signs are the more probable ones.
///
/// Evidence is the wealth of a gambler that begins with 1 and bets on the next sign. With p for the
/// chance of a positive sign, a bet on p = q multiplies the wealth by 2 q or by 2 (1 - q). While
/// every p is at most 1/2, whatever the past was, no bet with q >= 1/2 is favourable. So the wealth
/// ever reaches 1 / a with a probability of at most a (Ville, 1939), and one may look after each
/// sign. Half of the stake bets on q = 1, and so doubles until the first negative sign. The other
/// half is spread evenly over 1/2 <= q <= 1, as in Robbins, Statistical methods related to the law
/// of the iterated logarithm (1970). With n = above + below its wealth is
///
///   2^(n+1) * integral of q^above (1-q)^below from 1/2 to 1
///     = sum of C(n+1, k) over k = 0 ... above, divided by (n+1) C(n, above).
///
/// Signs need no normal law, no symmetric law and no equal variances, and one outlier is one sign.
inline double log_sign_evidence(int above, int below) {
  int const n = above + below;
  auto const log_choose = [](int of, int k) {
    return std::lgamma(of + 1.0) - std::lgamma(k + 1.0) - std::lgamma(of - k + 1.0);
  };
  // Each term comes from its neighbour, from the largest on to both sides, where terms get smaller.
  int const largest = std::min(above, (n + 1) / 2);
  double sum = 1;
  double term = 1;
  for (int k = largest; k > 0; --k) { sum += term *= k / (n + 2.0 - k); }
  term = 1;
  for (int k = largest; k < above; ++k) { sum += term *= (n + 1.0 - k) / (k + 1.0); }
  auto const spread =
      std::log(sum) + log_choose(n + 1, largest) - std::log(n + 1.0) - log_choose(n, above);
  auto const doubled = n * std::log(2.0);
  if (below > 0) { return spread - std::log(2.0); }
  return std::max(spread, doubled) + std::log1p(std::exp(-std::abs(spread - doubled))) -
         std::log(2.0);
}

/// Drops candidates when the times of past epochs show that they are not the best.
///
/// In each epoch a candidate is held against the leader of the epochs before, and the leader
/// against the second. A best candidate is slower than any other in at most half of all epochs. So
/// `log_sign_evidence` bounds the chance that a best candidate is ever dropped. Each candidate has
/// one such bet, whoever leads, and only the bet on a best candidate can err. So no union over
/// candidates, opponents or analyses is needed: 48 candidates need as few epochs as two, which is 6
/// at `alpha` = 0.05. Where several are equally best, the bound holds for each of them.
///
/// Half of `alpha` is for dropping the best. The other half is for the end of the race: `bounded`
/// has a bet on each pair of a candidate and a leader. It needs the union bound over leaders,
/// because the last leader is chosen by the same epochs.
///
/// Assumption: where a candidate is no slower than another, its time in the next epoch is the
/// longer one with a probability of at most 1/2, whatever the past was. For equal candidates this
/// follows from random order and from epochs that make everything anew, under any drift or
/// autocorrelation.
class elimination {
 public:
  /// `first_guess` has a time for each candidate, from before the first epoch; NaN for those that
  /// do not race. Throws `std::invalid_argument` for a level or a margin out of range.
  elimination(std::vector<double> first_guess, double alpha, double margin)
      : score_(std::move(first_guess)),
        racing_(score_.size()),
        slower_(score_.size()),
        faster_(score_.size()),
        led_(score_.size()),
        margin_(std::log1p(margin)) {
    if (!(alpha > 0 && alpha < 1)) {
      throw std::invalid_argument("alpha lies between 0 and 1, not " + number_text(alpha));
    }
    if (!(margin > 0)) {
      throw std::invalid_argument("a margin is positive, not " + number_text(margin));
    }
    for (std::size_t i = 0; i < score_.size(); ++i) { racing_[i] = std::isfinite(score_[i]); }
    drop_at_ = std::log(2 / alpha);
    bound_at_ = drop_at_ + std::log(std::max(1.0, static_cast<double>(left()) - 1));
    rank();
  }

  /// Adds the log time of each candidate that still races; the others are not looked at. Drops all
  /// candidates with sufficient evidence.
  void add_epoch(std::vector<double> const& log_times) {
    epochs_.push_back(log_times);
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      if (!racing_[i] || left() < 2) { continue; }
      double const lag = log_times[i] - log_times[i == leader_ ? second_ : leader_];
      slower_[i] += lag > 0 ? 1 : 0;
      faster_[i] += lag < 0 ? 1 : 0;  // a tie says nothing
    }
    led_[leader_] = led_[second_] = true;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      if (racing_[i] && log_evidence(i) >= drop_at_) { out.push_back(i); }
    }
    if (out.size() < left()) {
      for (auto const i : out) { racing_[i] = false; }
    }
    rank();
  }

  /// Takes out a candidate for another reason than its times. Throws `std::logic_error` if the bets
  /// of others rest on it: then all epochs are void.
  void remove(std::size_t candidate) {
    if (led_[candidate]) { throw std::logic_error("others were held against this candidate"); }
    racing_[candidate] = false;
    rank();
  }

  std::size_t left() const {
    return static_cast<std::size_t>(std::count(racing_.begin(), racing_.end(), true));
  }
  bool racing(std::size_t candidate) const { return racing_[candidate]; }
  bool has_led(std::size_t candidate) const { return led_[candidate]; }
  /// The one with the smallest median of its log times over those of the leader before. It is
  /// faster in most epochs, as the bets have it; it decides who is held against whom, and no level
  /// depends on it.
  std::size_t leader() const noexcept { return leader_; }
  int slower(std::size_t candidate) const { return slower_[candidate]; }
  int faster(std::size_t candidate) const { return faster_[candidate]; }
  /// The log of the evidence that this candidate is not the best.
  double log_evidence(std::size_t candidate) const {
    return log_sign_evidence(slower_[candidate], faster_[candidate]);
  }

  /// True if this candidate is not faster than the leader by more than the margin.
  bool bounded(std::size_t candidate) const {
    int above = 0;
    int below = 0;
    for (auto const& each : epochs_) {
      double const lag = each[candidate] - each[leader_] + margin_;
      above += lag > 0 ? 1 : 0;
      below += lag < 0 ? 1 : 0;
    }
    return log_sign_evidence(above, below) >= bound_at_;
  }

  /// True when no candidate that still races can be faster than the leader by more than the margin.
  bool decided() const {
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      if (racing_[i] && i != leader_ && !bounded(i)) { return false; }
    }
    return true;
  }

 private:
  /// Finds the leader and the second of those that race. All of them have times of all epochs.
  void rank() {
    if (!epochs_.empty()) {
      for (std::size_t i = 0; i < racing_.size(); ++i) {
        if (!racing_[i]) { continue; }
        std::vector<double> lags;
        for (auto const& each : epochs_) { lags.push_back(each[i] - each[leader_]); }
        score_[i] = summarise(std::move(lags)).median;
      }
    }
    auto const best_but = [&](std::size_t other) {
      std::size_t best = racing_.size();
      for (std::size_t i = 0; i < racing_.size(); ++i) {
        if (racing_[i] && i != other && (best == racing_.size() || score_[i] < score_[best])) {
          best = i;
        }
      }
      return best == racing_.size() ? other : best;
    };
    leader_ = best_but(racing_.size());
    second_ = best_but(leader_);
  }

  std::vector<double> score_;
  std::vector<bool> racing_;
  std::vector<int> slower_, faster_;  ///< epochs in which a candidate was so against the leader
  std::vector<bool> led_;             ///< a bet of another candidate was against this one
  double margin_, drop_at_ = 0, bound_at_ = 0;
  std::vector<std::vector<double>> epochs_;
  std::size_t leader_ = 0, second_ = 0;
};

}  // namespace assay::stats
