// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race`: the best of many callables on the host.
#pragma once

#include <assay/measure/callable_variants.hpp>
#include <assay/race/run_race.hpp>
#include <assay/race/space.hpp>
#include <assay/race/text.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A named callable of any kind that `compare_all` takes: on the host, or on a stream.
template <bool OnStream>
struct candidate {
  template <class F>
  candidate(std::string name, F callable, measure::constants of = {}) : constants(std::move(of)) {
    list.add(std::move(name), measure::detail::named(std::move(callable)));
  }

  measure::detail::callable_list<OnStream> list;  ///< of one
  measure::constants constants;
};

template <class F, class... Rest>
candidate(std::string, F, Rest...) -> candidate<measure::detail::on_stream<F>()>;

/// Finds the best of many: `race({candidate{"a", f}, candidate{"b", g}, ...})`.
///
/// See `run_race` for the procedure and `stats/elimination.hpp` for its error rate. `before` is the
/// result of an earlier race of the same candidates on the same device, which goes on. Blocks until
/// done. A candidate that throws or is wrong is listed with its reason. A CUDA error that spoils
/// the device fails all that come after it. Throws `std::invalid_argument` for less than two
/// candidates, equal or empty names, null callables, invalid options and a missing device.
template <bool OnStream>
race_result race(std::vector<candidate<OnStream>> const& all, options chosen = {},
                 race_result before = {}) {
  using support = measure::callable_support<OnStream>;
  if (!chosen.clock) { chosen.clock = support::default_clock; }
  if (!chosen.most_launches) { chosen.most_launches = support::most_launches; }
  std::vector<measure::variant> unbuilt;  // checked first: a device takes a second to answer
  for (auto const& each : all) {
    unbuilt.push_back({each.list.labels.front(), {}, [](auto const&) { return nullptr; }});
  }
  measure::detail::require_race(unbuilt, chosen, before);

  auto const with = std::make_shared<support>(chosen);
  auto const watch = with->watch();
  comparison here;
  watch.describe(here);
  if (!before.where.device.empty() && before.where.device != here.where.device) {
    throw std::invalid_argument("the race to resume ran on " + before.where.device + ", not on " +
                                here.where.device);
  }
  std::vector<measure::variant> variants;
  for (auto const& each : all) { variants.push_back(each.list.variants(with).front()); }
  auto found = run_race(variants, measure::watched(chosen, watch), std::move(before));
  here = {};
  watch.describe(here);
  found.where = here.where;
  for (auto const& note : here.notes) { (void)add_distinct(found.notes, note); }
  for (std::size_t i = 0; i < all.size(); ++i) { found.racers[i].constants = all[i].constants; }
  return found;
}

namespace measure::detail {

/// Candidates and options as `gather` finds them in a list of arguments.
template <bool OnStream>
struct candidate_list {
  std::vector<candidate<OnStream>> all;
  options chosen;
  template <class F>
  void add(std::string label, F callable) {
    all.emplace_back(std::move(label), std::move(callable));
  }
};

}  // namespace measure::detail

/// Finds the best of many: `race("a", f, "b", g, "c", h, options{.margin = 0.02})`; the options
/// come last and may be left out.
template <class F, class... Rest>
race_result race(std::string name, F callable, Rest... rest) {
  constexpr bool on_stream = measure::detail::on_stream<F>();
  measure::detail::candidate_list<on_stream> list;
  measure::detail::gather(list, std::move(name), std::move(callable), std::move(rest)...);
  return race(list.all, list.chosen);
}

/// Finds the best point of a space. `make(point)` returns a callable; it is called for each point.
template <class Make>
race_result race(space const& of, Make make, options const& chosen = {}, race_result before = {}) {
  constexpr bool on_stream =
      measure::detail::on_stream<std::invoke_result_t<Make&, point const&>>();
  std::vector<candidate<on_stream>> all;
  for (auto const& each : of.points()) { all.emplace_back(each.label(), make(each), each.values); }
  return race(all, chosen, std::move(before));
}

}  // namespace assay
