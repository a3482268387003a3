// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The parts that a page is made of: figures with their legends and tables.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/chart.hpp>
#include <assay/page/markup.hpp>
#include <assay/page/style.hpp>
#include <assay/report/format.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The most that a page may hold. It shrinks until the page is below its size limit.
struct page_budget {
  static constexpr auto unlimited = std::numeric_limits<std::size_t>::max();
  std::size_t marks = unlimited;   ///< dots in a chart, rows in a table
  std::size_t charts = unlimited;  ///< charts of one kind
  bool limited() const { return marks != unlimited; }
};

/// Ids that are unique in a page.
class page_ids {
 public:
  std::string next() { return "c" + std::to_string(++last_); }

 private:
  int last_ = 0;
};

inline markup paragraph(std::string const& text, std::string_view kind = "") {
  return text.empty() ? "" : element("p", kind, text);
}

/// The text with each number and its sign of per cent on one line.
inline std::string unbroken(std::string text) {
  for (auto at = text.find(" %"); at != std::string::npos; at = text.find(" %", at)) {
    text.replace(at, 1, "\xC2\xA0");
  }
  return text;
}

inline markup title_of(std::string_view text) { return element("h2", "", text); }

/// Parts behind a line that opens them.
inline markup folded(std::string_view line, markup const& parts) {
  return element("details", "", element("summary", "", line), parts);
}

/// A whole file of HTML, with the style and the script of all pages.
inline std::string whole_page(std::string const& title, markup const& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>" +
         escaped(title) + "</title><style>" + std::string{chart_style} + std::string{page_style} +
         "</style></head>\n<body><main>" + body.str() + "</main><script>" +
         std::string{page_script} + "</script></body></html>\n";
}

/// `1 MiB` for `1.00 MiB`: a value that was chosen needs no decimals.
inline std::string without_zeros(std::string shown) {
  auto const point = shown.find('.'), blank = shown.find(' ');
  if (point < blank && shown.find_first_not_of('0', point + 1) == blank) {
    shown.erase(point, blank - point);
  }
  return shown;
}

/// A cell of a table: its text, and the number that it is sorted by.
struct html_cell {
  std::string text;
  double order = std::numeric_limits<double>::quiet_NaN();
  html_cell(std::string shown) : text(std::move(shown)) {}
  html_cell(char const* shown) : text(shown) {}
  html_cell(std::string_view shown) : text(shown) {}
  html_cell(std::string shown, double value) : text(std::move(shown)), order(value) {}
};

inline html_cell time_cell(double seconds) { return {duration(seconds), seconds}; }
/// A change of a time, given in nanoseconds.
inline html_cell change_cell(double ns) {
  return std::isfinite(ns) ? html_cell{signed_duration(ns * 1e-9), ns} : html_cell{"-"};
}
inline html_cell count_cell(std::uint64_t value) {
  return {count(value), static_cast<double>(value)};
}

/// A table. The head of a column sorts the rows.
class html_table {
 public:
  explicit html_table(std::vector<std::string> head) : head_(std::move(head)) {}
  void add(std::vector<html_cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const noexcept { return rows_.empty(); }

  /// The table, of at most `most` rows; below it a line says what was left out.
  markup html(std::string const& caption, std::size_t most) const {
    markup head, body;
    for (std::size_t i = 0; i < head_.size(); ++i) {
      auto const is_number = [i](auto const& row) { return !std::isnan(row.at(i).order); };
      head += std::ranges::any_of(rows_, is_number) ? markup("<th scope=\"col\" class=\"n\">")
                                                    : markup("<th scope=\"col\">");
      head += markup("<button type=\"button\">", head_[i], "</button></th>");
    }
    for (std::size_t i = 0; i < std::min(most, rows_.size()); ++i) {
      body += "<tr>";
      for (auto const& each : rows_[i]) {
        body += std::isnan(each.order)
                    ? markup("<td>")
                    : markup("<td class=\"n\" data-n=\"", digits_of(each.order, 17), "\">");
        body += markup(each.text, "</td>");
      }
      body += "</tr>\n";
    }
    auto const rest = rows_.size() > most
                          ? element("p", "left-out",
                                    "The table shows " + count(most) + " of " +
                                        count(rows_.size()) + " rows, to keep the page small.")
                          : markup{};
    return markup("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", caption,
                  "\"><table><caption>", caption, "</caption><thead><tr>", head,
                  "</tr></thead><tbody>", body, "</tbody></table></div>", rest);
  }

  /// The table behind a line that opens it.
  markup folded(std::string const& caption, std::size_t most) const {
    return empty() ? markup{} : detail::folded("Table: " + caption, html(caption, most));
  }

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<html_cell>> rows_;
};

/// A picture with its title, its legend and a line below it.
struct figure {
  std::string title;
  std::vector<std::pair<std::size_t, std::string>> legend{};  ///< style and label
  markup picture{};
  std::string note{};

  markup html() const {
    markup keys;
    for (auto const& [style, label] : legend) {
      keys += element("li", "", chart_key(style), label);
    }
    return element("figure", "", element("figcaption", "", title),
                   keys.empty() ? keys : element("ul", "legend", keys), picture,
                   paragraph(note, "note"));
  }
};

/// Figures side by side where there is room; many are behind a line that opens them. A line tells
/// how many were left out.
inline markup figures(std::vector<figure> const& all, std::size_t most) {
  constexpr std::size_t at_a_glance = 12;
  most = std::min(most, all.size());
  markup inner;
  for (std::size_t i = 0; i < most; ++i) { inner += all[i].html() + "\n"; }
  auto text = element("div", "figures", inner);
  if (most > at_a_glance) { text = folded(count(most) + " charts", text); }
  if (all.size() > most) {
    text += element("p", "left-out",
                    count(most) + " of " + count(all.size()) +
                        " charts are shown, to keep the page small; the tables tell of all.");
  }
  return text;
}

/// `wall clock`.
inline std::string clock_name(measure::clock on) { return std::string{to_string(on)} + " clock"; }

/// The thing that one value of a clock is the time of.
inline std::string_view per_what(measure::clock on) {
  return on == measure::clock::submit ? "per item" : "per launch";
}

/// An axis of times in the unit of its largest value. The label names unit and clock. The axis is
/// logarithmic over a wide range, and where `ratios` asks for it.
inline axis time_axis(std::vector<double> const& seconds, measure::clock on, bool ratios = false) {
  auto sorted = seconds;
  std::erase_if(sorted, [](double each) { return !(each > 0) || !std::isfinite(each); });
  std::ranges::sort(sorted);
  bool const wide = ratios || (!sorted.empty() && sorted.back() > 8 * sorted.front());
  auto const unit = unit_for(sorted.empty() ? 1 : sorted.back());
  return axis_over(
      sorted, std::string{unit.name} + " " + std::string{per_what(on)} + ", " + clock_name(on),
      [unit](double value) { return plain_number(value * unit.factor); }, wide);
}

/// A logarithmic axis of ratios of times to `reference`, with changes in per cent, or factors where
/// they are large.
inline axis ratio_axis(std::vector<double> const& ratios, std::string const& reference,
                       measure::clock on) {
  auto made = axis_over(ratios, {}, {}, true);
  bool const factors = made.high / made.low > 6;
  made.label =
      (factors ? "time over " : "change of time against ") + reference + ", " + clock_name(on);
  made.text = [factors](double ratio) {
    auto const share = 100 * (ratio - 1);
    return factors ? plain_number(ratio) + "x"
                   : (share > 1e-9 ? "+" : "") + plain_number(std::round(share * 1e4) / 1e4) + " %";
  };
  return made;
}

/// The class of a verdict, for its colour.
inline std::string verdict_class(measure::finding const& found) {
  if (found.what == measure::contrast::kind::interaction && stats::is_sign(found.outcome)) {
    return "verdict differs";
  }
  switch (found.outcome) {
    case measure::verdict::faster:
      return "verdict faster";
    case measure::verdict::slower:
      return "verdict slower";
    case measure::verdict::equivalent:
      return "verdict equal";
    case measure::verdict::wrong_answer:
      return "verdict wrong";
    default:
      return "verdict open";
  }
}

/// True for an interaction on this clock that has a sign.
inline bool has_interaction(measure::comparison const& all, measure::clock on) {
  return std::ranges::any_of(all.findings, [on](measure::finding const& each) {
    return each.on == on && each.what == measure::contrast::kind::interaction &&
           stats::is_sign(each.outcome);
  });
}

/// The findings on a clock as a page shows them: interactions, differences, and main effects only
/// where no interaction has a sign, since a mean over opposite effects misleads.
inline std::vector<measure::finding const*> shown_findings(measure::comparison const& all,
                                                           measure::clock on) {
  using kind = measure::contrast::kind;
  std::vector<measure::finding const*> found;
  for (auto const what : {kind::interaction, kind::difference, kind::main_effect}) {
    if (what == kind::main_effect && has_interaction(all, on)) { continue; }
    for (auto const& each : all.findings) {
      if (each.on == on && each.what == what) { found.push_back(&each); }
    }
  }
  return found;
}

/// The numbers below `count` in groups that pairs connect, each in rising order.
inline std::vector<std::vector<std::size_t>> connected(
    std::size_t count, std::vector<std::pair<std::size_t, std::size_t>> const& pairs) {
  std::vector<std::size_t> group_of(count);
  std::iota(group_of.begin(), group_of.end(), std::size_t{0});
  for (auto const& [one, other] : pairs) {
    auto const to = group_of[one], from = group_of[other];  // `replace` changes what it refers to
    std::ranges::replace(group_of, from, to);
  }
  std::vector<std::vector<std::size_t>> groups(count);
  for (std::size_t i = 0; i < count; ++i) { groups[group_of[i]].push_back(i); }
  std::erase_if(groups, [](auto const& each) { return each.empty(); });
  return groups;
}

/// Groups of variants that contrasts connect. A large group is cut into parts with a style for each
/// variant, and the group's first variant is in each part.
inline std::vector<std::vector<std::size_t>> variant_groups(measure::comparison const& all) {
  auto const count = all.variants.size();
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (auto const& each : all.findings) {
    auto first = count;
    for (std::size_t i = 0; i < std::min(count, each.weights.size()); ++i) {
      if (each.weights[i] == 0) { continue; }
      if (first == count) { first = i; }
      pairs.emplace_back(first, i);
    }
  }
  std::vector<std::vector<std::size_t>> parts;
  for (auto const& group : connected(count, pairs)) {
    auto* part = &parts.emplace_back();
    for (auto const i : group) {
      if (part->size() == chart_styles) { part = &parts.emplace_back(1, group.front()); }
      part->push_back(i);
    }
  }
  return parts;
}

}  // namespace assay::report::detail
