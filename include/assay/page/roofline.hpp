// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. Variants under the measured ceilings: a roofline, or rates alone.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/strips.hpp>
#include <assay/report/short_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report::detail {

/// Rates of one variant: of the bytes and FLOPs that its work declares.
struct rated_variant {
  std::string label;
  double bytes_per_second = 0, flops_per_second = 0;
  double dram_bytes = std::numeric_limits<double>::quiet_NaN();  ///< of a batch, by counters
  double batch_seconds = std::numeric_limits<double>::quiet_NaN();
  double intensity() const { return flops_per_second / bytes_per_second; }
};

inline std::vector<rated_variant> rated_variants(measure::comparison const& all) {
  std::vector<rated_variant> made;
  for (std::size_t i = 0; i < all.variants.size(); ++i) {
    auto const& each = all.variants[i];
    auto const seconds = each.on(all.primary).median;
    if (!(seconds > 0)) { continue; }
    auto& rated = made.emplace_back();
    rated.label = each.label;
    rated.bytes_per_second = each.bytes / seconds;
    rated.flops_per_second = each.flops / seconds;
    for (auto const& traced : all.traced) {
      for (auto const* side : {&traced.control, &traced.variant}) {
        if (static_cast<std::size_t>(side->variant) != i || !(side->dram_bytes > 0)) { continue; }
        rated.dram_bytes = side->dram_bytes;
        rated.batch_seconds = each.on(measure::clock::wall).median;
      }
    }
  }
  return made;
}

/// Declared rates, shares of ceilings and counted DRAM traffic as a table.
inline html_table rates_table(measure::comparison const& all,
                              std::vector<rated_variant> const& rated) {
  html_table rows{{"variant", "bytes a second", "of the ceiling", "FLOP a second",
                   "of the ceiling for FLOP", "FLOP a byte", "DRAM rate by counters"}};
  auto const* const bytes = limit(all, machine::ceiling::unit::bytes);
  auto const* const flops = limit(all, machine::ceiling::unit::flops);
  for (auto const& each : rated) {
    auto const told = [](double value, std::string_view unit) {
      return value > 0 ? html_cell{rate(value, unit), value} : html_cell{"-"};
    };
    auto const share = [](double value, machine::ceiling const* of) {
      return value > 0 && of != nullptr
                 ? html_cell{percent(value / of->per_second, 1), value / of->per_second}
                 : html_cell{"-"};
    };
    auto const intensity = each.intensity();
    rows.add({each.label, told(each.bytes_per_second, "B"), share(each.bytes_per_second, bytes),
              told(each.flops_per_second, "FLOP"), share(each.flops_per_second, flops),
              intensity > 0 && std::isfinite(intensity)
                  ? html_cell{plain_number(intensity), intensity}
                  : html_cell{"-"},
              told(each.dram_bytes / each.batch_seconds, "B")});
  }
  return rows;
}

/// The roofline: FLOPs a second over FLOPs a byte, on logarithmic axes.
inline figure roofline_figure(measure::comparison const& all,
                              std::vector<rated_variant> const& rated, page_ids& ids) {
  auto const* const bytes = limit(all, machine::ceiling::unit::bytes);
  auto const* const flops = limit(all, machine::ceiling::unit::flops);
  std::vector<double> across, up;
  for (auto const& each : rated) {
    across.push_back(each.intensity());
    up.push_back(each.flops_per_second);
  }
  double const ridge =
      bytes != nullptr && flops != nullptr ? flops->per_second / bytes->per_second : across.front();
  across.push_back(ridge);
  auto const [least, most] = std::ranges::minmax(across);
  across.insert(across.end(), {least / 4, most * 4});
  auto const roof = [&](double intensity) {
    auto const by_bytes =
        bytes == nullptr ? std::numeric_limits<double>::infinity() : intensity * bytes->per_second;
    return flops == nullptr ? by_bytes : std::min(by_bytes, flops->per_second);
  };
  auto const x = axis_over(across, "FLOP a byte, as declared", plain_number, true);
  std::vector<place> line;  // straight between these, since both axes are logarithmic
  for (double const at : {x.low, ridge, x.high}) {
    line.push_back({at, roof(at)});
    up.push_back(roof(at));
  }
  auto const y = axis_over(
      up, "TFLOP/s, " + clock_name(all.primary),
      [](double value) { return plain_number(value * 1e-12); }, true);
  chart drawn{"Roofline", "Rates of variants below the measured ceilings: the table has them.", x,
              y, 220};
  drawn.line(line, 5);
  figure made{"Roofline"};
  for (std::size_t i = 0; i < rated.size(); ++i) {
    drawn.marks({{.x = rated[i].intensity(),
                  .y = rated[i].flops_per_second,
                  .text = rated[i].label + ": " + rate(rated[i].flops_per_second, "FLOP")}},
                i);
    if (i < chart_styles - 1) { made.legend.emplace_back(i, rated[i].label); }
  }
  std::string ceilings;
  for (auto const* each : {bytes, flops}) {
    if (each == nullptr) { continue; }
    ceilings += (ceilings.empty() ? "Ceilings: " : "; ") + each->name + " " +
                rate(each->per_second, each == bytes ? "B" : "FLOP");
  }
  made.picture = drawn.svg(ids.next());
  made.note = ceilings + ".";
  return made;
}

/// Bytes a second of each variant, with the measured ceiling as a line.
inline markup rate_strips(measure::comparison const& all, std::vector<rated_variant> const& rated,
                          page_ids& ids, page_budget const& budget) {
  auto const& ceiling = *limit(all, machine::ceiling::unit::bytes);
  double most = ceiling.per_second;
  for (auto const& each : rated) { most = std::max(most, each.bytes_per_second); }
  axis const x{.label = "TB/s of what must move, " + clock_name(all.primary),
               .high = most * 1.05,
               .text = [](double value) { return plain_number(value * 1e-12); }};
  markup strips;
  for (std::size_t i = 0; i < std::min(rated.size(), budget.marks); ++i) {
    auto const& each = rated[i];
    auto strip = strip_of("Rate, " + each.label, "The table has the rates.", x);
    strip.bar(0, each.bytes_per_second, 0.5, 0.6, 0, rate(each.bytes_per_second, "B"));
    strip.rule_x(ceiling.per_second);
    strips +=
        strip_row(each.label, strip.svg(ids.next()),
                  rate(each.bytes_per_second, "B") + ", " +
                      percent(each.bytes_per_second / ceiling.per_second, 1) + " of the ceiling");
  }
  return paragraph(
             "Line: the ceiling, " + ceiling.name + ", " + rate(ceiling.per_second, "B") + ".",
             "soft") +
         strip_list(strips, x, ids);
}

/// Variants under the measured ceilings; empty where the record has no ceiling or no declared work.
inline markup roofline_section(measure::comparison const& all, page_ids& ids,
                               page_budget const& budget) {
  auto const rated = rated_variants(all);
  auto const* const bytes = limit(all, machine::ceiling::unit::bytes);
  auto const* const flops = limit(all, machine::ceiling::unit::flops);
  std::vector<rated_variant> computing, moving;
  for (auto const& each : rated) {
    if (each.bytes_per_second > 0) { moving.push_back(each); }
    if (each.bytes_per_second > 0 && each.flops_per_second > 0) { computing.push_back(each); }
  }
  auto const table = rates_table(all, rated).folded("rates and ceilings", budget.marks);
  if (!computing.empty() && (bytes != nullptr || flops != nullptr)) {
    std::vector<figure> parts;
    for (std::size_t i = 0; i < computing.size(); i += chart_styles - 1) {
      auto const end = std::min(computing.size(), i + chart_styles - 1);
      parts.push_back(roofline_figure(all,
                                      {computing.begin() + static_cast<std::ptrdiff_t>(i),
                                       computing.begin() + static_cast<std::ptrdiff_t>(end)},
                                      ids));
    }
    return title_of("Roofline") + figures(parts, budget.charts) + table;
  }
  if (moving.empty() || bytes == nullptr) { return {}; }
  return title_of("Rates below the ceiling") + rate_strips(all, moving, ids, budget) + table;
}

}  // namespace assay::report::detail
