// SPDX-License-Identifier: Apache-2.0
/// @file
/// `race`: the best of many callables on the host.
#pragma once

#include <assay/measure/callables.hpp>
#include <assay/race/result.hpp>
#include <assay/race/space.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A named callable of any kind that `compare_all` takes: on the host, or on a stream.
struct candidate {
  template <class F>
  candidate(std::string name, F callable, measure::constants of = {})
      : called(callables::erase(std::move(name), callables::detail::named(std::move(callable)))),
        place(measure::detail::supported_place<measure::detail::on_stream<F>()>()),
        constants(std::move(of)) {}
  candidate(callables::erased_callable callable, measure::callable_place where)
      : called(std::move(callable)), place(where) {}

  callables::erased_callable called;
  measure::callable_place place;
  measure::constants constants{};
  measure::constant_texts texts{};
};

namespace measure {

/// Throws `std::invalid_argument` for names of parameters that `write_header` could not write.
void require_names(space const& of);

/// Races variants; `run_race`, unless ranks do it together.
using racing_function =
    std::function<race_result(std::vector<variant> const&, options const&, race_result)>;

/// As `race`, by this function.
race_result race_by(std::vector<candidate> const& all, options chosen, race_result before,
                    racing_function const& run);

}  // namespace measure

/// Finds the best of many: `race({{"a", f}, {"b", g}, ...})`, or a vector of candidates.
///
/// See `run_race` for the procedure and `stats/elimination.hpp` for its error rate. `before` is the
/// result of an earlier race of the same candidates on the same device, which goes on. Blocks until
/// done. A candidate that throws or is wrong is listed with its reason. A CUDA error that spoils
/// the device fails all that come after it. Throws `std::invalid_argument` for less than two
/// candidates, equal or empty names, null callables, work on the host beside work on a stream,
/// constants with names that no header can have, invalid options and a missing device.
race_result race(std::vector<candidate> const& all, options chosen = {}, race_result before = {});

/// Finds the best of many: `race("a", f, "b", g, "c", h, options{.margin = 0.02})`; the options
/// come last and may be left out.
template <class F, class... Rest>
race_result race(std::string name, F callable, Rest... rest) {
  constexpr bool on_stream = measure::detail::on_stream<F>();
  measure::callable_list list{measure::detail::supported_place<on_stream>(), {}, {}};
  measure::detail::gather<on_stream>(list, std::move(name), std::move(callable),
                                     std::move(rest)...);
  std::vector<candidate> all;
  for (auto& each : list.entries) { all.emplace_back(std::move(each), list.place); }
  return race(all, list.chosen);
}

/// Finds the best point of a space. `make(point)` returns a callable; it is called for each point.
/// Names of parameters are those of constants in C++, because `write_header` makes constants.
template <class Make>
race_result race(space const& of, Make make, options const& chosen = {}, race_result before = {}) {
  measure::require_names(of);
  std::vector<candidate> all;
  for (auto const& each : of.points()) {
    all.emplace_back(each.label(), make(each), each.values).texts = each.texts;
  }
  return race(all, chosen, std::move(before));
}

/// Writes `report::race_header` to a file. Throws `std::runtime_error` for a race without a winner,
/// `std::invalid_argument` for a name that C++ does not allow, and `file_error`.
void write_header(measure::race_result const& of, std::string const& path,
                  std::string const& in = "tuning");

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/race/race_definitions.hpp>
#endif
