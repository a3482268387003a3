// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare_ranks`: which rank arrived last in each collective, how late, and what it did before;
/// the time in collectives split into waiting for the last rank and moving bytes.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/rank_matching.hpp>
#include <assay/trace/rank_trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// What a rank did in the time for which it alone held up collectives.
struct lateness {
  std::int64_t ns = 0;
  std::int64_t times = 0;
};

/// The time of a rank in collectives: `time_ns` is the sum of the three below it.
struct rank_sums {
  std::int64_t collectives = 0;
  std::int64_t time_ns = 0;
  std::int64_t waiting_ns = 0;  ///< until the last rank arrived
  std::int64_t moving_ns = 0;   ///< from then on
  std::int64_t unsplit_ns = 0;  ///< in collectives of which the last arrival is not known
  std::int64_t last = 0;        ///< collectives in which it arrived last
  std::int64_t held_up_ns = 0;  ///< summed over these: how much later than the last but one
  std::int64_t latest_ns = 0;   ///< the largest of these
  std::map<std::pair<string_id, string_id>, lateness> before;  ///< by activity and range

  void add(span when, std::int64_t waiting) noexcept {
    ++collectives;
    time_ns += when.length();
    waiting_ns += waiting;
    moving_ns += when.length() - waiting;
  }
  void add_unsplit(span when) noexcept {
    ++collectives;
    time_ns += when.length();
    unsplit_ns += when.length();
  }
};

/// One collective, from the view of the rank that arrived last.
struct late_arrival {
  std::size_t rank = 0;
  std::size_t number = 0;  ///< in its stream, from 0
  std::uint32_t stream = 0;
  string_id name = 0;
  string_id before = 0;  ///< the activity of most of the delay
  string_id range = 0;
  std::int64_t at = 0;         ///< by the clock of the reference
  std::int64_t late_ns = 0;    ///< behind the last but one
  std::int64_t waited_ns = 0;  ///< by all others together
};

/// The collectives of one name in one lane; times are sums over ranks.
struct collective_sums {
  std::size_t lane = 0;
  string_id name = 0;
  std::int64_t count = 0;
  rank_sums times;
};

/// The comparison. Names are numbers in the strings of the collector.
struct rank_comparison {
  matched_ranks matched;
  std::vector<rank_sums> ranks;
  std::vector<collective_sums> collectives;
  std::vector<late_arrival> latest;  ///< by falling `late_ns`
  std::int64_t split = 0;            ///< collectives that are split
  std::int64_t incomplete = 0;       ///< not split, since a rank lacks its part
  std::int64_t apart = 0;            ///< not split, since a rank left before the last one came
  std::int64_t other_grids = 0;      ///< split, though grids differ between ranks
};

namespace detail {

/// Compares the ranks of lanes, one collective after the other.
class rank_comparer {
 public:
  rank_comparer(rank_collector const& from, std::size_t most_latest)
      : ranks_(from.ranks()), most_(most_latest) {
    made_.matched = match_ranks(ranks_, from.files());
    made_.ranks.resize(ranks_.size());
  }

  rank_comparison compare() {
    for (std::size_t lane = 0; lane < made_.matched.lanes.size(); ++lane) { compare(lane); }
    std::ranges::stable_sort(made_.latest, std::greater{}, &late_arrival::late_ns);
    made_.latest.resize(std::min(made_.latest.size(), most_));
    return std::move(made_);
  }

 private:
  void compare(std::size_t number) {
    auto const& lane = made_.matched.lanes[number];
    auto const members = lane.ranks.size();
    std::map<string_id, std::size_t> rows;
    std::vector<std::vector<bool>> used;
    for (std::size_t m = 0; m < members; ++m) {
      used.emplace_back(made_.matched.stream(lane, m).runs.size());
    }
    auto const sums_of = [&](string_id name) -> collective_sums& {
      auto const [at, fresh] = rows.try_emplace(name, made_.collectives.size());
      if (fresh) { made_.collectives.push_back({number, name, 0, {}}); }
      return made_.collectives[at->second];
    };
    for (std::size_t n = 0; n < lane.size(); ++n) {
      for (std::size_t m = 0; m < members; ++m) {
        if (auto const row = lane.run(n, m); row != no_row) { used[m][row] = true; }
      }
      auto const reference = lane.run(n, lane.reference);
      if (reference == no_row) { continue; }
      auto& sums = sums_of(made_.matched.stream(lane, lane.reference).runs[reference].name);
      ++sums.count;
      compare(lane, n, sums);
    }
    for (std::size_t m = 0; m < members; ++m) {
      auto const& runs = made_.matched.stream(lane, m).runs;
      for (std::size_t row = 0; row < runs.size(); ++row) {
        if (used[m][row]) { continue; }
        made_.ranks[lane.ranks[m]].add_unsplit(runs[row].when);
        sums_of(runs[row].name).times.add_unsplit(runs[row].when);
      }
    }
  }

  void compare(collective_lane const& lane, std::size_t n, collective_sums& sums) {
    auto const members = lane.ranks.size();
    auto complete = members > 1;
    auto same_grid = true;
    std::size_t last = 0;
    auto last_begin = std::numeric_limits<std::int64_t>::min();
    auto before_last = last_begin, first_end = std::numeric_limits<std::int64_t>::max();
    double slack = 0;
    std::uint32_t blocks = 0;
    for (std::size_t m = 0; m < members; ++m) {
      auto const row = lane.run(n, m);
      if (row == no_row) {
        complete = false;
        continue;
      }
      auto const& run = made_.matched.stream(lane, m).runs[row];
      auto const& clock = made_.matched.clock(lane, m);
      auto const begin = clock(run.when.begin);
      if (begin > last_begin) {
        before_last = std::exchange(last_begin, begin);
        last = m;
      } else {
        before_last = std::max(before_last, begin);
      }
      first_end = std::min(first_end, clock(run.when.end));
      if (clock.origin == clock_origin::collectives) { slack = std::max(slack, clock.spread_ns); }
      same_grid = same_grid && (blocks == 0 || blocks == run.blocks);
      blocks = run.blocks;
    }
    auto const apart = static_cast<double>(last_begin - first_end) > slack;
    made_.incomplete += complete ? 0 : 1;
    made_.apart += complete && apart ? 1 : 0;
    auto const split = complete && !apart;
    made_.split += split ? 1 : 0;
    made_.other_grids += split && !same_grid ? 1 : 0;
    for (std::size_t m = 0; m < members; ++m) {
      auto const row = lane.run(n, m);
      if (row == no_row) { continue; }
      auto const when = made_.matched.stream(lane, m).runs[row].when;
      auto& rank = made_.ranks[lane.ranks[m]];
      if (!split) {
        rank.add_unsplit(when);
        sums.times.add_unsplit(when);
        continue;
      }
      auto const early = last_begin - made_.matched.clock(lane, m)(when.begin);
      auto const waiting = std::clamp<std::int64_t>(early, 0, when.length());
      rank.add(when, waiting);
      sums.times.add(when, waiting);
      waited_ += m == last ? 0 : waiting;
    }
    auto const waited = std::exchange(waited_, 0);
    if (split && last_begin > before_last) {
      tell_late(lane, n, last, last_begin, last_begin - before_last, waited);
    }
  }

  void tell_late(collective_lane const& lane, std::size_t n, std::size_t member, std::int64_t at,
                 std::int64_t late, std::int64_t waited) {
    auto const& stream = made_.matched.stream(lane, member);
    auto const& run = stream.runs[lane.run(n, member)];
    auto const rank = lane.ranks[member];
    auto& sums = made_.ranks[rank];
    ++sums.last;
    sums.held_up_ns += late;
    sums.latest_ns = std::max(sums.latest_ns, late);
    std::map<string_id, std::int64_t> did;
    each_activity(ranks_[rank], {run.when.begin - late, run.when.begin},
                  [&](string_id what, std::int64_t ns) { did[what] += ns; });
    string_id most = 0;
    for (auto const& [what, ns] : did) {
      auto& into = sums.before[{what, run.range}];
      into.ns += ns;
      ++into.times;
      if (most == 0 || ns > did[most]) { most = what; }
    }
    if (made_.latest.size() >= 4 * most_ + 1024) {  // keeps few of many
      std::ranges::nth_element(made_.latest,
                               made_.latest.begin() + static_cast<std::ptrdiff_t>(most_),
                               std::greater{}, &late_arrival::late_ns);
      made_.latest.resize(most_);
    }
    made_.latest.push_back({rank, n, stream.stream, run.name, most, run.range, at, late, waited});
  }

  /// Calls `use(what, ns)` for what a rank did in a time, which may begin before its first work:
  /// the name of that part is empty.
  template <class Use>
  static void each_activity(rank_trace const& of, span when, Use&& use) {
    auto const& line = of.timeline;
    auto at = std::ranges::upper_bound(line, when.begin, {}, &rank_activity::from);
    auto what = at == line.begin() ? string_id{0} : (at - 1)->what;
    for (; at != line.end() && at->from < when.end; ++at) {
      use(what, at->from - when.begin);
      when.begin = at->from;
      what = at->what;
    }
    use(what, when.length());
  }

  std::vector<rank_trace> const& ranks_;
  std::size_t most_;
  std::int64_t waited_ = 0;
  rank_comparison made_;
};

}  // namespace detail

/// Compares the ranks that were gathered, with the `most` latest arrivals. Throws
/// `std::invalid_argument` unless two ranks or more have collectives.
///
/// Ranks of one collective leave it together, so the n-th collectives of streams are matched by
/// their ends. A rank waits from its begin to the begin of the last rank, and moves bytes from then
/// on. The last rank is the last of those given: a rank whose trace is not given is not seen.
inline rank_comparison compare_ranks(rank_collector const& from, std::size_t most = 10) {
  std::size_t with = 0;
  for (auto const& each : from.ranks()) { with += each.streams.empty() ? 0U : 1U; }
  if (with < 2) {
    auto const pairs =
        std::ranges::any_of(from.ranks(), [](auto const& each) { return each.point_to_point > 0; });
    throw std::invalid_argument(concat(
        {std::to_string(with), " of ", std::to_string(from.ranks().size()),
         " devices ran collectives", pairs ? ", and transfers between two match of two alone" : "",
         ": a comparison of ranks needs two"}));
  }
  return detail::rank_comparer{from, most}.compare();
}

}  // namespace assay::trace
