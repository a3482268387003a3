// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The variant to choose: what the intervals of a comparison prove about it.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/report/format.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The control and the variant of a finding on the primary clock that is about two variants.
inline std::optional<std::pair<std::size_t, std::size_t>> two_of(measure::finding const& found,
                                                                 std::size_t variants) {
  bool const fits = found.primary && found.weights.size() == variants &&
                    found.what == measure::contrast::kind::difference;
  return fits ? compared_pair(found) : std::nullopt;
}

/// The choice among variants that findings connect.
struct choice_of_group {
  std::vector<std::size_t> variants;
  /// Those that no other one is proven to beat; none where intervals contradict each other.
  std::vector<std::size_t> left;
  std::string word;                      ///< why nothing is chosen: a verdict; empty with a winner
  measure::finding const* by = nullptr;  ///< the winner's smallest proven difference
  std::optional<std::size_t> winner() const {
    return word.empty() && left.size() == 1 ? std::optional{left.front()} : std::nullopt;
  }
};

/// Upper bounds of the ratios of times of one variant to all others. All intervals hold together,
/// so that their products hold too. Only intervals of settled verdicts count.
class ratio_bounds {
 public:
  explicit ratio_bounds(measure::comparison const& all) : variants_(all.variants.size()) {
    for (auto const& each : all.findings) {
      auto const who = two_of(each, variants_);
      bool const settled =
          stats::is_sign(each.outcome) || each.outcome == measure::verdict::equivalent;
      if (!who || !settled || !(each.effect.low > 0)) { continue; }
      edges_.push_back({who->second, who->first, std::log(each.effect.high)});
      edges_.push_back({who->first, who->second, -std::log(each.effect.low)});
    }
  }

  /// The most that the time of `from` can be, over the time of each variant; infinite if unknown.
  std::vector<double> of(std::size_t from) const {
    constexpr int steps = 8;  // more steps only give closer bounds
    std::vector<double> most(variants_, std::numeric_limits<double>::infinity());
    most[from] = 0;
    bool changed = true;
    for (int i = 0; i < steps && changed; ++i) {
      changed = false;
      for (auto const& [left, right, bound] : edges_) {
        if (most[left] + bound < most[right]) {
          most[right] = most[left] + bound;
          changed = true;
        }
      }
    }
    most[from] = 0;
    for (double& each : most) { each = std::exp(each); }
    return most;
  }

 private:
  struct edge {
    std::size_t left, right;
    double bound;  ///< of the logarithm of left over right
  };
  std::size_t variants_;
  std::vector<edge> edges_;
};

/// The variants of each group that differences on the primary clock connect.
inline std::vector<std::vector<std::size_t>> compared_groups(measure::comparison const& all) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (auto const& each : all.findings) {
    if (auto const who = two_of(each, all.variants.size())) { pairs.push_back(*who); }
  }
  auto groups = connected(all.variants.size(), pairs);
  std::erase_if(groups, [](auto const& each) { return each.size() == 1; });
  return groups;
}

/// What is proven about the variants of each group. A variant beats another one if the whole
/// interval of their ratio is below 1, and not all of it is within the margin.
inline std::vector<choice_of_group> choices_of(measure::comparison const& all) {
  ratio_bounds const bounds{all};
  std::vector<choice_of_group> made;
  for (auto const& members : compared_groups(all)) {
    choice_of_group group{members, {}, {}, nullptr};
    std::vector<std::vector<double>> most;
    for (auto const each : members) { most.push_back(bounds.of(each)); }
    for (std::size_t i = 0; i < members.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < members.size(); ++j) {
        beaten =
            beaten || (i != j && most[j][members[i]] < 1 && most[i][members[j]] > 1 + all.margin);
      }
      if (!beaten) { group.left.push_back(members[i]); }
    }
    auto const has = [&](measure::finding const& each) {
      auto const who = two_of(each, all.variants.size());
      return who && std::ranges::find(members, who->first) != members.end();
    };
    // The bounds of two variants on each other, both ways round.
    auto const any_pair = [&](auto const& holds) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (holds(i, j, most[i][members[j]], most[j][members[i]])) { return true; }
        }
      }
      return false;
    };
    bool const contradicts = any_pair([](auto, auto, double one, double other) {
      return one * other < 1 - 1e-9;  // less than the rounding of logarithms leaves
    });
    if (contradicts) { group.left.clear(); }
    bool const apart = any_pair([&](auto i, auto j, double one, double other) {
      auto const is_left = [&](std::size_t which) {
        return std::ranges::find(group.left, members[which]) != group.left.end();
      };
      return is_left(i) && is_left(j) && std::max(one, other) > 1 + all.margin + 1e-9;
    });
    bool unproven = false, wrong = false;
    for (auto const& each : all.findings) {
      if (!has(each)) { continue; }
      unproven = unproven || each.outcome == measure::verdict::unproven;
      wrong = wrong || each.outcome == measure::verdict::wrong_answer;
      auto const who = *two_of(each, all.variants.size());
      auto const size = [](auto const& of) { return std::abs(std::log(of.effect.ratio)); };
      bool const of_winner = group.left.size() == 1 && stats::is_sign(each.outcome) &&
                             (who.first == group.left.front() || who.second == group.left.front());
      if (of_winner && (group.by == nullptr || size(each) < size(*group.by))) { group.by = &each; }
    }
    if (wrong) {
      group.word = "WRONG ANSWER";
    } else if (group.left.size() != 1) {
      group.word = unproven && !contradicts ? "UNPROVEN"
                   : contradicts || apart   ? "INCONCLUSIVE"
                                            : "EQUIVALENT";
    }
    made.push_back(std::move(group));
  }
  return made;
}

/// True for each variant that is the winner of its group.
inline std::vector<bool> chosen(measure::comparison const& all) {
  std::vector<bool> found(all.variants.size(), false);
  for (auto const& each : choices_of(all)) {
    if (auto const winner = each.winner()) { found[*winner] = true; }
  }
  return found;
}

/// `8.82 % less time than scalar [8.70, 8.91]`: the winner of a group against the nearest variant
/// that it was compared with. `names` has a name for each variant.
inline std::string gain_text(measure::comparison const& all, choice_of_group const& of,
                             std::vector<std::string> const& names) {
  if (of.by == nullptr) { return "proven by its intervals against others"; }
  auto const who = *two_of(*of.by, all.variants.size());
  bool const variant = who.second == of.left.front();
  auto const& [ratio, low, high, confidence] = of.by->effect;
  // As a share of the other one's time, whichever side the winner was.
  auto const saved = [&](double each) { return 1 - (variant ? each : 1 / each); };
  auto const decimals = percent_decimals(saved(ratio));
  auto const shown = [&](double each) { return fixed(100 * saved(each), decimals); };
  return shown(ratio) + " % less time than " + names[variant ? who.first : who.second] + " [" +
         shown(variant ? high : low) + ", " + shown(variant ? low : high) + "]";
}

/// What the winner saves in a launch, and the memory that it holds where the other one holds less.
inline std::string price_text(measure::comparison const& all, choice_of_group const& of) {
  if (of.by == nullptr) { return {}; }
  auto const who = *two_of(*of.by, all.variants.size());
  auto const winner = of.left.front();
  auto const other = winner == who.second ? who.first : who.second;
  auto const ratio = winner == who.second ? of.by->effect.ratio : 1 / of.by->effect.ratio;
  auto const whole = all.variants[other].on(all.primary).median;
  std::string text;
  if (whole > 0 && std::isfinite(whole)) {
    text = "It saves about " + duration(whole * (1 - ratio)) + " of " + duration(whole) +
           (all.primary == measure::clock::submit ? " an item" : " a launch");
  }
  auto const &mine = all.variants[winner].memory, &others = all.variants[other].memory;
  if (mine && others) {
    auto const held = [](auto const& each) {
      return each.reserved_bytes.value_or(each.peak_bytes);
    };
    auto const a = static_cast<double>(held(*mine)), b = static_cast<double>(held(*others));
    if (std::abs(a - b) > 0.01 * std::max(a, b)) {
      text += (text.empty() ? "It" : ", and it") + std::string{" holds "} + byte_size(a) +
              " of memory, not " + byte_size(b);
    }
  }
  return text.empty() ? text : text + ".";
}

/// Why nothing is chosen among the variants of a group.
inline std::string no_choice_text(measure::comparison const& all, choice_of_group const& of,
                                  std::vector<std::string> const& labels) {
  constexpr std::size_t most_names = 4;
  if (of.word == "WRONG ANSWER") {
    return "a result is wrong; mend or remove its variant before you choose";
  }
  if (of.left.empty()) { return "intervals contradict each other; measure again"; }
  std::string names;
  for (std::size_t i = 0; i < std::min(of.left.size(), most_names); ++i) {
    names += (i == 0 ? "" : i + 1 == of.left.size() ? " and " : ", ") + labels[of.left[i]];
  }
  if (of.left.size() > most_names) {
    names += " and " + count(of.left.size() - most_names) + " more";
  }
  return (of.word == "EQUIVALENT"
              ? "no difference that matters (" + setting_percent(all.margin) + ") between "
              : "no difference proven between ") +
         names + "; choose by other grounds";
}

}  // namespace assay::report::detail
