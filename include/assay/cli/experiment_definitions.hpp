// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to experiment.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/experiment.hpp>
#include <assay/cli/parameters_definitions.hpp>
#include <assay/cli/parse.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/sweep.hpp>
#include <assay/cli/sweep_definitions.hpp>
#include <assay/compare.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/place.hpp>
#include <assay/race/space.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iostream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::cli::detail {

ASSAY_INLINE erased_experiment::erased_experiment(std::vector<swept> parameters,
                                                  std::vector<std::string> names, bool on_stream)
    : parameters_(std::move(parameters)), on_stream_(on_stream), names_(std::move(names)) {}

ASSAY_INLINE int erased_experiment::run(int argc, char const* const* argv,
                                        std::string const& question) {
  return run(argc, argv, question, std::cout, std::cerr);
}
ASSAY_INLINE int erased_experiment::run(int argc, char const* const* argv,
                                        std::string const& question, std::ostream& out,
                                        std::ostream& err) {
  title_ = question;
  return cli::run(
      argc, argv, {question}, [this](CLI::App& app) { declare(app); },
      [&](options const& given) { return measured(given, out); }, out, err);
}

/// Declares an option for each parameter. A refusal waits for `measured`, where it is reported.
ASSAY_INLINE void erased_experiment::declare(CLI::App& app) {
  if (on_stream_) { app.get_option("--clock")->default_val("gpu"); }
  if (!parameters_.empty()) {
    app.add_option("--axis,-a", axes_, "the same as nvbench has it: n=[1,2], n[pow2]=[10:20:2]")
        ->allow_extra_args(false);
  }
  for (auto& each : parameters_) {
    auto const& name = each.name;
    auto const plain = [](char letter) {
      return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' ||
             letter == '_';
    };
    if (name.empty() || name.front() == '-' || !std::ranges::all_of(name, plain)) {
      refusal_ = concat({"parameter \"", name, "\": a name has letters, digits, - and _"});
    } else if (app.get_option_no_throw(each.option()) != nullptr) {
      refusal_ = concat({"parameter \"", name, "\": there is an option ", each.option(),
                         ": choose another name"});
    } else {
      app.add_option_function<std::string>(
             each.option(), [&each](std::string const& text) { each.given = text; },
             each.of == swept::kind::types   ? "some of these types"
             : each.of == swept::kind::texts ? "texts, with commas between them"
                                             : "whole numbers such as 1,2,3 or 2:10:2")
          ->default_str(cli::joined(each.declared, ","));
    }
  }
}

ASSAY_INLINE std::optional<measure::comparison> erased_experiment::measured(
    cli::options const& given, std::ostream& out) {
  auto const chosen = measuring(given);
  for (auto const& each : axes_) { read_axis(each, parameters_); }
  auto cells = points_of(parameters_);
  if (given.list) {
    for (auto const& at : cells) { list(at, out); }
    return {};
  }
  auto const skipped = without_skipped(cells);  // what a function refuses is told before the run
  auto found = names_.size() == 1
                   ? against_first_point(cells, chosen)
                   : sweep(cells, chosen, [this](point const& at, measure::options const& own) {
                       auto all = at_point(at);
                       all.chosen = own;
                       return measure::compare_callables(all);
                     });
  found.notes.insert(found.notes.end(), skipped.begin(), skipped.end());
  return found;
}

/// Takes out the cells that a function skips, and returns the reasons.
ASSAY_INLINE std::vector<std::string> erased_experiment::without_skipped(
    std::vector<point>& cells) {
  std::vector<std::string> reasons;
  std::erase_if(cells, [&](point const& at) {
    try {
      (void)at_point(at);
      return false;
    } catch (skip const& why) {
      reasons.push_back(concat({"skipped ", at.label(), ": ", why.what()}));
      return true;
    }
  });
  if (cells.empty()) { throw std::invalid_argument("no cell is left: " + reasons.front()); }
  return reasons;
}

ASSAY_INLINE measure::options erased_experiment::measuring(cli::options const& given) const {
  if (!refusal_.empty()) { throw std::invalid_argument(refusal_); }
  if (on_stream_ ? given.host : given.device_named) {
    throw std::invalid_argument(
        on_stream_ ? "--host: this experiment runs on a GPU; leave the option out"
                   : "--device: this experiment runs on the host; leave the option out");
  }
  auto chosen = given.measuring;
  chosen.title = title_;
  if (given.device_named) { chosen.place = on::device{given.device}; }
  return chosen;
}

ASSAY_INLINE void erased_experiment::list(point const& at, std::ostream& out) const {
  auto const where = at.label();
  for (auto const& name : names_) { out << (where.empty() ? "" : where + ": ") << name << '\n'; }
}

/// One callable: each point against the first one.
ASSAY_INLINE measure::comparison erased_experiment::against_first_point(
    std::vector<point> const& cells, measure::options const& chosen) {
  auto all = at_point(cells.front());
  all.entries.front().label = cells.size() == 1 ? names_.front() : cells.front().label();
  for (std::size_t i = 1; i < cells.size(); ++i) {
    auto one = at_point(cells[i]);
    one.entries.front().label = cells[i].label();
    all.entries.push_back(std::move(one.entries.front()));
  }
  all.chosen = chosen;
  all.chosen.changed = cli::joined(varied(), ",");
  auto found = measure::compare_callables(all);
  for (std::size_t i = 0; i < found.variants.size(); ++i) {
    found.variants[i].axes.clear();
    add_axes(found.variants[i], cells[i]);
  }
  return found;
}

/// The parameters with several values.
ASSAY_INLINE std::vector<std::string> erased_experiment::varied() const {
  std::vector<std::string> all;
  for (auto const& each : parameters_) {
    if (values_of(each).size() > 1) { all.push_back(each.name); }
  }
  return all;
}

}  // namespace assay::cli::detail
