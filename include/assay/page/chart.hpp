// SPDX-License-Identifier: Apache-2.0
/// @file
/// Charts as SVG: they fill the width of their place, and their text keeps its size.
///
/// Colours are variables of `chart_style` in style.hpp. Each series has a dash and a marker of
/// its own too, so that a print in black and white can be read.
#pragma once

#include <assay/page/chart_axis.hpp>
#include <assay/page/markup.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

/// The styles of series: a colour, a dash and a marker each.
inline constexpr std::size_t chart_styles = 6;

/// A place in a chart.
struct place {
  double x = 0, y = 0;
};

/// A marker with intervals along one or both axes; an interval that is NaN is not drawn.
struct mark {
  double x = 0, y = 0;
  std::string text{};  ///< shown under the pointer
  bool open = false;   ///< the outline alone
  double x_low = std::numeric_limits<double>::quiet_NaN(), x_high = x_low;
  double y_low = x_low, y_high = x_low;
};

/// The parts of a chart's frame that are drawn.
struct frame {
  bool x = true, y = true;
  std::size_t letters = 0;  ///< the least room for labels of y, so that charts below others align
};

namespace detail {

inline std::string hundredths(double value) {
  return digits_of(value, 2, std::chars_format::fixed);
}

/// The class of a style, for CSS.
inline std::string style_class(std::size_t style) {
  return "s" + std::to_string(style % chart_styles);
}

inline std::string_view marker_path(std::size_t style) {
  constexpr std::array<std::string_view, chart_styles> paths{
      "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
      "M-4-4h8v8h-8z",
      "M0-5.5L5.5 0 0 5.5-5.5 0z",
      "M0-5L5 4h-10z",
      "M0 5L5-4h-10z",
      "M-5-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z"};
  return paths[style % chart_styles];
}

}  // namespace detail

/// The sign of a series in a legend: its line and its marker.
inline markup chart_key(std::size_t style) {
  return markup("<svg class=\"key ", detail::style_class(style),
                "\" width=\"30\" height=\"12\" aria-hidden=\"true\"><path class=\"line\" "
                "d=\"M1 6h28\"/><svg class=\"mark\" x=\"15\" y=\"6\"><path d=\"",
                detail::marker_path(style), "\"/></svg></svg>");
}

/// The sign of bars and steps of these classes in a legend.
inline markup box_key(std::string_view kind) {
  return markup("<svg class=\"key\" width=\"14\" height=\"12\" aria-hidden=\"true\"><rect class=\"",
                kind, "\" width=\"14\" height=\"12\"/></svg>");
}
inline markup bar_key(std::size_t style) { return box_key("bar " + detail::style_class(style)); }

/// A chart under construction. Values that are not finite are left out.
class chart {
 public:
  /// `title` and `description` are the text alternative; `height` is the height of the plot in
  /// pixels. Throws `std::invalid_argument` for a logarithmic axis that does not begin above 0.
  chart(std::string title, std::string description, axis x, axis y, int height = 200,
        frame shown = {})
      : title_(std::move(title)),
        description_(std::move(description)),
        x_(std::move(x)),
        y_(std::move(y)),
        height_(height),
        shown_(shown) {
    x_.require_possible();
    y_.require_possible();
  }

  /// A band over a range of one axis.
  void band_x(double low, double high, std::string_view kind = "band") {
    rectangle(under_, left(low), 0, left(high) - left(low), 100, kind);
  }
  void band_y(double low, double high, std::string_view kind = "band") {
    rectangle(under_, 0, top(high), 100, top(low) - top(high), kind);
  }

  /// A line across the plot at one value.
  void rule_x(double at, std::string_view kind = "rule") {
    if (x_.holds(at)) { segment(under_, left(at), 0, left(at), 100, kind); }
  }
  void rule_y(double at, std::string_view kind = "rule") {
    if (y_.holds(at)) { segment(under_, 0, top(at), 100, top(at), kind); }
  }

  /// A line through the places.
  void line(std::vector<place> const& through, std::size_t style) {
    std::string path;
    for (auto const& each : through) {
      if (finite(each)) { path += (path.empty() ? 'M' : 'L') + in_box(each); }
    }
    draw(path, "line", style);
  }

  /// The band between two lines with the same x values.
  void band(std::vector<place> const& low, std::vector<place> const& high, std::size_t style) {
    std::string path;
    for (auto const& each : high) { path += (path.empty() ? 'M' : 'L') + in_box(each); }
    for (auto each = low.rbegin(); each != low.rend(); ++each) { path += 'L' + in_box(*each); }
    draw(path + (path.empty() ? "" : "z"), "between", style);
  }

  /// A step curve that rises at each of the places, from the bottom on.
  void steps(std::vector<place> const& at, std::size_t style) {
    std::string path;
    for (auto const& each : at) {
      path += path.empty() ? 'M' + in_box({each.x, y_.low}) : 'H' + box_x(each.x);
      path += 'V' + box_y(each.y);
    }
    if (!at.empty()) { path += 'H' + box_x(x_.high); }
    draw(path, "line", style);
  }

  /// Thousands of places as dots; those outside the axes are left out.
  void dots(std::vector<place> const& all, std::size_t style) {
    std::string path;
    for (auto const& each : all) {
      if (x_.holds(each.x) && y_.holds(each.y)) { path += 'M' + in_box(each) + "h0"; }
    }
    draw(path, "dots", style);
  }

  void marks(std::vector<mark> const& all, std::size_t style) {
    auto const kind = detail::style_class(style);
    for (auto const& each : all) {
      if (!finite({each.x, each.y})) { continue; }
      auto const x = left(each.x), y = top(each.y);
      if (!std::isnan(each.x_low)) {
        segment(over_, left(each.x_low), y, left(each.x_high), y, "interval " + kind);
      }
      if (!std::isnan(each.y_low)) {
        segment(over_, x, top(each.y_low), x, top(each.y_high), "interval " + kind);
      }
      over_ += markup("<svg class=\"mark ", kind, each.open ? " open" : "", "\" x=\"", percent(x),
                      "\" y=\"", percent(y), "\"><path d=\"", detail::marker_path(style), "\"/>",
                      tooltip(each.text), "</svg>");
    }
  }

  /// A bar from one value of x to another, at a value of y; `thickness` is a share of the height.
  void bar(double low, double high, double y, double thickness, std::size_t style,
           std::string const& text = {}) {
    rectangle(over_, left(low), top(y) - 50 * thickness, left(high) - left(low), 100 * thickness,
              "bar " + detail::style_class(style), text);
  }

  /// A step of a waterfall: "more", "less", "tracing" or "unsure" is its kind.
  void step(double low, double high, std::string_view kind, std::string const& text) {
    rectangle(over_, left(low), 20, left(high) - left(low), 60, "step " + std::string{kind}, text);
  }

  /// An interval without a marker, as over the end of a bar; none where an end is NaN.
  void whisker(double low, double high, double y) {
    if (std::isnan(low) || std::isnan(high)) { return; }
    segment(over_, left(low), top(y), left(high), top(y), "whisker");
  }

  /// A cell of a heat map between two categories; `share` in [0, 1] is its shade.
  void heat(std::size_t column, std::size_t row, double share, std::string const& text,
            std::string const& hint = {}) {
    auto const columns = static_cast<double>(x_.categories.size());
    auto const rows = static_cast<double>(y_.categories.size());
    auto const x = left(static_cast<double>(column)), y = top(static_cast<double>(row));
    over_ += markup("<g class=\"heat\" style=\"--shade:", detail::hundredths(share), "\">");
    rectangle(over_, x - 50 / columns, y - 50 / rows, 100 / columns, 100 / rows, "cell", hint);
    over_ += words(x, y, 0, 4, "middle", "", text) + "</g>";
  }

  /// Words at a place, above it and to its left where `anchor` is "end".
  void note(place at, std::string const& text, std::string_view anchor = "end", int down = -9) {
    over_ += words(left(at.x), top(at.y), 0, down, anchor, "note", text);
  }

  /// Markup in units of its own, `width` x `height` of them over the plot. The script of a page
  /// moves this view along x; `factor` makes a unit of x a number of the axis.
  void view(markup const& content, double width, double height, double factor) {
    auto const exact = [](double value) { return digits_of(value, 15); };
    over_ += markup(
        "<svg class=\"view\" width=\"100%\" height=\"100%\" preserveAspectRatio=\"none\" "
        "viewBox=\"0 0 ",
        exact(width), " ", exact(height), "\" data-width=\"", exact(width), "\" data-factor=\"",
        exact(factor), "\"><rect class=\"ground\" width=\"", exact(width), "\" height=\"",
        exact(height), "\"/>", content, "</svg>");
  }

  /// The element as wide as its place on a page. Its id and those made of it must be unique there.
  markup svg(std::string const& id) const;

 private:
  static bool finite(place at) { return std::isfinite(at.x) && std::isfinite(at.y); }
  static std::string percent(double value) { return detail::hundredths(value) + "%"; }
  double left(double x) const { return 100 * std::clamp(x_.share(x), 0.0, 1.0); }
  double top(double y) const { return 100 - 100 * std::clamp(y_.share(y), 0.0, 1.0); }

  // Lines are drawn in a box of 1000 x 1000 that is stretched over the plot.
  static std::string rounded(double value) {
    auto text = detail::hundredths(value);
    text.pop_back();  // one decimal, cut
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  }
  std::string box_x(double x) const { return rounded(10 * left(x)); }
  std::string box_y(double y) const { return rounded(10 * top(y)); }
  std::string in_box(place at) const { return box_x(at.x) + ' ' + box_y(at.y); }
  void draw(std::string const& path, std::string_view kind, std::size_t style) {
    if (path.empty()) { return; }
    paths_ +=
        markup("<path class=\"", kind, " ", detail::style_class(style), "\" d=\"", path, "\"/>");
  }
  static markup tooltip(std::string const& text) {
    return text.empty() ? "" : element("title", "", text);
  }
  static void rectangle(markup& into, double x, double y, double width, double height,
                        std::string_view kind, std::string const& text = {}) {
    into += markup("<rect class=\"", kind, "\" x=\"", percent(x), "\" y=\"", percent(y),
                   "\" width=\"", percent(std::max(width, 0.0)), "\" height=\"",
                   percent(std::max(height, 0.0)), "\">", tooltip(text), "</rect>");
  }
  static void segment(markup& into, double x1, double y1, double x2, double y2,
                      std::string_view kind) {
    into += markup("<line class=\"", kind, "\" x1=\"", percent(x1), "\" y1=\"", percent(y1),
                   "\" x2=\"", percent(x2), "\" y2=\"", percent(y2), "\"/>");
  }
  static markup words(double x, double y, int right, int down, std::string_view anchor,
                      std::string_view kind, std::string const& text) {
    return markup("<text class=\"", kind, "\" x=\"", percent(x), "\" y=\"", percent(y), "\" dx=\"",
                  std::to_string(right), "\" dy=\"", std::to_string(down), "\" text-anchor=\"",
                  anchor, "\">", text, "</text>");
  }

  static constexpr int pixels_of_a_letter = 8;  // the widest of digits and signs at 12 px
  static int width_of(std::string const& text) {
    return pixels_of_a_letter * static_cast<int>(text.size());
  }
  /// True if the labels of two ticks stand apart on the narrowest screen, which leaves 240 px.
  bool stand_apart(double one, double next) const {
    auto const widths = width_of(x_.label_of(one)) + width_of(x_.label_of(next));
    return 2.4 * (left(next) - left(one)) >= 0.5 * widths + 6;
  }
  /// Ticks with room for their labels. A logarithmic axis may leave some without a label.
  std::vector<double> ticks_of_x() const {
    for (std::size_t most = 7;; --most) {
      auto ticks = x_.ticks(most);
      auto const meet = [this](double one, double next) { return !stand_apart(one, next); };
      if (most == 2 || x_.logarithmic || std::ranges::adjacent_find(ticks, meet) == ticks.end()) {
        return ticks;
      }
    }
  }
  std::vector<double> ticks_of_y() const {
    return y_.ticks(static_cast<std::size_t>(std::max(2, height_ / 36)));
  }

  std::string title_, description_;
  axis x_, y_;
  int height_;
  frame shown_;
  markup under_, paths_, over_;  // in the order of painting
};

inline markup chart::svg(std::string const& id) const {
  int margin = 8;
  markup grid;
  auto labelled = std::numeric_limits<double>::quiet_NaN();
  for (double const each : ticks_of_x()) {
    auto const x = left(each);
    if (x_.categories.empty()) { segment(grid, x, 0, x, 100, "grid"); }
    if (!shown_.x || (x_.logarithmic && !std::isnan(labelled) && !stand_apart(labelled, each))) {
      continue;
    }
    grid += words(x, 100, 0, 16, "middle", "tick", x_.label_of(each));
    labelled = each;
  }
  for (double const each : shown_.y ? ticks_of_y() : std::vector<double>{}) {
    auto const text = y_.label_of(each);
    auto const letters = static_cast<int>(std::max(text.size(), shown_.letters));
    margin = std::max(margin, pixels_of_a_letter * letters + 12);
    if (y_.categories.empty()) { segment(grid, 0, top(each), 100, top(each), "grid"); }
    grid += words(0, top(each), -8, 4, "end", "tick", text);
  }
  if (shown_.x) {
    segment(grid, 0, 100, 100, 100, "base");
    grid += words(100, 100, 0, 34, "end", "unit", x_.label);
  }
  if (shown_.y) { grid += words(0, 0, -margin, -14, "start", "unit", y_.label); }
  if (!shown_.y) { margin = 0; }
  auto const pixels = [](int value) { return std::to_string(value) + "px"; };
  auto const box = paths_.empty() ? markup{}
                                  : markup(
                                        "<svg class=\"box\" viewBox=\"0 0 1000 1000\" "
                                        "width=\"100%\" height=\"100%\" "
                                        "preserveAspectRatio=\"none\">",
                                        paths_, "</svg>");
  auto const margins =
      std::string{shown_.y ? "30px 12px " : "0 0 "} + (shown_.x ? "42px " : "0 ") + pixels(margin);
  return markup("<svg class=\"chart\" id=\"", id, "\" role=\"img\" aria-label=\"", title_,
                "\" aria-describedby=\"", id, "-d\" style=\"margin:", margins,
                ";width:calc(100% - ", pixels(margin + (shown_.y ? 12 : 0)),
                ");height:", pixels(height_), "\"><desc id=\"", id, "-d\">", description_,
                "</desc>", grid, under_, box, over_, "</svg>");
}

}  // namespace assay::report
