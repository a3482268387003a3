// SPDX-License-Identifier: Apache-2.0
/// @file
/// `call_errors`, `stage_pairs`: how far predictions are from timed and from traced calls.
#pragma once

#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/timed_calls.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// The error of the predicted time of one call on one path.
struct call_error {
  std::size_t path = 0;
  double of_prediction = 0;  ///< predicted / measured - 1
  double of_noise = 0;       ///< of each half against both, without its sign
  bool held = false;         ///< the time lies in the interval of the prediction
};

/// The errors of all calls on all paths that are possible.
inline std::vector<call_error> call_errors(dispatch::costs const& of,
                                           dispatch::timed_calls const& timed) {
  std::vector<call_error> all;
  for (auto const& call : timed.calls) {
    for (std::size_t p = 0; p < of.paths().size(); ++p) {
      auto const [first, second] = std::pair{call.halves[0][p], call.halves[1][p]};
      double const measured = 0.5 * (first + second);
      if (!std::isfinite(measured)) { continue; }
      auto const said = of.predict(p, call.known).total;
      all.push_back({p, said.seconds / measured - 1, std::abs(first - second) / (first + second),
                     said.low <= measured && measured <= said.high});
    }
  }
  return all;
}

/// A stage of a call: its predicted and its traced seconds.
struct stage_pair {
  std::string stage;  ///< `copies_in`, `work`, `copies_back`
  double predicted = 0;
  double traced = 0;
};

/// The stages of all traced calls. A traced value with the name of an item of a prediction, such as
/// `copies_in_seconds` of the item `copies in`, is its stage.
inline std::vector<stage_pair> stage_pairs(dispatch::costs const& of,
                                           dispatch::timed_calls const& timed) {
  std::vector<stage_pair> all;
  auto const path = dispatch::traced_path(of);
  for (auto const& call : timed.calls) {
    if (call.traced.empty() || !path) { continue; }
    for (auto const& item : of.predict(*path, call.known).items) {
      std::string stage{item.name};
      std::ranges::replace(stage, ' ', '_');
      for (auto const& [name, value] : call.traced) {
        if (name == stage + "_seconds") { all.push_back({stage, item.seconds, value}); }
      }
    }
  }
  return all;
}

}  // namespace assay::examples
