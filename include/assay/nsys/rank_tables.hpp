// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables and sentences of a comparison of ranks.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/rank_clocks.hpp>
#include <assay/trace/rank_trace.hpp>
#include <assay/trace/ranks.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// The words for an activity of a rank.
inline std::string activity_name(rank_collector const& from, string_id what) {
  return what == 0 ? "before its first work" : std::string{from.strings()[what]};
}

/// `device 3 of process 17, b.sqlite`.
inline std::string rank_place(rank_collector const& from, std::size_t rank) {
  auto const& each = from.ranks()[rank];
  return concat({"device ", std::to_string(each.device), " of process ",
                 std::to_string(each.process), ", ", from.files()[each.file].path});
}

/// A row for each rank. Time is waiting, moving and unsplit time together.
inline table ranks_table(rank_comparison const& of, rank_collector const& from) {
  table result{"ranks", "Ranks",
               parse_columns("Rank, Collectives, Time (ns), Waiting (ns), Waiting (%):1, "
                             "Moving (ns), Unsplit (ns), Last, Held Up (ns), Latest (ns), "
                             "Point to Point (ns), Process, Device:t, File:t")};
  for (std::size_t rank = 0; rank < of.ranks.size(); ++rank) {
    auto const& sums = of.ranks[rank];
    auto const& place = from.ranks()[rank];
    result.add(rank, sums.collectives, sums.time_ns, sums.waiting_ns,
               percent_of(sums.waiting_ns, sums.time_ns), sums.moving_ns, sums.unsplit_ns,
               sums.last, sums.held_up_ns, sums.latest_ns, place.point_to_point_ns, place.process,
               place.device_name, from.files()[place.file].path);
  }
  return result;
}

/// What each rank did while it alone held up collectives, at most `most` rows a rank; then the rest
/// in one row.
inline table rank_causes_table(rank_comparison const& of, rank_collector const& from,
                               std::size_t most = 5) {
  table result{"rank_causes", "Before Late Arrivals",
               parse_columns("Rank, Held Up (ns), Held Up (%):1, Times, Before:t, Range:t")};
  for (std::size_t rank = 0; rank < of.ranks.size(); ++rank) {
    auto const& sums = of.ranks[rank];
    std::vector<std::pair<std::pair<string_id, string_id>, lateness>> all{sums.before.begin(),
                                                                          sums.before.end()};
    std::ranges::stable_sort(
        all, [](auto const& a, auto const& b) { return a.second.ns > b.second.ns; });
    lateness rest;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& [key, each] = all[i];
      if (i < most) {
        result.add(rank, each.ns, percent_of(each.ns, sums.held_up_ns), each.times,
                   activity_name(from, key.first), from.strings()[key.second]);
      } else {
        rest.ns += each.ns;
        rest.times += each.times;
      }
    }
    if (all.size() > most) {
      result.add(rank, rest.ns, percent_of(rest.ns, sums.held_up_ns), rest.times,
                 std::to_string(all.size() - most) + " others", "");
    }
  }
  return result;
}

/// Collectives by stream and name, with times summed over ranks.
inline table rank_collectives_table(rank_comparison const& of, rank_collector const& from) {
  table result{"rank_collectives", "Collectives",
               parse_columns("Count, Ranks, Time (ns), Waiting (ns), Waiting (%):1, Moving (ns), "
                             "Unsplit (ns), Stream, Collective:t")};
  for (auto const& each : of.collectives) {
    auto const& lane = of.matched.lanes[each.lane];
    auto const& times = each.times;
    result.add(each.count, lane.ranks.size(), times.time_ns, times.waiting_ns,
               percent_of(times.waiting_ns, times.time_ns), times.moving_ns, times.unsplit_ns,
               of.matched.stream(lane, lane.reference).stream, from.strings()[each.name]);
  }
  return result;
}

/// The latest arrivals.
inline table rank_arrivals_table(rank_comparison const& of, rank_collector const& from) {
  table result{"rank_arrivals", "Latest Arrivals",
               parse_columns("Rank, Late (ns), Others Waited (ns), At (ns), Number, Stream, "
                             "Before:t, Range:t, Collective:t")};
  for (auto const& each : of.latest) {
    result.add(each.rank, each.late_ns, each.waited_ns, each.at, each.number + 1, each.stream,
               activity_name(from, each.before), from.strings()[each.range],
               from.strings()[each.name]);
  }
  return result;
}

namespace detail {

inline std::string microseconds(double ns) {
  auto const tenths = std::llround(std::abs(ns) / 100);
  return concat({std::to_string(tenths / 10), ".", std::to_string(tenths % 10), " us"});
}

inline std::string plural(std::int64_t count, std::string const& one, std::string const& more) {
  return concat({std::to_string(count), " ", count == 1 ? one : more});
}

inline std::string clock_note(rank_clock const& clock, rank_file const& file,
                              rank_file const& reference) {
  if (clock.origin == clock_origin::host) {
    return concat({"The clock of ", file.path, " is that of ", reference.path, ", on ", file.host,
                   ": both tell when they began. Ends of collectives differ by ",
                   microseconds(clock.residual_ns), " (median)."});
  }
  if (clock.origin == clock_origin::unknown) {
    return concat({"The clock of ", file.path,
                   " is not known: it shares no collective with the other files."});
  }
  std::string text;
  if (clock.refuted_ns != 0) {
    text = concat({"The files say when they began on ", file.host,
                   ", but the collectives differ by ", microseconds(clock.refuted_ns), ". "});
  }
  text += concat({"The clock of ", file.path, " is estimated from the ends of ",
                  plural(static_cast<std::int64_t>(clock.pairs), "collective", "collectives"),
                  ": 95 % of them agree within ", microseconds(clock.spread_ns),
                  ", and arrivals are not known better."});
  if (clock.drift != 0) {
    auto const tenths = std::llround(std::abs(clock.drift) * 1e7);
    text += concat({" It drifts by ", std::to_string(tenths / 10), ".", std::to_string(tenths % 10),
                    " us in a second."});
  }
  return text;
}

inline std::string ranks_in_words(std::vector<std::size_t> const& ranks) {
  std::string text;
  for (auto const each : ranks) { text += (text.empty() ? "" : ", ") + std::to_string(each); }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace detail

/// What a reader of the tables has to know: clocks, and all that does not match.
inline std::vector<std::string> rank_notes(rank_comparison const& of, rank_collector const& from) {
  using detail::plural;
  std::vector<std::string> notes;
  auto const& clocks = of.matched.clocks;
  notes.push_back(concat({plural(of.split, "collective", "collectives"), " of ",
                          std::to_string(of.ranks.size()), " ranks in ",
                          plural(static_cast<std::int64_t>(clocks.size()), "file", "files"),
                          " are split into waiting and moving."}));
  auto const origin = std::ranges::find(clocks, clock_origin::reference, &rank_clock::origin);
  for (std::size_t file = 0; origin != clocks.end() && file < clocks.size(); ++file) {
    if (clocks[file].origin == clock_origin::reference) { continue; }
    auto const at = static_cast<std::size_t>(origin - clocks.begin());
    notes.push_back(detail::clock_note(clocks[file], from.files()[file], from.files()[at]));
  }
  std::size_t most = 0;
  for (auto const& each : from.ranks()) { most += each.streams.empty() ? 0U : 1U; }
  for (auto const& lane : of.matched.lanes) {
    auto const& reference = of.matched.stream(lane, lane.reference);
    auto const where = "stream " + std::to_string(reference.stream) +
                       (reference.communicator == 0
                            ? ""
                            : " of communicator " + std::to_string(reference.communicator));
    if (lane.ranks.size() < most) {
      notes.push_back(concat({"In ", where, ", ", detail::ranks_in_words(lane.ranks), " of ",
                              std::to_string(most), " ran collectives",
                              lane.ranks.size() == 1 ? ", which are not split." : "."}));
    }
    for (std::size_t m = 0; m < lane.ranks.size(); ++m) {
      std::int64_t missing = 0;
      for (std::size_t n = 0; n < lane.size(); ++n) { missing += lane.run(n, m) == no_row ? 1 : 0; }
      auto const alone = lane.alone.empty() ? 0 : lane.alone[m];
      if (missing == 0 && alone == 0) { continue; }
      notes.push_back(concat(
          {"Rank ", std::to_string(lane.ranks[m]), " lacks ", std::to_string(missing), " of the ",
           plural(static_cast<std::int64_t>(lane.size()), "collective", "collectives"),
           " that rank ", std::to_string(lane.ranks[lane.reference]), " has in ", where,
           alone == 0 ? "" : concat({", and has ", std::to_string(alone), " others"}), "."}));
    }
  }
  auto const tell = [&](std::int64_t count, std::string const& why) {
    if (count > 0) {
      notes.push_back(concat({plural(count, "collective is", "collectives are"), " ", why}));
    }
  };
  tell(of.incomplete, "not split, since a rank lacks its part.");
  tell(of.apart,
       "not split: a rank left before the last one came. Such ranks are of several communicators, "
       "or a clock is wrong. Name the files of one communicator, and its stream by --stream.");
  tell(of.other_grids, "split though grids differ between ranks: sizes may differ.");
  for (std::size_t rank = 0; rank < from.ranks().size(); ++rank) {
    auto const& each = from.ranks()[rank];
    auto const name = concat({"Rank ", std::to_string(rank), " (", rank_place(from, rank), ")"});
    if (each.point_to_point > 0) {
      notes.push_back(
          concat({name, " has ", plural(each.point_to_point, "kernel", "kernels"),
                  " of point-to-point transfers, which are not split: no trace names the "
                  "partner."}));
    }
    if (!each.streams.empty()) { continue; }
    notes.push_back(
        concat({name, " has no collectives",
                each.whole_graphs > 0 ? ": graphs that were recorded whole hide kernels." : "."}));
  }
  for (auto const& file : from.files()) {
    auto const number = static_cast<std::size_t>(&file - from.files().data());
    auto const has = [&](rank_trace const& each) { return each.file == number; };
    if (std::ranges::none_of(from.ranks(), has)) {
      notes.push_back(file.path + " has no work of a device, and so no rank.");
    }
  }
  return notes;
}

/// The notes as a table, for formats that have no sentences.
inline table rank_notes_table(std::vector<std::string> const& notes) {
  table result{"rank_notes", "Notes on Ranks", parse_columns("Note:t")};
  for (auto const& each : notes) { result.add(each); }
  return result;
}

/// All tables of a comparison, the notes last.
inline std::vector<table> rank_tables(rank_comparison const& of, rank_collector const& from,
                                      std::vector<std::string> const& notes) {
  return {ranks_table(of, from), rank_causes_table(of, from), rank_collectives_table(of, from),
          rank_arrivals_table(of, from), rank_notes_table(notes)};
}

}  // namespace assay::trace
