// SPDX-License-Identifier: Apache-2.0
/// @file
/// The result of the benchmark `all_reduce` as a page of HTML: latency and bus bandwidth by size.
#pragma once

#include <assay/page/parts.hpp>
#include <assay/report/document.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

namespace detail {

using namespace report;
using namespace report::detail;

/// One curve of the page, and the names of its members in the JSON of a size.
struct all_reduce_curve {
  std::string_view key, label;
  std::vector<mark> latency{};    ///< us; the interval holds the middle half of the repetitions
  std::vector<mark> bandwidth{};  ///< GB/s on the bus
};

inline double number_at(document const& row, std::string const& key) {
  auto const found = row.find(key);
  bool const known = found != row.end() && found->is_number();
  return known ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// The contenders of a result, and last the limit: the time in which stores alone move the bytes.
inline std::vector<all_reduce_curve> all_reduce_curves(document const& sizes) {
  std::vector<all_reduce_curve> all{{"ours", "assay"},
                                    {"ours_in_place", "assay, in place"},
                                    {"nccl_default", "NCCL"},
                                    {"nccl_windows", "NCCL, symmetric windows"},
                                    {"pushed", "limit: the bytes alone"}};
  for (auto const& row : sizes) {
    double const bytes = number_at(row, "bytes");
    double const bus_bytes = number_at(row, "ours_busbw_gb_per_second") * number_at(row, "ours_us");
    if (!(bytes > 0) || !(bus_bytes > 0)) {
      throw std::invalid_argument("a size of this all-reduce has no bytes, ours_us or bandwidth");
    }
    for (auto& curve : all) {
      auto const key = std::string{curve.key};
      double const us = number_at(row, key + "_us");
      if (!(us > 0)) { continue; }
      double const low = number_at(row, key + "_q1_us"), high = number_at(row, key + "_q3_us");
      auto const text =
          std::string{curve.label} + ", " + byte_size(bytes) + ": " + duration(us * 1e-6);
      curve.latency.push_back({.x = bytes, .y = us, .text = text, .y_low = low, .y_high = high});
      curve.bandwidth.push_back({.x = bytes,
                                 .y = bus_bytes / us,
                                 .text = text + ", " + fixed(bus_bytes / us, 1) + " GB/s",
                                 .y_low = bus_bytes / high,
                                 .y_high = bus_bytes / low});
    }
  }
  std::erase_if(all, [](all_reduce_curve const& each) { return each.latency.empty(); });
  return all;
}

inline figure all_reduce_figure(std::vector<all_reduce_curve> const& all, std::string title,
                                std::string unit, std::vector<mark> all_reduce_curve::*marks,
                                bool logarithmic, page_ids& ids) {
  std::vector<double> sizes, values;
  for (auto const& curve : all) {
    for (auto const& each : curve.*marks) {
      sizes.push_back(each.x);
      values.push_back(each.y);
    }
  }
  auto x = axis_over(
      sizes, "size of the array", [](double bytes) { return without_zeros(byte_size(bytes)); },
      true);
  for (double tick = 1; tick <= x.high; tick *= 32) {
    if (x.holds(tick)) { x.at.push_back(tick); }
  }
  auto y = axis_over(values, std::move(unit), plain_number, logarithmic);
  if (!logarithmic) { y.low = 0; }
  chart picture{title, "One curve for each contender, over the size of the array.", std::move(x),
                std::move(y), 280};
  figure made{std::move(title)};
  for (std::size_t style = 0; style < all.size(); ++style) {
    std::vector<place> line;
    for (auto const& each : all[style].*marks) { line.push_back({each.x, each.y}); }
    picture.line(line, style);
    picture.marks(all[style].*marks, style);
    made.legend.emplace_back(style, all[style].label);
  }
  made.picture = picture.svg(ids.next());
  return made;
}

/// The ratio of the better one of NCCL's ways over ours at a size: the median over the repetitions,
/// and the least and the most of them, where the result has these: `1.86x [1.84, 1.88]`.
inline std::string over_nccl_text(document const& row, int decimals) {
  double const least = number_at(row, "over_better_nccl_min"),
               most = number_at(row, "over_better_nccl_max");
  auto const text = fixed(number_at(row, "over_better_nccl"), decimals) + "x";
  if (!(least > 0) || !(most > 0)) { return text; }
  return text + " [" + fixed(least, decimals) + ", " + fixed(most, decimals) + "]";
}

inline html_table all_reduce_table(document const& sizes,
                                   std::vector<all_reduce_curve> const& all) {
  std::vector<std::string> head{"size", "algorithm"};
  for (auto const& each : all) { head.push_back(std::string{each.label} + ", us"); }
  head.insert(head.end(), {"bus, GB/s", "NCCL's best over ours"});
  html_table rows{std::move(head)};
  for (auto const& row : sizes) {
    double const bytes = number_at(row, "bytes"), gain = number_at(row, "over_better_nccl");
    std::vector<html_cell> cells{{byte_size(bytes), bytes}, row.value("ours_algorithm", "")};
    for (auto const& each : all) {
      double const us = number_at(row, std::string{each.key} + "_us");
      cells.push_back(us > 0 ? html_cell{fixed(us, 2), us} : html_cell{"-"});
    }
    double const bus = number_at(row, "ours_busbw_gb_per_second");
    cells.emplace_back(fixed(bus, 1), bus);
    cells.push_back(gain > 0 ? html_cell{over_nccl_text(row, 3), gain} : html_cell{"-"});
    rows.add(std::move(cells));
  }
  return rows;
}

/// How long the better one of NCCL's ways takes over ours, from the least to the most; empty
/// without NCCL.
inline std::string against_nccl(document const& sizes) {
  std::vector<std::pair<double, std::string>> gains;
  for (auto const& row : sizes) {
    double const gain = number_at(row, "over_better_nccl");
    if (!(gain > 0)) { continue; }
    gains.emplace_back(gain,
                       over_nccl_text(row, 2) + " (" + byte_size(number_at(row, "bytes")) + ")");
  }
  if (gains.empty()) { return {}; }
  auto const [least, most] = std::ranges::minmax(gains);
  return "NCCL's best takes " + least.second + " to " + most.second +
         " the time of assay; brackets hold the least and the most of the repetitions. Bus "
         "bandwidth counts bytes as nccl-tests does: the size times 2 (n - 1) / n for n GPUs.";
}

}  // namespace detail

/// True for what the benchmark `all_reduce` wrote with `--json`.
inline bool is_all_reduce(report::document const& from) {
  return from.is_object() && from.value("schema", "") == "assay.benchmark" &&
         from.value("benchmark", "") == "all_reduce";
}

/// The page of that benchmark's result. Times are medians on the gpu clock, one after another on a
/// stream; bars hold the middle half of the repetitions. Throws `std::invalid_argument` where
/// sizes or their members are missing.
inline std::string all_reduce_page(report::document const& from) {
  auto const figures = from.find("figures");
  bool const whole = is_all_reduce(from) && figures != from.end() && figures->is_object() &&
                     figures->contains("sizes") && figures->at("sizes").is_array() &&
                     !figures->at("sizes").empty();
  if (!whole) { throw std::invalid_argument("this is no result of the benchmark all_reduce"); }
  auto const& sizes = figures->at("sizes");
  auto const all = detail::all_reduce_curves(sizes);
  auto const& where = from.value("environment", report::document::object());
  auto const title = "All-reduce: " + figures->value("operation", std::string{"sum"}) + " of " +
                     figures->value("type", std::string{"float"}) + " over " +
                     std::to_string(figures->value("gpus", 0)) + " GPUs";
  report::detail::page_ids ids;
  std::vector<report::detail::figure> const charts{
      detail::all_reduce_figure(all, "Latency", "us, gpu clock", &detail::all_reduce_curve::latency,
                                true, ids),
      detail::all_reduce_figure(all, "Bus bandwidth", "GB/s, gpu clock",
                                &detail::all_reduce_curve::bandwidth, false, ids)};
  std::string origin = where.value("device", std::string{"a device that is not named"});
  for (auto const* key : {"commit", "started_at"}) {
    auto const value = where.value(key, std::string{});
    if (!value.empty()) { origin += ", " + value; }
  }
  return report::detail::whole_page(
      title, report::element("h1", "", title) + report::detail::paragraph(origin, "soft") +
                 report::detail::paragraph(
                     "Median times on the gpu clock; bars hold the middle half of the "
                     "repetitions. NCCL " +
                     std::string{figures->value("multicast", false) ? "may" : "may not"} +
                     " use NVLink multicast.") +
                 report::detail::paragraph(detail::against_nccl(sizes)) +
                 report::detail::figures(charts, charts.size()) +
                 detail::all_reduce_table(sizes, all).html("Times by size", sizes.size()));
}

}  // namespace assay::examples
