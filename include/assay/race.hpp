// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race`: the best of many callables on the host.
#pragma once

#include <assay/measure/callable_variants.hpp>
#include <assay/race/names.hpp>
#include <assay/race/run_race.hpp>
#include <assay/race/space.hpp>
#include <assay/race/text.hpp>

#include <any>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct candidate;

namespace measure::detail {

template <bool OnStream>
race_result race_callables(std::vector<candidate> const& all, options chosen, race_result before);

}  // namespace measure::detail

/// A named callable of any kind that `compare_all` takes: on the host, or on a stream.
struct candidate {
  template <class F>
  candidate(std::string name, F callable, measure::constants of = {}) : constants(std::move(of)) {
    constexpr bool on_stream = measure::detail::on_stream<F>();
    measure::detail::callable_list<on_stream> one;
    one.add(std::move(name), measure::detail::named(std::move(callable)));
    list_ = std::move(one);
    race_ = measure::detail::race_callables<on_stream>;
  }

  /// The callable, as a list of one.
  template <bool OnStream>
  measure::detail::callable_list<OnStream> const& list() const {
    return std::any_cast<measure::detail::callable_list<OnStream> const&>(list_);
  }

  measure::constants constants;
  measure::constant_texts texts{};

 private:
  friend race_result race(std::vector<candidate> const& all, options chosen, race_result before);
  std::any list_;
  race_result (*race_)(std::vector<candidate> const&, options, race_result) = nullptr;
};

namespace measure::detail {

template <bool OnStream>
race_result race_callables(std::vector<candidate> const& all, options chosen, race_result before) {
  using support = callable_support<OnStream>;
  if (!chosen.clock) { chosen.clock = support::default_clock; }
  if (!chosen.most_launches) { chosen.most_launches = support::most_launches; }
  std::vector<variant> unbuilt;  // checked first: a device takes a second to answer
  for (auto const& each : all) {
    unbuilt.push_back(
        {each.list<OnStream>().entries.front().label, {}, [](auto const&) { return nullptr; }});
  }
  require_race(unbuilt, chosen, before);

  auto const with = std::make_shared<support>(chosen);
  auto const watch = with->watch();
  comparison here;
  watch.describe(here);
  if (!before.where.device.empty() && before.where.device != here.where.device) {
    throw std::invalid_argument("the race to resume ran on " + before.where.device + ", not on " +
                                here.where.device);
  }
  callable_list<OnStream> list;
  list.chosen = chosen;
  for (auto const& each : all) { list.entries.push_back(each.list<OnStream>().entries.front()); }
  bool const own_buffers = list.keeps_own_buffers(*with);
  auto found =
      run_race(list.variants(with, own_buffers), watched(chosen, watch), std::move(before));
  for (auto const& note : list.scope(own_buffers)) { (void)add_distinct(found.notes, note); }
  here = {};
  watch.describe(here);
  found.where = here.where;
  for (auto const& note : here.notes) { (void)add_distinct(found.notes, note); }
  for (std::size_t i = 0; i < all.size(); ++i) {
    found.racers[i].constants = all[i].constants;
    found.racers[i].texts = all[i].texts;
  }
  return found;
}

}  // namespace measure::detail

/// Finds the best of many: `race({{"a", f}, {"b", g}, ...})`, or a vector of candidates.
///
/// See `run_race` for the procedure and `stats/elimination.hpp` for its error rate. `before` is the
/// result of an earlier race of the same candidates on the same device, which goes on. Blocks until
/// done. A candidate that throws or is wrong is listed with its reason. A CUDA error that spoils
/// the device fails all that come after it. Throws `std::invalid_argument` for less than two
/// candidates, equal or empty names, null callables, work on the host beside work on a stream,
/// constants with names that no header can have, invalid options and a missing device.
inline race_result race(std::vector<candidate> const& all, options chosen = {},
                        race_result before = {}) {
  for (auto const& each : all) {
    measure::racer made;
    made.constants = each.constants;
    made.texts = each.texts;
    measure::detail::require_constants(made.parameters());
    if (each.race_ == all.front().race_) { continue; }
    throw std::invalid_argument(
        "one race cannot hold work on the host against work on a stream: race each kind by itself");
  }
  measure::detail::require(!all.empty(), "a race needs 2 candidates or more, not 0");
  return all.front().race_(all, std::move(chosen), std::move(before));
}

namespace measure::detail {

/// Candidates and options as `gather` finds them in a list of arguments.
template <bool OnStream>
struct candidate_list {
  std::vector<candidate> all;
  options chosen;
  template <class F>
  void add(std::string label, F callable) {
    static_assert(measure::detail::on_stream<F>() == OnStream,
                  "one race cannot hold work on the host against work on a stream");
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
/// Names of parameters are those of constants in C++, because `write_header` makes constants.
template <class Make>
race_result race(space const& of, Make make, options const& chosen = {}, race_result before = {}) {
  measure::detail::require_constants(of.names());
  std::vector<candidate> all;
  for (auto const& each : of.points()) {
    all.emplace_back(each.label(), make(each), each.values).texts = each.texts;
  }
  return race(all, chosen, std::move(before));
}

}  // namespace assay
