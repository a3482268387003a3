// SPDX-License-Identifier: Apache-2.0
/// @file
/// How other tools decide whether two samples of times differ, each written from its published
/// rule.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::benchmark::rules {

/// What a rule says of the candidate against the reference.
enum class answer { same, faster, slower, undecided };

constexpr std::string_view to_string(answer which) noexcept {
  constexpr std::array<std::string_view, 4> names{"SAME", "FASTER", "SLOWER", "UNDECIDED"};
  return names[static_cast<std::size_t>(which)];
}

/// Times in seconds, in the order that they were measured; at least two.
using sample = std::vector<double>;

inline double mean(sample const& times) {
  if (times.size() < 2) { throw std::invalid_argument("a rule needs 2 times or more per sample"); }
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

/// The unbiased variance.
inline double variance(sample const& times) {
  double const centre = mean(times);
  double sum = 0;
  for (double const time : times) { sum += (time - centre) * (time - centre); }
  return sum / static_cast<double>(times.size() - 1);
}

inline answer by_sign(double difference) {
  return difference > 0 ? answer::slower : answer::faster;
}

/// nvbench_compare until 2026, as issue 316 of NVIDIA/nvbench writes it out: SAME while the
/// relative difference of the means is at most the smaller of the two relative standard deviations.
inline answer nvbench_legacy(sample const& reference, sample const& candidate) {
  double const a = mean(reference);
  double const b = mean(candidate);
  double const noise =
      std::min(std::sqrt(variance(reference)) / a, std::sqrt(variance(candidate)) / b);
  return std::abs(b - a) / a <= noise ? answer::same : by_sign(b - a);
}

/// The share of `of` that has a value of sorted `others` within `tolerance` of its logarithm.
inline double coverage(sample const& of, sample const& others, double tolerance) {
  std::size_t near = 0;
  for (double const value : of) {
    auto const above = std::lower_bound(others.begin(), others.end(), value);
    bool const up = above != others.end() && std::log(*above / value) <= tolerance;
    bool const down = above != others.begin() && std::log(value / *(above - 1)) <= tolerance;
    near += up || down ? 1 : 0;
  }
  return static_cast<double>(near) / static_cast<double>(of.size());
}

/// nvbench_compare_robust with its defaults (pull request 386 of NVIDIA/nvbench), on times alone;
/// the tool also wants the same of cycles, where it has them, which can only take answers away.
///
/// FASTER or SLOWER: the intervals [minimum, third quartile] lie apart by 0.5 % or more. SAME: both
/// ways 97 % of the values, and 80 % of the distinct values, have a neighbour within 0.5 %.
inline answer nvbench_robust(sample const& reference, sample const& candidate) {
  auto a = reference;
  auto b = candidate;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  auto const third_quartile = [](sample const& sorted) {
    double const at = 0.75 * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(at);
    auto const above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  };
  constexpr double gap = 0.005;
  if (b.front() >= third_quartile(a) * (1 + gap)) { return answer::slower; }
  if (a.front() >= third_quartile(b) * (1 + gap)) { return answer::faster; }
  double const of_samples = std::min(coverage(a, b, gap), coverage(b, a, gap));
  a.erase(std::unique(a.begin(), a.end()), a.end());
  b.erase(std::unique(b.begin(), b.end()), b.end());
  double const of_support = std::min(coverage(a, b, gap), coverage(b, a, gap));
  return of_samples >= 0.97 && of_support >= 0.8 ? answer::same : answer::undecided;
}

/// Welch's two-sided t test at 5 %: what most people's scripts do with two columns of times.
///
/// The critical value is Fisher and Cornish's expansion in 1 / degrees of freedom: within 0.003
/// from 10 degrees upwards.
inline answer welch(sample const& reference, sample const& candidate) {
  double const va = variance(reference) / static_cast<double>(reference.size());
  double const vb = variance(candidate) / static_cast<double>(candidate.size());
  double const difference = mean(candidate) - mean(reference);
  if (va + vb == 0) { return difference == 0 ? answer::same : by_sign(difference); }
  double const degrees = (va + vb) * (va + vb) /
                         (va * va / static_cast<double>(reference.size() - 1) +
                          vb * vb / static_cast<double>(candidate.size() - 1));
  constexpr double z = 1.959963985;
  double const critical = z + (z * z * z + z) / (4 * degrees) +
                          (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * degrees * degrees);
  return std::abs(difference) / std::sqrt(va + vb) < critical ? answer::same : by_sign(difference);
}

/// Mann and Whitney's two-sided U test at 5 %: normal law, with corrections for ties and
/// continuity.
inline answer mann_whitney(sample const& reference, sample const& candidate) {
  auto const n = static_cast<double>(reference.size());
  auto const m = static_cast<double>(candidate.size());
  std::vector<std::pair<double, bool>> all;  // a time, and whether it is the candidate's
  for (double const time : reference) { all.emplace_back(time, false); }
  for (double const time : candidate) { all.emplace_back(time, true); }
  std::sort(all.begin(), all.end());
  double ranks = 0;
  double ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) { ++end; }
    auto const tied = static_cast<double>(end - i);
    ties += tied * tied * tied - tied;
    double const rank = 0.5 * static_cast<double>(i + 1 + end);
    for (; i < end; ++i) { ranks += all[i].second ? rank : 0; }
  }
  double const excess = ranks - m * (m + 1) / 2 - n * m / 2;
  double const spread = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  if (!(spread > 0)) { return answer::same; }
  double const z = (std::abs(excess) - 0.5) / std::sqrt(spread);
  return z < 1.959963985 ? answer::same : by_sign(excess);
}

/// Google Benchmark's compare.py: the U test at 5 % on the means of repetitions, for which it asks
/// for nine. A repetition is a ninth of the sample, in the order of measurement.
inline answer google_benchmark(sample const& reference, sample const& candidate) {
  constexpr std::size_t repetitions = 9;
  auto const means = [](sample const& times) {
    if (times.size() < repetitions) {
      throw std::invalid_argument("nine repetitions need 9 times or more");
    }
    sample each;
    for (std::size_t r = 0; r < repetitions; ++r) {
      auto const from = static_cast<std::ptrdiff_t>(r * times.size() / repetitions);
      auto const to = static_cast<std::ptrdiff_t>((r + 1) * times.size() / repetitions);
      each.push_back(std::accumulate(times.begin() + from, times.begin() + to, 0.0) /
                     static_cast<double>(to - from));
    }
    return each;
  };
  return mann_whitney(means(reference), means(candidate));
}

/// A rule and its name.
struct rule {
  std::string_view name;
  answer (*judge)(sample const& reference, sample const& candidate);
};

inline constexpr std::array all{rule{"nvbench legacy", nvbench_legacy},
                                rule{"nvbench robust", nvbench_robust}, rule{"Welch t", welch},
                                rule{"Mann-Whitney", mann_whitney},
                                rule{"Google Benchmark, 9 repetitions", google_benchmark}};

}  // namespace assay::benchmark::rules
