// SPDX-License-Identifier: Apache-2.0
/// @file
/// `match_ranks`: the streams of ranks that belong together, the clocks of their files, and the
/// collectives of these streams by number.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/rank_clocks.hpp>
#include <assay/trace/rank_trace.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Streams of several ranks, at most one of each, with the same collectives in the same order.
struct collective_lane {
  std::vector<std::size_t> ranks;    ///< the members, by rank
  std::vector<std::size_t> streams;  ///< the number of the stream in each member's list
  std::size_t reference = 0;         ///< the member with the most collectives
  /// For each collective of the reference the run of each member, one collective after the other;
  /// `no_row`: the member's trace lacks it.
  std::vector<row_index> runs;
  std::vector<std::int64_t> alone{};  ///< runs of each member without a partner in the reference

  std::size_t size() const noexcept { return ranks.empty() ? 0 : runs.size() / ranks.size(); }
  row_index run(std::size_t number, std::size_t member) const {
    return runs[number * ranks.size() + member];
  }
};

/// Ranks whose collectives are matched.
struct matched_ranks {
  std::vector<rank_trace> const* ranks = nullptr;
  std::vector<rank_clock> clocks;  ///< by file
  std::vector<collective_lane> lanes;

  collective_stream const& stream(collective_lane const& of, std::size_t member) const {
    return (*ranks)[of.ranks[member]].streams[of.streams[member]];
  }
  rank_clock const& clock(collective_lane const& of, std::size_t member) const {
    return clocks[(*ranks)[of.ranks[member]].file];
  }
};

namespace detail {

/// The part of the longer of two streams that the other one has too, by names.
inline double likeness(collective_stream const& a, collective_stream const& b) {
  std::map<string_id, std::int64_t> counts;
  for (auto const& each : a.runs) { ++counts[each.name]; }
  std::int64_t common = 0;
  for (auto const& each : b.runs) { common += --counts[each.name] >= 0 ? 1 : 0; }
  return static_cast<double>(common) / static_cast<double>(std::max(a.runs.size(), b.runs.size()));
}

/// Joins streams, never those of two known communicators: first those of one communicator; of
/// streams alike by half or more those with equal numbers, then those with equal places in the
/// order of first use, then the most alike.
inline std::vector<collective_lane> lanes_of(std::vector<rank_trace> const& ranks) {
  std::vector<std::vector<bool>> taken;
  for (auto const& each : ranks) { taken.emplace_back(each.streams.size()); }
  std::vector<collective_lane> lanes;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t s = 0; s < ranks[rank].streams.size(); ++s) {
      if (taken[rank][s]) { continue; }
      auto const& stream = ranks[rank].streams[s];
      auto& lane = lanes.emplace_back(collective_lane{{rank}, {s}, 0, {}});
      for (std::size_t other = rank + 1; other < ranks.size(); ++other) {
        auto const& candidates = ranks[other].streams;
        std::tuple<bool, bool, bool, bool, double> best{};
        auto found = candidates.size();
        for (std::size_t c = 0; c < candidates.size(); ++c) {
          auto const by = stream.communicator, to = candidates[c].communicator;
          if (taken[other][c] || (by != to && by != 0 && to != 0)) { continue; }
          auto const alike = likeness(stream, candidates[c]);
          auto const key = std::tuple{by == to && by != 0, alike >= 0.5,
                                      candidates[c].stream == stream.stream, c == s, alike};
          if (alike > 0 && (found == candidates.size() || key > best)) {
            best = key;
            found = c;
          }
        }
        if (found == candidates.size()) { continue; }
        taken[other][found] = true;
        lane.ranks.push_back(other);
        lane.streams.push_back(found);
      }
      for (std::size_t m = 1; m < lane.ranks.size(); ++m) {
        auto const size = [&](std::size_t member) {
          return ranks[lane.ranks[member]].streams[lane.streams[member]].runs.size();
        };
        if (size(m) > size(lane.reference)) { lane.reference = m; }
      }
    }
  }
  return lanes;
}

/// Matches the collectives of a lane by their ends: two belong together if each is the other's
/// nearest, and have one name.
inline void match_by_ends(matched_ranks const& in, collective_lane& lane) {
  auto const members = lane.ranks.size();
  auto const& wanted = in.stream(lane, lane.reference).runs;
  lane.runs.assign(wanted.size() * members, no_row);
  lane.alone.assign(members, 0);
  for (std::size_t m = 0; m < members; ++m) {
    auto const& runs = in.stream(lane, m).runs;
    auto const& to = in.clock(lane, lane.reference);
    auto const& by = in.clock(lane, m);
    auto const apart = [&](std::size_t i, std::size_t j) {
      return std::abs(static_cast<double>(to(wanted[i].when.end) - by(runs[j].when.end)));
    };
    std::size_t i = 0, j = 0, found = 0;
    while (i < wanted.size() && j < runs.size()) {
      auto const distance = apart(i, j);
      if (i + 1 < wanted.size() && apart(i + 1, j) < distance) {
        ++i;
      } else if (j + 1 < runs.size() && apart(i, j + 1) < distance) {
        ++j;
      } else {
        if (wanted[i].name == runs[j].name) {
          lane.runs[i * members + m] = static_cast<row_index>(j);
          ++found;
        }
        ++i;
        ++j;
      }
    }
    lane.alone[m] = static_cast<std::int64_t>(runs.size() - found);
  }
}

/// Finds the clocks of files, one file after the other, and matches all lanes by them.
class clock_finder {
 public:
  clock_finder(std::vector<rank_trace> const& ranks, std::vector<rank_file> const& files)
      : ranks_(ranks), files_(files) {
    made_.ranks = &ranks;
    made_.clocks.resize(files.size());
    made_.lanes = lanes_of(ranks);
  }

  matched_ranks find() {
    auto const first =
        std::ranges::find_if(ranks_, [](rank_trace const& each) { return !each.streams.empty(); });
    if (first == ranks_.end()) { return std::move(made_); }
    reference_ = first->file;
    made_.clocks[reference_].origin = clock_origin::reference;
    for (std::size_t file = 0; file < files_.size(); ++file) { take_host_clock(file); }
    for (auto more = true; more;) {  // a file may share collectives with one found later
      more = false;
      for (std::size_t file = 0; file < files_.size(); ++file) {
        more = (!known(file) && estimate(file)) || more;
      }
    }
    // A better clock may match more, and more matches may show a drift.
    for (int round = 0; round < 2; ++round) {
      match();
      for (std::size_t file = 0; file < files_.size(); ++file) { refine(file); }
    }
    match();
    return std::move(made_);
  }

 private:
  bool known(std::size_t file) const { return made_.clocks[file].origin != clock_origin::unknown; }

  void take_host_clock(std::size_t file) {
    auto const& of = files_[file];
    auto const& to = files_[reference_];
    if (known(file) || of.host.empty() || of.host != to.host || of.epoch_ns == 0 ||
        to.epoch_ns == 0) {
      return;
    }
    made_.clocks[file] = {.origin = clock_origin::host,
                          .offset_ns = bounded(within(of.epoch_ns) - within(to.epoch_ns))};
  }

  /// Calls `use(lane, known member, member of the file)` for lanes of a file and a known one.
  template <class Use>
  void each_link(std::size_t file, Use&& use) const {
    for (auto const& lane : made_.lanes) {
      auto const file_of = [&](std::size_t member) { return ranks_[lane.ranks[member]].file; };
      for (std::size_t m = 0; m < lane.ranks.size(); ++m) {
        if (file_of(m) != file) { continue; }
        for (std::size_t k = 0; k < lane.ranks.size(); ++k) {
          if (file_of(k) == file || !known(file_of(k))) { continue; }
          use(lane, k, m);
          break;
        }
      }
    }
  }

  /// A first estimate: the n-th collectives, counted from the first or from the last, whichever
  /// agree better.
  std::optional<rank_clock> by_order(std::size_t file) const {
    std::vector<end_pair> forward, backward;
    auto whole = true;
    each_link(file, [&](collective_lane const& lane, std::size_t k, std::size_t m) {
      auto const& a = made_.stream(lane, k).runs;
      auto const& b = made_.stream(lane, m).runs;
      auto const& clock = made_.clock(lane, k);
      whole = whole && a.size() == b.size();
      auto const count = std::min(a.size(), b.size());
      auto const add = [&](std::vector<end_pair>& to, std::size_t i, std::size_t j) {
        if (a[i].name == b[j].name) { to.emplace_back(clock(a[i].when.end), b[j].when.end); }
      };
      for (std::size_t i = 0; i < count; ++i) {
        add(forward, i, i);
        add(backward, a.size() - count + i, b.size() - count + i);
      }
    });
    if (forward.empty() && backward.empty()) { return std::nullopt; }
    auto const one = fitted_clock(forward, whole), other = fitted_clock(backward, whole);
    auto const last = forward.empty() || (!backward.empty() && other.typical_ns < one.typical_ns);
    auto made = last ? other : one;
    made.offset_ns = bounded(made.offset_ns);
    return made;
  }

  bool estimate(std::size_t file) {
    auto const made = by_order(file);
    if (made) { made_.clocks[file] = *made; }
    return made.has_value();
  }

  void match() {
    for (auto& lane : made_.lanes) { match_by_ends(made_, lane); }
  }

  /// Fits the clock of a file to the collectives that are matched. The clock of the host stays,
  /// unless the collectives contradict it.
  void refine(std::size_t file) {
    auto& clock = made_.clocks[file];
    if (file == reference_ || !known(file)) { return; }
    std::vector<end_pair> pairs;
    each_link(file, [&](collective_lane const& lane, std::size_t k, std::size_t m) {
      for (std::size_t n = 0; n < lane.size(); ++n) {
        auto const i = lane.run(n, k), j = lane.run(n, m);
        if (i == no_row || j == no_row) { continue; }
        pairs.emplace_back(made_.clock(lane, k)(made_.stream(lane, k).runs[i].when.end),
                           made_.stream(lane, m).runs[j].when.end);
      }
    });
    if (pairs.empty()) { return; }
    std::ranges::sort(pairs, {}, &end_pair::second);
    judge(clock, pairs);
    if (clock.origin == clock_origin::host) {
      auto const other = clock.typical_ns > least_contradiction_ns ? by_order(file) : std::nullopt;
      if (!other || 4 * other->typical_ns > clock.typical_ns) { return; }
      auto const refuted = static_cast<double>(other->offset_ns - clock.offset_ns);
      clock = *other;
      clock.refuted_ns = refuted;
      return;
    }
    auto made = fitted_clock(pairs, true);
    made.offset_ns = bounded(made.offset_ns);
    made.refuted_ns = clock.refuted_ns;
    clock = made;
  }

  /// Times lie within 2^62 of the epoch, and moved ones must not overflow.
  static std::int64_t bounded(std::int64_t offset) noexcept {
    constexpr auto most = std::int64_t{1} << 61U;
    return std::clamp(offset, -most, most);
  }
  static std::int64_t within(std::int64_t epoch) noexcept {
    constexpr auto most = (std::int64_t{1} << 62U) - 1;
    return std::clamp(epoch, -most, most);
  }

  /// Kernels of one collective end within some microseconds even on one clock.
  static constexpr double least_contradiction_ns = 20'000;

  std::vector<rank_trace> const& ranks_;
  std::vector<rank_file> const& files_;
  std::size_t reference_ = 0;
  matched_ranks made_;
};

}  // namespace detail

/// Matches the collectives of ranks. `ranks` must outlive the result.
inline matched_ranks match_ranks(std::vector<rank_trace> const& ranks,
                                 std::vector<rank_file> const& files) {
  return detail::clock_finder{ranks, files}.find();
}

}  // namespace assay::trace
