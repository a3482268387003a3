// SPDX-License-Identifier: Apache-2.0
/// @file
/// The result of the program `transformer` as a page of HTML: the times of its cases. Each case has
/// five answers, with the time and the roofline share of every operation.
#pragma once

#include <assay/page/parts.hpp>
#include <assay/page/strips.hpp>
#include <assay/report/document.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

namespace detail {

using namespace report;
using namespace report::detail;

/// A number of a row; NaN where the row has none.
inline double value_in(document const& row, std::string const& column) {
  auto const found = row.find(column);
  return found != row.end() && found->is_number() ? found->get<double>() : nan;
}
inline std::string text_in(document const& row, std::string const& column) {
  auto const found = row.find(column);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// The rows of a table of a case. Throws `std::invalid_argument` where the case has no such table.
inline document const& rows_in(document const& of, std::string const& table) {
  auto const found = of.find(table);
  if (found == of.end() || !found->is_array() || found->empty() || !found->front().is_object()) {
    throw std::invalid_argument("an answer of this transformer has no table " + table);
  }
  return *found;
}

/// The number of the row that says `what`; NaN if there is none.
inline double answer_in(document const& of, std::string_view what) {
  for (auto const& row : rows_in(of, "nn_summary")) {
    if (text_in(row, "What") == what) { return value_in(row, "Value"); }
  }
  return nan;
}

/// A table with the columns of its rows.
inline html_table table_of(document const& rows) {
  std::vector<std::string> head;
  for (auto const& [name, value] : rows.front().items()) { head.push_back(name); }
  html_table made{head};
  for (auto const& row : rows) {
    std::vector<html_cell> cells;
    for (auto const& name : head) {
      auto const number = value_in(row, name);
      cells.push_back(std::isnan(number) ? html_cell{text_in(row, name)}
                                         : html_cell{plain_number(number), number});
    }
    made.add(std::move(cells));
  }
  return made;
}

inline std::string case_name(document const& of) {
  std::string name = text_in(of, "size") + ", context " + plain_number(value_in(of, "context"));
  for (auto const* key : {"precision", "attention", "projections", "run", "submission"}) {
    name += ", " + text_in(of, key);
  }
  if (text_in(of, "tokens") == "zipf") { name += ", zipf"; }
  return name;
}

inline std::string share_text(double percent_of) { return fixed(percent_of, 1) + " %"; }
inline std::string us_text(double us) { return duration(us * 1e-6); }

/// (a): the times of one run by each clock, with what each contains.
inline markup clock_answers(document const& of) {
  html_table made{{"clock", "time of one run", "contains"}};
  for (auto const& [what, contains] :
       {std::pair{"host clock without a trace, us", "launches, and the wait for the device"},
        std::pair{"events without a trace, us", "the device's work and its idle time"},
        std::pair{"range on the host, us", "the same as the host's clock, and what tracing adds"},
        std::pair{"tracing added on the host, us", "the difference of these two"},
        std::pair{"device, from first begin to last end, us", "work and idle time, in the trace"},
        std::pair{"operations, us", "the sum of all kernels of operations"},
        std::pair{"copies and others of no operation, us", "what no operation launched"},
        std::pair{"overlap of operations, us", "what these sums count twice"},
        std::pair{"device idle, us", "time between kernels"}}) {
    auto const us = answer_in(of, what);
    if (std::isnan(us)) { continue; }
    std::string const name{what};
    made.add({name.substr(0, name.size() - 4), {us_text(us), us}, contains});
  }
  return element("h3", "", "(a) Time by each clock") +
         paragraph(
             "Events and the device's extent in the trace measure the same: what they differ by is "
             "added by tracing. A sum of kernels has no idle time, and the host's clock has waits, "
             "so that a close match with either means nothing.",
             "soft") +
         made.html("Clocks", page_budget::unlimited);
}

/// (b) and (c): the kernels of a run.
inline markup kernel_answers(document const& of) {
  auto const& rows = rows_in(of, "nn_kernels");
  auto const& first = rows.front();
  document others = document::array();
  for (auto const& row : rows) {
    if (&row != &first && value_in(row, "Share of Step (%)") >= 1) { others.push_back(row); }
  }
  auto const text = text_in(first, "Kernel") + " takes " + us_text(value_in(first, "Step (us)")) +
                    " of one run, " + share_text(value_in(first, "Share of Step (%)")) +
                    ". It runs " + plain_number(value_in(first, "Forward Count")) +
                    " times in one forward pass, and " +
                    plain_number(value_in(first, "Step Count")) + " times in one whole run.";
  return element("h3", "", "(b) The kernel with the most time") + paragraph(text) +
         element("h3", "", "(c) Other kernels from 1 % on") +
         (others.empty() ? paragraph("There are none.")
                         : table_of(others).folded("other kernels", page_budget::unlimited));
}

/// (d) and (e): the share of products, and softmax against products.
inline markup share_answers(document const& of) {
  html_table made{{"products", "of the forward pass", "of one run"}};
  auto const add = [&](std::string const& label, std::string const& name) {
    auto const forward = answer_in(of, name + ", % of the forward pass"),
               whole = answer_in(of, name + ", % of all operations");
    made.add({label, {share_text(forward), forward}, {share_text(whole), whole}});
  };
  add("by operation", "products");
  add("by the names of kernels", "products by name");
  auto const fused = answer_in(of, "attention, us: softmax and products are not separable");
  auto const time = answer_in(of, "softmax / products of attention, time"),
             flops = answer_in(of, "softmax / products of attention, FLOPs");
  auto const separable = "Softmax takes " + fixed(time, 3) +
                         " of the time of the products inside attention, and has one in " +
                         fixed(1 / flops, 1) + " of their FLOPs.";
  auto text = element("h3", "", "(d) The share of matrix products") +
              made.html("Share of products", page_budget::unlimited) +
              element("h3", "", "(e) Softmax against products inside attention") +
              paragraph(std::isnan(fused) ? separable
                                          : "Attention is one kernel: softmax and products are not "
                                            "separable. As a whole it takes " +
                                                us_text(fused) + " of a forward pass.");
  if (of.contains("nn_counts")) {
    text += table_of(rows_in(of, "nn_counts")).folded("FLOPs", page_budget::unlimited);
  }
  return text;
}

inline constexpr std::array<std::string_view, 3> phase_groups{"forward", "backward",
                                                              "loss and optimiser"};

/// The operations with the most time as bars. Phases have a style each.
inline markup operation_bars(document const& of, page_ids& ids) {
  constexpr std::size_t most = 16;
  auto const time = [](document const* row) { return value_in(*row, "Time (us)"); };
  std::vector<document const*> rows;
  for (auto const& row : rows_in(of, "nn_parts")) {
    if (time(&row) > 0) { rows.push_back(&row); }
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, time);
  if (rows.empty()) { return {}; }
  axis x{"us of one run", 0, 1.05 * time(rows.front())};
  markup bars;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    auto const& row = *rows[i];
    auto const phase = text_in(row, "Phase"), name = phase + ": " + text_in(row, "Part");
    auto const roofline = value_in(row, "Roofline (%)");
    auto const words = us_text(time(&row)) + ", " + share_text(value_in(row, "Share (%)")) +
                       (roofline > 0 ? ", roofline " + share_text(roofline) : "");
    auto strip = strip_of(name, words, x);
    strip.bar(0, time(&row), 0.5, 0.6, phase == "forward" ? 0 : phase == "backward" ? 1 : 2, words);
    bars += strip_row(name, strip.svg(ids.next()), words);
  }
  markup keys;
  for (std::size_t i = 0; i < phase_groups.size(); ++i) {
    keys += element("li", "", bar_key(i), phase_groups[i]);
  }
  auto const rest = rows.size() > most
                        ? "The " + std::to_string(most) + " operations with the most time of " +
                              std::to_string(rows.size()) + "; the table has all. "
                        : std::string{};
  return element("h3", "", "Operations") +
         paragraph(rest +
                       "Roofline: the larger share of two ceilings that this run measured, the "
                       "rate of a large copy and, for products, that of a large product.",
                   "soft") +
         element("ul", "legend", keys) + strip_list(bars, x, ids) +
         (of.contains("nn_bounds")
              ? table_of(rows_in(of, "nn_bounds"))
                    .html("Operations against their bounds", page_budget::unlimited)
              : markup{}) +
         table_of(rows_in(of, "nn_parts")).folded("all operations", page_budget::unlimited);
}

inline markup transformer_case(document const& of, page_ids& ids) {
  auto const measured = "Measured in this run: copies " +
                        rate(value_in(of, "copy_bytes_per_second"), "B") + ", products " +
                        rate(value_in(of, "product_flops_per_second"), "FLOP") + ".";
  return title_of(case_name(of)) + paragraph(measured, "soft") + operation_bars(of, ids) +
         clock_answers(of) + kernel_answers(of) + share_answers(of);
}

inline html_table transformer_times(document const& times) {
  html_table made{{"case", "median", "fastest", "MFU", "MFU, scores halved", "memory"}};
  for (auto const& row : times) {
    auto const ms = value_in(row, "median_ms"), fastest = value_in(row, "fastest_ms"),
               mfu = value_in(row, "mfu"), halved = value_in(row, "mfu_halved"),
               bytes = value_in(row, "memory_bytes");
    made.add({case_name(row), time_cell(ms * 1e-3), time_cell(fastest * 1e-3),
              html_cell{percent(mfu, 1), mfu}, html_cell{percent(halved, 1), halved},
              html_cell{byte_size(bytes), bytes}});
  }
  return made;
}

}  // namespace detail

/// True for what the program `transformer` wrote with `--json`.
inline bool is_transformer(report::document const& from) {
  return from.is_object() && from.value("schema", "") == "assay.transformer";
}

/// The page of that result. Throws `std::invalid_argument` where it has neither times nor answers,
/// and where an answer lacks a table.
inline std::string transformer_page(report::document const& from) {
  auto const list = [&](char const* name) {
    auto const found = from.find(name);
    return found != from.end() && found->is_array() ? *found : report::document::array();
  };
  auto const times = list("times"), answers = list("answers");
  if (times.empty() && answers.empty()) {
    throw std::invalid_argument("this transformer has no times and no answers");
  }
  auto const& where = from.value("environment", report::document::object());
  auto origin = where.value("device", std::string{"a device that is not named"});
  for (auto const* key : {"commit", "started_at"}) {
    auto const value = where.value(key, std::string{});
    if (!value.empty()) { origin += ", " + value; }
  }
  std::string const title = "Transformer: where the time goes";
  auto body = report::element("h1", "", title) + detail::paragraph(origin, "soft");
  if (!times.empty()) {
    body += detail::title_of("Times") +
            detail::paragraph("On the device, between events. MFU is the share of 989 TFLOP/s.",
                              "soft") +
            detail::transformer_times(times).html("Times by case", times.size());
  }
  detail::page_ids ids;
  for (auto const& each : answers) { body += detail::transformer_case(each, ids); }
  return detail::whole_page(title, body);
}

}  // namespace assay::examples
