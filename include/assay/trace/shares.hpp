// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where device time goes: top kernels, of all or of one range; classes; two phases side by side.
#pragma once

#include <assay/trace/classes.hpp>
#include <assay/trace/groups.hpp>
#include <assay/trace/launched.hpp>
#include <assay/trace/spread.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

namespace detail {

constexpr double percent_of(std::int64_t part, std::int64_t whole) noexcept {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Kernels by their names.
inline grouping<std::string> kernels_by_name(view const& rows) {
  auto const& of = rows.of();
  grouping<std::string> groups;
  auto group = once_per_name(of.strings.size(), [&](string_id name) {
    return groups.group(std::string{of.strings[name]});
  });
  for (auto const row : rows.kernels) {
    groups.add(group(of.kernels[row].name), of.kernels[row].when.length());
  }
  return groups;
}

/// Device work by class.
inline grouping<std::string> operations_by_class(view const& rows, classifier const& classes) {
  auto const& of = rows.of();
  grouping<std::string> groups;
  auto group = once_per_name(of.strings.size(), [&](string_id name) {
    return groups.group(std::string{classes.class_of(of.strings[name])});
  });
  for (auto const row : rows.kernels) {
    groups.add(group(of.kernels[row].name), of.kernels[row].when.length());
  }
  std::string const copy{classifier::copy};
  for (auto const row : rows.copies) { groups.add(copy, of.copies[row].when.length()); }
  for (auto const row : rows.sets) { groups.add(copy, of.sets[row].when.length()); }
  return groups;
}

/// The outermost ranges among `rows` that a filter's range means: an instance inside another would
/// tell its kernels twice.
inline std::vector<row_index> outermost(view const& rows, filter const& by) {
  auto const& of = rows.of();
  range_matcher const matches{of, by};
  std::vector<row_index> found;
  for (auto const row : rows.ranges) {
    if (matches(of.ranges[row])) { found.push_back(row); }
  }
  std::sort(found.begin(), found.end(), [&](row_index a, row_index b) {
    auto const& x = of.ranges[a];
    auto const& y = of.ranges[b];
    return std::tuple{x.thread, x.when.begin, y.when.end, a} <
           std::tuple{y.thread, y.when.begin, x.when.end, b};
  });
  std::vector<row_index> result;
  for (auto const row : found) {
    auto const& each = of.ranges[row];
    auto const inner = !result.empty() && of.ranges[result.back()].thread == each.thread &&
                       each.when.end <= of.ranges[result.back()].when.end;
    if (!inner) { result.push_back(row); }
  }
  return result;
}

}  // namespace detail

/// The kernels that take the most time, at most `most` of them (0: all), with their shares of all
/// kernels' time. For those inside a range, give it a view of that range.
inline table top_kernels(view const& rows, std::size_t most = 10) {
  using enum cell_format;
  table result{"top_kernels",
               "Top Kernels",
               {{"Share (%)", one_decimal},
                {"Sum of Shares (%)", one_decimal},
                {"Total Time (ns)"},
                {"Calls"},
                {"Avg (ns)", one_decimal},
                {"Name", text}}};
  auto const all = detail::kernels_by_name(rows).by_total();
  std::int64_t sum = 0;
  for (auto const& [name, each] : all) { sum = saturated_sum(sum, each.total); }
  std::int64_t so_far = 0;
  for (auto const& [name, each] : all) {
    if (most != 0 && result.rows() == most) { break; }
    so_far += each.total;
    result.add(detail::percent_of(each.total, sum), detail::percent_of(so_far, sum), each.total,
               each.count, each.mean, name);
  }
  return result;
}

/// The kernels of one range, per single instance: calls and time in each, on average and at least
/// and most, over all instances of the range that launched any kernel. Shares are of all kernels'
/// time inside. Of instances inside each other only the outermost count.
inline table range_kernels(view const& rows, filter const& by, std::size_t most = 10) {
  using enum cell_format;
  table result{"range_kernels",
               "Kernels of One Range",
               {{"Share (%)", one_decimal},
                {"Total Time (ns)"},
                {"Instances"},
                {"Calls"},
                {"Calls/Inst", one_decimal},
                {"Time/Inst (ns)", one_decimal},
                {"Min/Inst (ns)"},
                {"Max/Inst (ns)"},
                {"Name", text}}};
  auto const& of = rows.of();
  std::vector<work> kernels;
  for (auto const row : rows.kernels) {
    kernels.push_back({of.kernels[row].when, work_kind::kernel, row});
  }
  launched_work const launched{of, kernels};
  std::map<string_id, std::vector<std::int64_t>> per_instance;
  std::map<string_id, std::int64_t> calls;
  std::int64_t instances = 0;
  std::int64_t sum = 0;
  for (auto const row : detail::outermost(rows, by)) {
    std::map<string_id, std::int64_t> inside;
    launched.inside(of.ranges[row], [&](work const& each) {
      auto const name = of.kernels[each.row].name;
      inside[name] += each.when.length();
      ++calls[name];
      sum += each.when.length();
    });
    instances += inside.empty() ? 0 : 1;
    for (auto const& [name, time] : inside) { per_instance[name].push_back(time); }
  }
  std::vector<std::pair<string_id, spread>> all;
  for (auto& [name, times] : per_instance) {
    // An instance that never called it spent nothing on it.
    times.resize(static_cast<std::size_t>(instances), 0);
    all.emplace_back(name, spread_of(times));
  }
  std::sort(all.begin(), all.end(), [&](auto const& a, auto const& b) {
    if (a.second.total != b.second.total) { return a.second.total > b.second.total; }
    return of.strings[a.first] < of.strings[b.first];
  });
  for (auto const& [name, each] : all) {
    if (most != 0 && result.rows() == most) { break; }
    result.add(detail::percent_of(each.total, sum), each.total, instances, calls[name],
               static_cast<double>(calls[name]) / static_cast<double>(instances), each.mean,
               each.min, each.max, of.strings[name]);
  }
  return result;
}

/// Device work by class, with shares of all its time.
inline table class_shares(view const& rows, classifier const& classes = default_classes()) {
  using enum cell_format;
  table result{"class_shares",
               "Device Time by Class",
               {{"Share (%)", one_decimal},
                {"Total Time (ns)"},
                {"Calls"},
                {"Avg (ns)", one_decimal},
                {"Class", text}}};
  auto const all = detail::operations_by_class(rows, classes).by_total();
  std::int64_t sum = 0;
  for (auto const& [name, each] : all) { sum = saturated_sum(sum, each.total); }
  for (auto const& [name, each] : all) {
    result.add(detail::percent_of(each.total, sum), each.total, each.count, each.mean, name);
  }
  return result;
}

/// A phase of a run: what the reader calls it, and its rows.
struct phase {
  std::string name;
  view rows;
};

/// Two phases by class: what share of each its classes take. The difference is in percentage
/// points, the second less the first.
inline table compare_phases(phase const& first, phase const& second,
                            classifier const& classes = default_classes()) {
  using enum cell_format;
  table result{"phases",
               "Phases Compared",
               {{first.name + " (%)", one_decimal},
                {second.name + " (%)", one_decimal},
                {"Difference (points)", one_decimal},
                {first.name + " (ns)"},
                {second.name + " (ns)"},
                {first.name + " Calls"},
                {second.name + " Calls"},
                {"Class", text}}};
  struct sums {
    spread first, second;
  };
  std::map<std::string, sums> by_class;
  std::int64_t first_sum = 0;
  std::int64_t second_sum = 0;
  for (auto const& [name, each] : detail::operations_by_class(first.rows, classes).by_total()) {
    by_class[name].first = each;
    first_sum = saturated_sum(first_sum, each.total);
  }
  for (auto const& [name, each] : detail::operations_by_class(second.rows, classes).by_total()) {
    by_class[name].second = each;
    second_sum = saturated_sum(second_sum, each.total);
  }
  std::vector<std::pair<std::string, sums>> all{by_class.begin(), by_class.end()};
  std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
    return a.second.first.total + a.second.second.total >
           b.second.first.total + b.second.second.total;
  });
  for (auto const& [name, each] : all) {
    auto const a = detail::percent_of(each.first.total, first_sum);
    auto const b = detail::percent_of(each.second.total, second_sum);
    result.add(a, b, b - a, each.first.total, each.second.total, each.first.count,
               each.second.count, name);
  }
  return result;
}

}  // namespace assay::trace
