// SPDX-License-Identifier: Apache-2.0
/// @file
/// When a running comparison may be judged, and what each judgement may cost of the error level.
#pragma once

#include <assay/measure/signed_rank.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::measure {

/// One look: after how many epochs, at which level, with which critical value.
struct look {
  int epochs = 0;
  double alpha = 0;
  int critical_value = -1;
};

/// Most epochs that one comparison may have: a signed-rank law of 1000 values still takes
/// milliseconds, and no comparison that needs more is worth its answer.
inline constexpr int most_epochs = 1000;

/// The looks of a comparison that ends after at most `max_epochs`, for one of `family` contrasts.
///
/// They come after a third, half, two thirds and all of the epochs (8, 12, 16, 24 by default) and
/// spend 1/5, 1/5, 3/10 and 3/10 of alpha: .010, .010, .015, .015 of .05. By the union bound all
/// intervals over all looks and contrasts hold together at 1 - alpha, so peeking is free. A look at
/// which even unanimous signs would prove nothing is passed over and leaves its share to the next;
/// which ones those are depends on no data. Throws when none is left.
inline std::vector<look> draw_up_looks(int max_epochs, double alpha, std::size_t family) {
  if (!(alpha > 0 && alpha < 1)) {
    throw std::invalid_argument("alpha lies between 0 and 1, not " + std::to_string(alpha));
  }
  if (family == 0) { throw std::invalid_argument("a family has 1 contrast or more, not 0"); }
  if (max_epochs < 1 || max_epochs > most_epochs) {
    throw std::invalid_argument("max_epochs lies between 1 and " + std::to_string(most_epochs) +
                                ", not " + std::to_string(max_epochs));
  }
  constexpr std::array<double, 4> when{1.0 / 3, 1.0 / 2, 2.0 / 3, 1.0};
  constexpr std::array<double, 4> shares{0.2, 0.2, 0.3, 0.3};
  std::vector<look> looks;
  double unspent = 0;
  for (std::size_t k = 0; k < when.size(); ++k) {
    int const epochs = std::max(1, static_cast<int>(when[k] * max_epochs + 0.5));
    unspent += shares[k] * alpha / static_cast<double>(family);
    int const critical = signed_rank_critical_value(epochs, unspent);
    bool const repeated = k + 1 < when.size() &&
                          epochs == std::max(1, static_cast<int>(when[k + 1] * max_epochs + 0.5));
    if (critical < 0 || repeated) { continue; }
    looks.push_back({epochs, unspent, critical});
    unspent = 0;
  }
  if (looks.empty()) {
    // Signs that all agree have a probability of 2^(1 - n).
    auto const least =
        static_cast<int>(std::ceil(1 + std::log2(static_cast<double>(family) / alpha)));
    throw std::invalid_argument("max_epochs = " + std::to_string(max_epochs) +
                                " can prove nothing at alpha = " + std::to_string(alpha) +
                                " over " + std::to_string(family) + " contrasts: allow " +
                                std::to_string(least) + " epochs or more");
  }
  return looks;
}

}  // namespace assay::measure
