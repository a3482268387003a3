// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where the time of a run went as its devices saw it, in parts that do not overlap.
#pragma once

#include <assay/trace/idle.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/view.hpp>
#include <assay/trace/work.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// What an entry of a ledger is.
enum class entry_kind : std::uint8_t {
  kernel,      ///< device: by name
  copy,        ///< device: by direction, while no kernel ran
  set,         ///< device: while no kernel ran
  idle,        ///< device: by cause
  edge,        ///< device: before the first and after the last work
  call,        ///< host: CUDA calls by name
  allocation,  ///< host: those that allocate or release
  lock,        ///< host: ranges and calls that wait for a lock
  waiting,     ///< host: calls that wait for a device
  own_code     ///< host: outside of all these
};

constexpr std::string_view label(entry_kind kind) noexcept {
  constexpr std::array<std::string_view, 10> names{"kernel",  "copy",     "set",        "idle",
                                                   "edge",    "call",     "allocation", "lock",
                                                   "waiting", "host code"};
  return names[static_cast<std::size_t>(kind)];
}

/// What an entry sums up. Numbers are of one run, hence fractions.
struct ledger_sum {
  double ns = 0;     ///< its part of the run; what ran at the same time shares it evenly
  double total = 0;  ///< plain sum of durations, ns
  double count = 0;
  double bytes = 0;
  bool operator==(ledger_sum const&) const = default;
};

using ledger_key = std::pair<entry_kind, std::string>;

/// Parts of a run that do not overlap and leave nothing out: their `ns` sum up to `extent`.
using ledger = std::map<ledger_key, ledger_sum>;

inline constexpr std::string_view before_first_work = "before the first device work";
inline constexpr std::string_view after_last_work = "after the last device work";

/// From the first to the last moment of CUDA calls and device work: what both ledgers split up.
inline span run_extent(view const& rows) {
  auto const& of = rows.of();
  span all;
  bool any = false;
  auto const widen = [&](span when) {
    all.begin = any ? std::min(all.begin, when.begin) : when.begin;
    all.end = any ? std::max(all.end, when.end) : when.end;
    any = true;
  };
  for (auto const& each : rows.device_work()) { widen(each.when); }
  for (auto const row : rows.calls) {
    if (of.calls[row].layer != api::os) { widen(of.calls[row].when); }
  }
  return all;
}

namespace detail {

/// How long each of some intervals was open, each moment shared evenly by those open then. Kernels
/// come first: copies and sets have only the moments in which no kernel is open.
inline std::vector<double> even_shares(std::vector<work> const& all) {
  struct step {
    std::int64_t at;
    int change;
    std::size_t which;
  };
  std::vector<step> steps;
  steps.reserve(2 * all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].when.end <= all[i].when.begin) { continue; }
    steps.push_back({all[i].when.begin, +1, i});
    steps.push_back({all[i].when.end, -1, i});
  }
  std::sort(steps.begin(), steps.end(), [](step const& a, step const& b) { return a.at < b.at; });
  std::vector<double> shares(all.size(), 0);
  std::array<std::int64_t, 2> open{};  // kernels, all else
  std::array<double, 2> gained{};      // by one that is open since the first moment
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto const& [at, change, which] = steps[i];
    if (i > 0) {
      auto const passed = static_cast<double>(at - steps[i - 1].at);
      auto const turn = open[0] > 0 ? 0U : 1U;
      if (open[turn] > 0) { gained[turn] += passed / static_cast<double>(open[turn]); }
    }
    auto const is_kernel =
        all[which].kind == work_kind::kernel || all[which].kind == work_kind::graph;
    auto const side = is_kernel ? 0U : 1U;
    open[side] += change;
    shares[which] += change > 0 ? -gained[side] : gained[side];
  }
  return shares;
}

inline ledger_key key_of(model const& of, work const& which) {
  switch (which.kind) {
    case work_kind::kernel:
      return {entry_kind::kernel, std::string{of.strings[of.kernels[which.row].name]}};
    case work_kind::copy:
      return {entry_kind::copy, std::string{label(direction_of(of.copies[which.row].kind))}};
    case work_kind::set:
      return {entry_kind::set, std::string{set_label}};
    default:
      return {entry_kind::kernel, "graph launches"};
  }
}

inline double bytes_of(model const& of, work const& which) {
  if (which.kind == work_kind::copy) { return static_cast<double>(of.copies[which.row].bytes); }
  if (which.kind == work_kind::set) { return static_cast<double>(of.sets[which.row].bytes); }
  return 0;
}

}  // namespace detail

/// The run as its devices saw it, all of them as one: at each moment the kernels that ran, else the
/// copies, else the sets, else why nothing did. O(n log n).
inline ledger device_ledger(view const& rows) {
  auto const& of = rows.of();
  ledger result;
  auto const all = rows.device_work();
  auto const extent = run_extent(rows);
  if (all.empty()) {
    result[{entry_kind::edge, std::string{before_first_work}}].ns =
        static_cast<double>(extent.length());
    return result;
  }
  auto const shares = detail::even_shares(all);
  std::vector<ledger_sum*> by_name(of.strings.size(), nullptr);
  auto first = all.front().when;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& each = all[i];
    auto* sum = each.kind == work_kind::kernel ? by_name[of.kernels[each.row].name] : nullptr;
    if (sum == nullptr) {
      sum = &result[detail::key_of(of, each)];
      if (each.kind == work_kind::kernel) { by_name[of.kernels[each.row].name] = sum; }
    }
    sum->ns += shares[i];
    sum->total += static_cast<double>(each.when.length());
    sum->count += 1;
    sum->bytes += detail::bytes_of(of, each);
    first.begin = std::min(first.begin, each.when.begin);
    first.end = std::max(first.end, each.when.end);
  }
  auto const gaps = detail::gaps(rows, all, [](work const&) { return 0; });
  auto const idle = by_cause(gaps);
  for (std::size_t i = 0; i < idle_causes; ++i) {
    auto& sum = result[{entry_kind::idle, std::string{label(static_cast<idle_cause>(i))}}];
    sum.ns = sum.total = static_cast<double>(idle[i]);
  }
  for (auto const& gap : gaps) {
    result[{entry_kind::idle, std::string{label(gap.cause)}}].count += 1;
  }
  auto const edge = [&](std::string_view name, std::int64_t length) {
    auto& sum = result[{entry_kind::edge, std::string{name}}];
    sum.ns = sum.total = static_cast<double>(length);
    sum.count = 1;
  };
  edge(before_first_work, first.begin - extent.begin);
  edge(after_last_work, extent.end - first.end);
  return result;
}

}  // namespace assay::trace
