// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to engine.hpp: decisions in words.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/dispatch/engine.hpp>

#include <cstddef>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::dispatch {
namespace detail {

inline std::string time_with_copies(prediction const& of) {
  auto text = in_words(of.total);
  std::string_view before = ", of it ";
  for (auto const& each : of.items) {
    bool const in = each.name == "copies in";
    if (!in && each.name != "copies back") { continue; }
    text += std::string{before} + short_text(each.seconds) +
            (in ? " to the device (" : " to the host (") + std::string{each.memory} + ')';
    before = " and ";
  }
  return text;
}

ASSAY_INLINE decision decision_of(costs const& of, std::size_t chosen, facts const& known,
                                  load_now const& load, std::string const& forced_by) {
  decision made{.chosen = chosen, .predictions = {}, .forced_by = forced_by};
  for (std::size_t i = 0; i < of.paths().size(); ++i) {
    made.predictions.push_back(of.predict(i, known, load));
  }
  return made;
}

ASSAY_INLINE void refuse_task(costs const& of, std::string_view task) {
  throw std::invalid_argument(
      concat({"unknown task ", task, ": this engine has the costs of ", of.task()}));
}

ASSAY_INLINE void refuse_library(costs const& of, std::string_view here) {
  throw std::invalid_argument(
      concat({"the costs of ", of.task(), " are of '", of.measured().library,
              "', and this program has '", here, "': calibrate again"}));
}

ASSAY_INLINE void require_host_paths(costs const& of) {
  for (auto const& each : of.paths()) {
    if (each.where.host() != nullptr) { continue; }
    throw std::invalid_argument(concat(
        {"the costs of ", of.task(), " have the path ", each.where.describe(),
         ", and this engine runs host paths: give it a memory resource, or calibrate host paths"}));
  }
}

}  // namespace detail

ASSAY_INLINE std::string decision::describe() const {
  auto const& mine = predictions.at(chosen);
  auto text = concat({mine.where.describe(), ": ", detail::time_with_copies(mine)});
  for (auto const& each : predictions) {
    if (&each != &mine) {
      text += concat({"; ", each.where.describe(), " ", detail::time_with_copies(each)});
    }
  }
  if (mine.extrapolated) { text += " (outside the calibrated sizes)"; }
  return forced_by.empty() ? text : concat({text, " (by ", forced_by, ")"});
}

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, decision const& of) {
  return out << of.describe();
}

}  // namespace assay::dispatch
