// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bisection`: the search for the commit that made a program slower, without git and clocks.
#pragma once

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

/// A build of a commit. Commits of equal code take equal time; empty code is equal to no other.
struct built {
  std::string refusal{};  ///< why there is no program; empty if there is one
  std::string code{};
};

/// The answers about a commit: below the threshold, beyond it, not known, or not measurable.
enum class speed { fast, slow, cannot_tell, left_out };

/// One answer and its evidence. Commit 0 is GOOD.
struct bisection_answer {
  std::string refusal{};       ///< why the commit cannot be measured; empty if it can
  measure::estimate effect{};  ///< time / time of the control; without an end if a guard objects
  double seconds = 0;
  std::size_t control = 0, commit = 0;
  speed is = speed::cannot_tell;
  bool equal_code = false;  ///< known without a comparison
};

/// The slow-down lies behind commit `fast`, at `slow` or before.
struct bisection_result {
  std::size_t fast = 0, slow = 0;
  double threshold = 0;                    ///< a ratio to GOOD; 0: it is not known that ends differ
  std::optional<measure::estimate> own{};  ///< of commit `slow` against commit `fast`
  std::vector<bisection_answer> answers{};
  int comparisons = 0;

  /// True if one commit is named, and is itself proven to be slower than the commit before.
  bool names_one() const { return slow == fast + 1 && own && own->low > 1; }
};

/// Finds the place where the time of a program rises beyond the middle between GOOD and BAD.
///
/// Every answer compares a commit with GOOD in one run, by an interval whose error rate is
/// `alpha / most_comparisons()`. So all answers together are right with probability `1 - alpha`,
/// whatever the times of the commits are: then commit `fast` is below the threshold, and commit
/// `slow` is beyond it.
class bisection {
 public:
  using build_function = std::function<built(std::size_t commit)>;
  /// Compares `commit` with `control` until the interval at level `alpha` lies within the margin or
  /// beyond it, or the time is spent.
  using judge_function = std::function<bisection_answer(std::size_t control, std::size_t commit,
                                                        double margin, double alpha)>;

  /// `last` is the number of BAD. `tell` gets each answer.
  bisection(
      std::size_t last, double margin, double alpha, build_function build, judge_function judge,
      std::function<void(bisection_answer const&)> tell = [](auto const&) {})
      : last_(last),
        margin_(margin),
        alpha_(alpha / most_comparisons(last)),
        build_(std::move(build)),
        judge_(std::move(judge)),
        tell_(std::move(tell)),
        tries_(last + 1) {
    found_.slow = last;
  }

  /// A comparison has at most so many epochs. Its time limit ends most earlier.
  static constexpr int most_epochs = 768;

  /// Both ends, `ceil(log2 n)` commits between them, and the commit that is named, each twice.
  static int most_comparisons(std::size_t last) {
    int halvings = 0;
    for (std::size_t width = 1; width < last; width *= 2) { ++halvings; }
    return 2 * (halvings + 2);
  }

  /// Throws `std::invalid_argument` where the times of the ends leave nothing to find, and
  /// `std::runtime_error` where an end cannot be measured. Exceptions of the functions pass
  /// through.
  bisection_result run() {
    if (judge_ends()) {
      narrow();
      confirm();
    }
    return found_;
  }

 private:
  /// A commit whose answer is not known is asked again so often, later.
  static constexpr int most_tries = 4;

  bisection_answer const& keep(bisection_answer made) {
    tell_(made);
    found_.answers.push_back(std::move(made));
    return found_.answers.back();
  }

  bisection_answer const& compare(std::size_t control, std::size_t commit, double threshold) {
    auto made = judge_(control, commit, threshold - 1, alpha_);
    made.control = control;
    made.commit = commit;
    made.is = !made.refusal.empty()          ? speed::left_out
              : made.effect.low > threshold  ? speed::slow
              : made.effect.high < threshold ? speed::fast
                                             : speed::cannot_tell;
    ++found_.comparisons;
    return keep(std::move(made));
  }

  /// True if BAD is slower than GOOD by more than the margin. Sets the threshold.
  bool judge_ends() {
    auto const good = build_(0), bad = build_(last_);
    if (!good.refusal.empty()) { throw std::runtime_error("GOOD: " + good.refusal); }
    if (!bad.refusal.empty()) { throw std::runtime_error("BAD: " + bad.refusal); }
    if (!good.code.empty() && good.code == bad.code) {
      throw std::invalid_argument("the machine code of both ends is equal: nothing to bisect");
    }
    known_ = {{good.code, speed::fast}, {bad.code, speed::slow}};
    for (int tries = 0; tries < most_tries; ++tries) {
      auto const& made = compare(0, last_, 1 + margin_);
      auto const& effect = made.effect;
      if (made.is == speed::left_out) { throw std::runtime_error(made.refusal); }
      if (made.is == speed::fast) {
        throw std::invalid_argument(
            effect.high < 1 / (1 + margin_)
                ? "BAD is faster than GOOD: nothing to bisect"
                : "the ends do not differ by the margin: nothing to bisect");
      }
      if (made.is == speed::slow) {
        // The middle is as far from GOOD as from BAD. BAD must be well beyond it for certain, also
        // where noise makes the estimate too large.
        found_.threshold = std::min(std::sqrt(effect.ratio), std::pow(effect.low, 0.75));
        return true;
      }
    }
    return false;
  }

  /// One comparison is left for `confirm`.
  void narrow() {
    int failures = 0;
    while (found_.comparisons + 1 < most_comparisons(last_)) {
      auto const commit = next(failures);
      if (!commit) { return; }
      auto const is = answer(*commit);
      if (is == speed::fast || is == speed::slow) {
        (is == speed::fast ? found_.fast : found_.slow) = *commit;
        failures = 0;
      } else {
        tries_[*commit] += is == speed::left_out ? most_tries : 1;
        ++failures;
      }
    }
  }

  /// One of the commits between the ends that were asked least often. It stands at 1/2, 1/4, 3/4,
  /// 1/8 of them: a neighbour of a commit that does not build often does not build either.
  std::optional<std::size_t> next(int failures) const {
    std::vector<std::size_t> open;
    int fewest = most_tries;
    for (auto i = found_.fast + 1; i < found_.slow; ++i) {
      if (tries_[i] < fewest) {
        fewest = tries_[i];
        open.clear();
      }
      if (tries_[i] == fewest && fewest < most_tries) { open.push_back(i); }
    }
    if (open.empty()) { return {}; }
    double share = 0, digit = 0.5;
    for (int rest = failures + 1; rest > 0; rest /= 2, digit /= 2) { share += digit * (rest % 2); }
    return open[static_cast<std::size_t>(share * static_cast<double>(open.size()))];
  }

  speed answer(std::size_t commit) {
    auto const made = build_(commit);
    bisection_answer known{.refusal = made.refusal, .commit = commit, .is = speed::left_out};
    if (!made.refusal.empty()) { return keep(known).is; }
    if (!made.code.empty() && known_.contains(made.code)) {
      known.is = known_[made.code];
      known.equal_code = true;
      return keep(known).is;
    }
    auto const is = compare(0, commit, found_.threshold).is;
    if (is == speed::fast || is == speed::slow) { known_[made.code] = is; }
    return is;
  }

  /// Measures the slow-down of the last step itself, where no answer before did.
  void confirm() {
    for (auto const& each : found_.answers) {
      bool const direct = each.control == found_.fast && each.commit == found_.slow;
      if (direct && !each.equal_code && each.is == speed::slow) { found_.own = each.effect; }
    }
    if (found_.slow != found_.fast + 1) { return; }
    for (int tries = 0;
         tries < most_tries && !found_.names_one() && found_.comparisons < most_comparisons(last_);
         ++tries) {
      auto const& made = compare(found_.fast, found_.slow, found_.threshold);
      if (std::isfinite(made.effect.high)) { found_.own = made.effect; }
    }
  }

  std::size_t last_;
  double margin_, alpha_;
  build_function build_;
  judge_function judge_;
  std::function<void(bisection_answer const&)> tell_;
  std::vector<int> tries_;
  std::map<std::string, speed> known_;
  bisection_result found_;
};

}  // namespace assay::examples
