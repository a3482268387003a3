// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sets of time: unions, intersections and differences of half-open intervals.
#pragma once

#include <assay/trace/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace assay::trace {

/// A set of nanoseconds, as half-open intervals that are sorted, not empty, and do not touch.
/// The set drops intervals without length, and intervals that end before they begin (a clock was
/// set back).
class interval_set {
 public:
  interval_set() = default;

  /// The union of intervals in any order. O(n log n), O(n) where they come sorted.
  explicit interval_set(std::vector<span> all) : parts_{std::move(all)} {
    keep_rows(parts_, [](span const& each) { return each.end > each.begin; });
    auto const before = [](span const& a, span const& b) { return a.begin < b.begin; };
    if (!std::is_sorted(parts_.begin(), parts_.end(), before)) {
      std::sort(parts_.begin(), parts_.end(), before);
    }
    std::size_t last = 0;
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      if (parts_[i].begin <= parts_[last].end) {
        parts_[last].end = std::max(parts_[last].end, parts_[i].end);
      } else {
        parts_[++last] = parts_[i];
      }
    }
    if (!parts_.empty()) { parts_.resize(last + 1); }
  }

  std::vector<span> const& parts() const noexcept { return parts_; }

  /// The sum of the lengths of its intervals.
  std::int64_t length() const noexcept {
    std::int64_t sum = 0;
    for (auto const& each : parts_) { sum += each.length(); }
    return sum;
  }

  /// From its first to its last moment; empty for an empty set.
  span extent() const noexcept {
    return parts_.empty() ? span{} : span{parts_.front().begin, parts_.back().end};
  }

  /// The length of `where` that is in the set. Takes O(log n) plus the number of parts that overlap
  /// `where`.
  std::int64_t length_within(span where) const noexcept {
    if (where.end <= where.begin) { return 0; }
    std::int64_t sum = 0;
    for (auto at = first_after(where.begin); at != parts_.end() && at->begin < where.end; ++at) {
      sum += std::min(at->end, where.end) - std::max(at->begin, where.begin);
    }
    return sum;
  }

  /// Calls `use(part)` for each part of `where` that is not in the set. Takes O(log n) plus the
  /// number of parts of the set that overlap `where`.
  template <class Use>
  void each_outside(span where, Use&& use) const {
    for (auto at = first_after(where.begin); at != parts_.end() && at->begin < where.end; ++at) {
      if (where.begin < at->begin) { use(span{where.begin, at->begin}); }
      where.begin = at->end;
    }
    if (where.begin < where.end) { use(where); }
  }

  /// The moments in both sets.
  friend interval_set operator&(interval_set const& a, interval_set const& b) {
    interval_set both;
    auto x = a.parts_.begin();
    auto y = b.parts_.begin();
    while (x != a.parts_.end() && y != b.parts_.end()) {
      span const common{std::max(x->begin, y->begin), std::min(x->end, y->end)};
      if (common.begin < common.end) { both.parts_.push_back(common); }
      x->end < y->end ? ++x : ++y;
    }
    return both;
  }

  /// The moments in at least one set.
  friend interval_set operator|(interval_set const& a, interval_set const& b) {
    std::vector<span> all(a.parts_.size() + b.parts_.size());
    std::merge(a.parts_.begin(), a.parts_.end(), b.parts_.begin(), b.parts_.end(), all.begin(),
               [](span const& x, span const& y) { return x.begin < y.begin; });
    return interval_set{std::move(all)};
  }

  bool operator==(interval_set const&) const = default;

 private:
  std::vector<span>::const_iterator first_after(std::int64_t moment) const noexcept {
    return std::upper_bound(parts_.begin(), parts_.end(), moment,
                            [](std::int64_t value, span const& each) { return value < each.end; });
  }

  std::vector<span> parts_;
};

/// The length of a union of intervals that come in order of their begin.
class covered_time {
 public:
  void add(span when) noexcept {
    auto const from = std::max(when.begin, reached_);
    if (when.end <= from) { return; }
    length_ += when.end - from;
    reached_ = when.end;
  }
  std::int64_t length() const noexcept { return length_; }

 private:
  std::int64_t reached_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t length_ = 0;
};

/// The time that two unions of intervals share. The intervals of both come in order of their begin,
/// so that all of one union which lies after a begin is one piece.
class shared_time {
 public:
  void add(std::size_t to, span when) noexcept {
    auto const from = std::max(when.begin, reached_[to]);
    if (when.end <= from) { return; }
    auto const other = reached_[1 - to];
    if (other > from) { length_ += std::min(when.end, other) - from; }
    reached_[to] = when.end;
  }
  std::int64_t length() const noexcept { return length_; }

 private:
  static constexpr auto never = std::numeric_limits<std::int64_t>::min();
  std::array<std::int64_t, 2> reached_{never, never};
  std::int64_t length_ = 0;
};

/// Element `k` is the time in which exactly `k` intervals are open; element 0 is the gaps between
/// the first and the last interval. The sum is the extent of all intervals. O(n log n), O(n) where
/// both begins and ends come sorted.
inline std::vector<std::int64_t> time_at_depth(std::vector<span> const& all) {
  auto const before = [](span const& a, span const& b) { return a.begin < b.begin; };
  if (!std::is_sorted(all.begin(), all.end(), before)) {
    auto sorted = all;
    std::sort(sorted.begin(), sorted.end(), before);
    return time_at_depth(sorted);
  }
  std::vector<std::int64_t> ends;
  ends.reserve(all.size());
  for (auto const& each : all) {
    if (each.end > each.begin) { ends.push_back(each.end); }
  }
  if (!std::is_sorted(ends.begin(), ends.end())) { std::sort(ends.begin(), ends.end()); }
  std::vector<std::int64_t> result(1, 0);
  std::size_t depth = 0;
  std::optional<std::int64_t> at;
  auto const pass = [&](std::int64_t until) {
    result[depth] += until - at.value_or(until);
    at = until;
  };
  auto end = ends.begin();
  for (auto const& each : all) {
    if (each.end <= each.begin) { continue; }
    for (; *end <= each.begin; ++end, --depth) { pass(*end); }
    pass(each.begin);
    if (++depth >= result.size()) { result.push_back(0); }
  }
  for (; end != ends.end(); ++end, --depth) { pass(*end); }
  return result;
}

}  // namespace assay::trace
