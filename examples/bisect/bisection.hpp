// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bisection`: the search for the commit that made a program slower, without git and clocks.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// One comparison of a commit with an earlier one.
struct judged {
  std::string refusal{};       ///< why the commit cannot be measured; empty if it was
  bool unproven = false;       ///< a guard objects: the effect counts for nothing
  measure::estimate effect{};  ///< time of the commit / time of the earlier one
  double seconds = 0;
};

/// A build of a commit. Commits of equal code take equal time; empty code is equal to no other.
struct built {
  std::string refusal{};  ///< why there is no program; empty if there is one
  std::string code{};
};

/// The answers about a commit: below the threshold, beyond it, not known, or not measurable.
enum class speed { fast, slow, cannot_tell, left_out };

/// One answer and its evidence. Commit 0 is GOOD.
struct bisection_step {
  std::size_t control = 0, commit = 0;
  speed is = speed::cannot_tell;
  bool equal_code = false;  ///< known without a comparison
  judged found{};
};

/// The slow-down lies behind commit `fast`, at `slow` or before.
struct bisection_result {
  std::size_t fast = 0, slow = 0;
  double threshold = 0;                    ///< a ratio to GOOD: slower commits are slow
  bool ends_differ = false;                ///< false: it is not known whether the ends differ
  std::optional<measure::estimate> own{};  ///< of commit `slow` against commit `fast`
  std::vector<bisection_step> steps{};
  int decisions = 0, most_decisions = 0;
  double alpha_each = 0;

  /// True if one commit is named, and is itself proven to be slower than the commit before.
  bool names_one() const { return ends_differ && slow == fast + 1 && own && own->low > 1; }
};

/// The ends of the range allow no bisection.
class no_bisection : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Finds the place where the time of a program rises beyond the middle between GOOD and BAD.
///
/// Every answer compares a commit with GOOD in one run, by an interval whose error rate is
/// `alpha / most_decisions()`. The search makes at most so many comparisons. So all answers
/// together are right with probability `1 - alpha`, whatever the times of the commits are: then
/// commit `fast` is below the threshold, and commit `slow` is beyond it.
class bisection {
 public:
  using build_function = std::function<built(std::size_t commit)>;
  /// Compares `commit` with `control` until the interval at level `alpha` lies within the margin or
  /// beyond it, or the time is spent.
  using judge_function =
      std::function<judged(std::size_t control, std::size_t commit, double margin, double alpha)>;

  /// `last` is the number of BAD.
  bisection(std::size_t last, double margin, double alpha, build_function build,
            judge_function judge)
      : last_(last),
        margin_(margin),
        build_(std::move(build)),
        judge_(std::move(judge)),
        tries_(last + 1) {
    found_.slow = last;
    found_.most_decisions = most_decisions(last);
    found_.alpha_each = alpha / found_.most_decisions;
  }

  /// Both ends, `ceil(log2 n)` commits between them, and the commit that is named, each twice.
  static int most_decisions(std::size_t last) {
    int halvings = 0;
    for (std::size_t width = 1; width < last; width *= 2) { ++halvings; }
    return 2 * (halvings + 2);
  }

  /// Told after each step.
  std::function<void(bisection_step const&)> progress = [](auto const&) {};

  /// Throws `no_bisection` where the times of the ends allow none, `std::runtime_error` where an
  /// end cannot be measured. Exceptions of the functions pass through.
  bisection_result run() {
    if (judge_ends()) {
      narrow();
      confirm();
    }
    return found_;
  }

 private:
  /// A commit is compared four times if guards object, and twice if its intervals are too wide.
  static constexpr int most_tries = 4;
  static int cost(judged const& by) {
    return !by.refusal.empty() ? most_tries : by.unproven ? 1 : 2;
  }

  speed classify(judged const& by, double threshold) const {
    if (!by.refusal.empty()) { return speed::left_out; }
    if (by.unproven) { return speed::cannot_tell; }
    if (by.effect.low > threshold) { return speed::slow; }
    return by.effect.high < threshold ? speed::fast : speed::cannot_tell;
  }

  bisection_step const& compare(std::size_t control, std::size_t commit, double threshold) {
    bisection_step made{control, commit};
    made.found = judge_(control, commit, threshold - 1, found_.alpha_each);
    made.is = classify(made.found, threshold);
    ++found_.decisions;
    return keep(std::move(made));
  }

  bisection_step const& keep(bisection_step made) {
    progress(made);
    found_.steps.push_back(std::move(made));
    return found_.steps.back();
  }

  /// True if BAD is slower than GOOD by more than the margin. Sets the threshold.
  bool judge_ends() {
    for (auto const end : {std::size_t{0}, last_}) {
      auto const made = build_(end);
      auto const name = end == 0 ? "GOOD: " : "BAD: ";
      if (!made.refusal.empty()) { throw std::runtime_error(name + made.refusal); }
      if (end == last_ && !made.code.empty() && known_.contains(made.code)) {
        throw no_bisection("the machine code of both ends is equal: nothing to bisect");
      }
      if (!made.code.empty()) { known_[made.code] = end == 0 ? speed::fast : speed::slow; }
    }
    for (int tries = 0; tries < most_tries && !found_.ends_differ;) {
      auto const& step = compare(0, last_, 1 + margin_);
      auto const& effect = step.found.effect;
      if (step.is == speed::left_out) { throw std::runtime_error(step.found.refusal); }
      if (step.is == speed::fast) {
        throw no_bisection(effect.high < 1 / (1 + margin_)
                               ? "BAD is faster than GOOD: nothing to bisect"
                               : "the ends do not differ by the margin: nothing to bisect");
      }
      found_.ends_differ = step.is == speed::slow;
      tries += cost(step.found);
    }
    if (!found_.ends_differ) { return false; }
    // The middle is as far from GOOD as from BAD. BAD must be well beyond it for certain, also
    // where noise makes the estimate too large.
    auto const& effect = found_.steps.back().found.effect;
    found_.threshold = std::min(std::sqrt(effect.ratio), std::pow(effect.low, 0.75));
    return true;
  }

  /// Commits between the ends that were asked least often, and not too often.
  std::vector<std::size_t> open() const {
    int fewest = most_tries;
    for (auto i = found_.fast + 1; i < found_.slow; ++i) { fewest = std::min(fewest, tries_[i]); }
    std::vector<std::size_t> all;
    for (auto i = found_.fast + 1; i < found_.slow && fewest < most_tries; ++i) {
      if (tries_[i] == fewest) { all.push_back(i); }
    }
    return all;
  }

  /// 1/2, 1/4, 3/4, 1/8, ...: after failures the next try goes away from them. A neighbour of a
  /// commit that does not build often does not build either.
  static double share(int failures) {
    double sum = 0, digit = 0.5;
    for (int rest = failures + 1; rest > 0; rest /= 2, digit /= 2) { sum += digit * (rest % 2); }
    return sum;
  }

  /// One comparison is left for `confirm`.
  void narrow() {
    int failures = 0;
    for (auto all = open(); !all.empty() && found_.decisions + 1 < found_.most_decisions;
         all = open()) {
      auto const i =
          all[static_cast<std::size_t>(share(failures) * static_cast<double>(all.size()))];
      auto const is = answer(i);
      if (is == speed::fast || is == speed::slow) {
        (is == speed::fast ? found_.fast : found_.slow) = i;
        failures = 0;
      } else {
        tries_[i] += cost(found_.steps.back().found);
        ++failures;
      }
    }
  }

  speed answer(std::size_t commit) {
    auto const made = build_(commit);
    if (!made.refusal.empty()) {
      return keep({0, commit, speed::left_out, false, {made.refusal}}).is;
    }
    auto const same = known_.find(made.code);
    if (same != known_.end()) { return keep({0, commit, same->second, true}).is; }
    auto const is = compare(0, commit, found_.threshold).is;
    if (!made.code.empty() && (is == speed::fast || is == speed::slow)) { known_[made.code] = is; }
    return is;
  }

  /// Measures the slow-down of the last step itself, where no answer before did.
  void confirm() {
    for (auto const& each : found_.steps) {
      bool const direct = each.control == found_.fast && each.commit == found_.slow;
      if (direct && !each.equal_code && each.is == speed::slow) { found_.own = each.found.effect; }
    }
    for (int tries = 0; tries < most_tries && found_.decisions < found_.most_decisions;) {
      if (found_.own && found_.own->low > 1) { return; }
      auto const& step = compare(found_.fast, found_.slow, found_.threshold);
      if (cost(step.found) == 2) { found_.own = step.found.effect; }
      tries += cost(step.found);
    }
  }

  std::size_t last_;
  double margin_;
  build_function build_;
  judge_function judge_;
  std::vector<int> tries_;
  std::map<std::string, speed> known_;
  bisection_result found_;
};

}  // namespace assay::examples
