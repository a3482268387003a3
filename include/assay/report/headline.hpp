// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one sentence that a report begins with, and a saved result beside a new one.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/short_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::report {

/// The verdict of a comparison: a word, and a sentence with its full stop.
struct headline {
  std::string verdict;  ///< empty where several verdicts are counted
  std::string sentence;
  measure::finding const* of = nullptr;  ///< the finding that the sentence is about
};

/// The headline: a wrong answer if there is one, else the interaction, else the only verdict, else
/// the number of verdicts of each kind.
inline headline headline_of(measure::comparison const& all) {
  std::vector<measure::finding const*> primary;
  for (auto const& each : all.findings) {
    if (each.primary) { primary.push_back(&each); }
  }
  auto const about = [&](auto const& is) {
    auto const found = std::ranges::find_if(primary, [&](auto const* each) { return is(*each); });
    return found == primary.end() ? nullptr : *found;
  };
  auto const* one =
      about([](auto const& each) { return each.outcome == measure::verdict::wrong_answer; });
  if (one == nullptr) {
    one = about([](auto const& each) { return each.what == measure::contrast::kind::interaction; });
  }
  if (one == nullptr && primary.size() == 1) { one = primary.front(); }
  if (one != nullptr) { return {detail::verdict_text(*one), sentence(*one, all) + ".", one}; }
  if (!all.failure.empty()) {
    return {"", concat({"The comparison ended early: ", all.failure, "."}), {}};
  }
  if (primary.empty()) { return {"", "Nothing was compared.", nullptr}; }
  // The most frequent first; of equals the one that came first.
  std::vector<std::tuple<int, std::size_t, std::string>> counts;
  auto const word_of = [](auto const& of) -> std::string const& { return std::get<2>(of); };
  for (auto const* each : primary) {
    auto const word = detail::verdict_text(*each);
    auto const known = std::ranges::find(counts, word, word_of);
    --std::get<0>(known == counts.end() ? counts.emplace_back(0, counts.size(), word) : *known);
  }
  std::ranges::sort(counts);
  std::string text;
  for (auto const& [less, place, word] : counts) {
    text += concat({text.empty() ? "" : "; ", std::to_string(-less), " ", word});
  }
  return {"",
          concat({std::to_string(primary.size()), " verdicts, each against a control (",
                  to_string(all.primary), " clock): ", text, "."}),
          nullptr};
}

/// The warning that every report prints beside a saved result.
inline constexpr auto baseline_caveat =
    "A saved result proves nothing about this one: machine, clocks and day may differ. "
    "To judge a change, compare both builds in one run (assay_compare).";

/// A finding, and the finding on the same contrast and clock in a saved result.
struct baseline_pair {
  measure::finding const* now = nullptr;
  measure::finding const* saved = nullptr;  ///< null where the saved result lacks it
};

inline std::vector<baseline_pair> beside(measure::comparison const& now,
                                         measure::comparison const& saved) {
  std::vector<baseline_pair> pairs;
  for (auto const& each : now.findings) {
    auto const same = std::ranges::find_if(saved.findings, [&](auto const& other) {
      return other.contrast_name == each.contrast_name && other.on == each.on;
    });
    pairs.push_back({&each, same == saved.findings.end() ? nullptr : &*same});
  }
  return pairs;
}

/// The machine and the build of a result, on one line.
inline std::string origin_text(measure::comparison const& of) {
  std::string text;
  for (auto const& each :
       {of.where.device.empty() ? of.where.host_cpu : of.where.device,
        of.where.commit.empty() ? "" : "commit " + of.where.commit, of.where.started_at}) {
    if (!each.empty()) { text += (text.empty() ? "" : ", ") + each; }
  }
  return text;
}

}  // namespace assay::report
