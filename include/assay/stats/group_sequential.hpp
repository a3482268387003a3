// SPDX-License-Identifier: Apache-2.0
/// @file
/// The interim analyses of a comparison, and the part of the error level that each may spend.
#pragma once

#include <assay/stats/number_text.hpp>
#include <assay/stats/signed_rank.hpp>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::stats {

/// One interim analysis: its number of epochs, its level, and its critical value.
struct interim_analysis {
  int epochs = 0;
  double alpha = 0;
  int critical_value = -1;
};

/// The largest number of epochs of one comparison.
inline constexpr int most_epochs = 1000;

/// The number of epochs of the first analysis that has at least `epochs` of them: 8, 12, 16, 24,
/// then doubling.
inline int next_analysis(int epochs) {
  for (int const first : {8, 12, 16}) {
    if (epochs <= first) { return first; }
  }
  int next = 24;
  while (next < epochs) { next *= 2; }
  return next;
}

/// The interim analyses of a comparison with at most `max_epochs` epochs, for one of `family`
/// contrasts that share the level `alpha`.
///
/// The first analysis may spend a fifth of the level, because 8 epochs need .0078 of .05 for any
/// verdict. The others share the rest evenly. By the union bound, all intervals of all analyses and
/// contrasts hold together with probability 1 - alpha. So a comparison may stop at any analysis for
/// any reason. The signed-rank law is discrete, and the level that an analysis does not use goes to
/// the next one. An analysis at which even equal signs prove nothing is left out. Throws
/// `std::invalid_argument` where no analysis remains.
inline std::vector<interim_analysis> alpha_schedule(int max_epochs, double alpha,
                                                    std::size_t family) {
  if (!(alpha > 0 && alpha < 1)) {
    throw std::invalid_argument("alpha lies between 0 and 1, not " + number_text(alpha));
  }
  if (family == 0) { throw std::invalid_argument("a family has 1 contrast or more, not 0"); }
  if (max_epochs < 1 || max_epochs > most_epochs) {
    throw std::invalid_argument("the number of epochs lies between 1 and " +
                                std::to_string(most_epochs) + ", not " +
                                std::to_string(max_epochs));
  }
  std::vector<int> when;
  for (int at = next_analysis(1); at < max_epochs; at = next_analysis(at + 1)) {
    when.push_back(at);
  }
  when.push_back(max_epochs);
  double const own = alpha / static_cast<double>(family);
  double const later = when.size() > 1 ? 0.8 / static_cast<double>(when.size() - 1) : 0;
  std::vector<interim_analysis> all;
  double unspent = 0;
  for (std::size_t k = 0; k < when.size(); ++k) {
    unspent += own * (when.size() == 1 ? 1 : k == 0 ? 0.2 : later);
    auto const critical = static_cast<int>(signed_rank_critical_value(when[k], unspent));
    if (critical < 0) { continue; }
    all.push_back({when[k], unspent, critical});
    unspent -= attained_level(when[k], critical, unspent);
  }
  if (all.empty()) {
    // All n signs agree with probability 2^(1 - n).
    auto const least =
        static_cast<int>(std::ceil(1 + std::log2(static_cast<double>(family) / alpha)));
    throw std::invalid_argument("at most " + std::to_string(max_epochs) +
                                " epochs can prove nothing at a false-alarm rate of " +
                                number_text(100 * alpha) + " % over " + std::to_string(family) +
                                (family == 1 ? " contrast" : " contrasts") + ": allow " +
                                std::to_string(least) + " epochs or more");
  }
  return all;
}

}  // namespace assay::stats
