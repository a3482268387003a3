// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to reports.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/all_reports.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

ASSAY_INLINE std::vector<std::string_view> default_reports() {
  constexpr std::size_t printed_by_nsys = 9;  // among `reports`
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < printed_by_nsys; ++i) { names.push_back(reports[i].name); }
  for (auto const& each : own_reports) { names.push_back(each.name); }
  return names;
}

ASSAY_INLINE table make_report(std::string_view name, view const& rows) {
  std::string known;
  auto const* found = static_cast<report const*>(nullptr);
  auto const look = [&](auto const& those) {
    for (auto const& each : those) {
      if (each.name == name) { found = &each; }
      known += (known.empty() ? "" : ", ") + std::string{each.name};
    }
  };
  look(reports);
  look(own_reports);
  if (found != nullptr) { return found->make(rows); }
  throw std::invalid_argument(concat({"no report is called '", name, "'; there are ", known}));
}

}  // namespace assay::trace
