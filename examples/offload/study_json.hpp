// SPDX-License-Identifier: Apache-2.0
/// @file
/// A `dispatch_study` as JSON; needs nlohmann_json.
#pragma once

#include "study.hpp"

#include <assay/report/json_values.hpp>

namespace assay::examples {

/// The knots of each path, the links of the device, and for each kind of calls the crossovers and
/// the timed calls. Seconds; regrets as shares; null where a number is not finite.
inline report::document to_json(dispatch_study const& study) {
  using report::document;
  using report::detail::number;
  auto const& all = study.of.measured();
  auto const list = [](auto const& from, auto const& each) {
    auto made = document::array();
    for (auto const& one : from) { made.push_back(each(one)); }
    return made;
  };
  auto const interval = [](double is, double low, double high) {
    return document::array({number(is), number(low), number(high)});
  };
  auto const regret = [](measure::regret const& of) {
    return document{{"total", number(of.total)},
                    {"mean", number(of.mean)},
                    {"p95", number(of.p95)},
                    {"max", number(of.max)},
                    {"noise_floor", number(of.noise_floor)}};
  };
  auto const sweep = [&](offload_sweep const& of) {
    return document{{"last", of.last},
                    {"seconds", of.seconds},
                    {"thresholds", list(of.rows, [&](offload_row const& row) {
                       return document{{"host", all.paths[row.host].where.describe()},
                                       {"device", all.paths[row.device].where.describe()},
                                       {"swept", row.swept},
                                       {"predicted", row.predicted}};
                     })}};
  };
  document made{{"task", all.task},         {"cpu", all.cpu},
                {"device", all.device},     {"cores", all.cores},
                {"compiler", all.compiler}, {"started_at", all.started_at},
                {"seed", all.seed},         {"calibration_seconds", study.calibration_seconds}};
  made["links"] = list(all.links, [&](dispatch::link const& each) {
    return document{{"memory", in_words(each.memory)},
                    {"latency_seconds", number(each.latency_seconds)},
                    {"seconds_per_byte_in", number(each.seconds_per_byte_in)},
                    {"seconds_per_byte_back", number(each.seconds_per_byte_back)}};
  });
  made["paths"] = list(all.paths, [&](dispatch::path_costs const& each) {
    return document{
        {"path", each.where.describe()},
        {"wrong", each.wrong},
        {"knots", list(each.knots, [](dispatch::knot const& at) {
           return document::array({number(at.size), number(at.seconds), number(at.spread)});
         })}};
  });
  made["kinds"] = list(study.kinds, [&](call_kind const& kind) {
    document of{{"name", kind.name}};
    auto const call_of = [&](measure::timed_calls::call const& call) {
      document one{{"size", call.known.amount.size},
                   {"halves", list(call.halves, [&](auto const& half) {
                      return list(half, [](double each) { return number(each); });
                    })}};
      for (auto const& [name, value] : call.traced) { one[name] = number(value); }
      return one;
    };
    of["calls"] = list(kind.timed.calls, call_of);
    of["traced"] = list(kind.traced.calls, call_of);
    if (kind.sweep) { of["sweep"] = sweep(*kind.sweep); }
    if (!kind.at) { return of; }
    of["fastest"] = list(find_regions(study.of, kind.at), [&](region const& each) {
      return document{{"path", all.paths[each.path].where.describe()},
                      {"from", interval(each.from.size, each.from.low, each.from.high)}};
    });
    of["crossovers"] = document::array();
    for (auto const& first : all.paths) {
      auto const& last = all.paths.back();
      if (&first == &last || !first.wrong.empty() || !last.wrong.empty()) { continue; }
      auto const found = find_crossover(study.of, first.where, last.where, kind.at);
      of["crossovers"].push_back({{"first", first.where.describe()},
                                  {"second", last.where.describe()},
                                  {"second_is_faster", found.sizes_of_second()},
                                  {"sizes", list(found.crossings, [&](auto const& each) {
                                     return interval(each.size, each.low, each.high);
                                   })}});
    }
    of["bisected"] = list(kind.checks, [&](crossover_check const& each) {
      return document{{"first", each.predicted.first.describe()},
                      {"right", each.right},
                      {"sizes", list(each.crossings, [&](auto const& found) {
                         return interval(found.measured, found.low, found.high);
                       })}};
    });
    return of;
  });
  made["regrets"] = list(judge_choosers(study), [&](regret_row const& row) {
    return document{{"chooser", row.all.chooser},
                    {"name", row.name},
                    {"kinds", list(row.kinds, regret)},
                    {"all", regret(row.all)}};
  });
  return made;
}

}  // namespace assay::examples
