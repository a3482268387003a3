// SPDX-License-Identifier: Apache-2.0
/// @file
/// `serve(ranks, argc, argv, cases)`: cases that all ranks of a world run together.
#pragma once

#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve.hpp>
#include <assay/serve/follow.hpp>
#include <assay/serve/measure_together.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/serve/ranks_subject.hpp>
#include <assay/world/world.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace assay {

/// Offers cases of all ranks for comparison: rank 0 speaks with assay_compare, or with a user, and
/// the others follow. All ranks call it with the same cases in the same order, and return the exit
/// code of rank 0. A time is that of the slowest rank on the clock that decides; see `serve` of
/// <assay/serve.hpp>. Two ranks with one GPU are refused when a case is built there, unless
/// `ranks_share_gpus` allows it. `callable_variant` gives a case options, a barrier among them.
///
/// assay_compare gives its socket to the program that it starts, and the launcher has to give it to
/// rank 0 as an open descriptor. Between two requests the ranks wait for at most twice the limit of
/// the world.
inline int serve(world const& all, int argc, char const* const* argv,
                 std::vector<served_case> cases, bool ranks_share_gpus = false) {
  namespace served = measure::served;
  std::vector<measure::variant> works;
  for (auto const& each : cases) {
    works.push_back(each.work);
    works.back().label = each.name;
  }
  options const chosen{.ranks_share_gpus = ranks_share_gpus};
  served::require_agreement(all, works, chosen);
  if (all.rank() != 0) {
    return served::to_number<int>(served::at(measure::follow(all, works, chosen), 1));
  }
  auto const by = std::make_shared<served::leader>(all, works, chosen);
  auto const together = measure::led(by, works);
  for (std::size_t i = 0; i < cases.size(); ++i) { cases[i].work = together[i]; }
  int const code = serve(argc, argv, cases);
  (void)all.broadcast(served::encode({"end", std::to_string(code)}));
  return code;
}

}  // namespace assay
