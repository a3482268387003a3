// SPDX-License-Identifier: Apache-2.0
/// @file
/// `variants`: the pipelines of an experiment without their types. A file with kernels makes them;
/// the file with the command line lists, compares and traces them.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/cli/parse.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/options.hpp>
#include <assay/report/format.hpp>

#include <cstddef>
#include <functional>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace assay::cli {

/// The variants of an experiment, the control first.
class variants {
 public:
  using comparing = std::function<measure::comparison(measure::options const&)>;

  std::vector<std::string> notes;  ///< for the report, such as variants that were left out

  template <class Pipeline>
  void add(Pipeline const& what, std::string const& name) {
    all_.add(what, name);
    runs_.push_back(trace::runs_of(what, name));
  }
  /// Compares by another function than each variant against the first.
  void compare_by(comparing how) { how_ = std::move(how); }

  measure::comparison compare(measure::options const& chosen) const {
    return how_ ? how_(chosen) : compare(measure::against_first(names()), chosen);
  }
  measure::comparison compare(std::vector<measure::contrast> const& contrasts,
                              measure::options const& chosen) const {
    auto found = all_.run(contrasts, chosen);
    found.notes.insert(found.notes.end(), notes.begin(), notes.end());
    return found;
  }

  /// Each variant alone, by its name.
  std::vector<trace::variant_runs> const& runs() const noexcept { return runs_; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& each : runs_) { all.push_back(each.label); }
    return all;
  }

 private:
  measure::experiment all_;
  std::vector<trace::variant_runs> runs_;
  comparing how_;
};

/// Pipelines as variants, named by the choices in which they differ.
template <class... Pipelines>
variants variants_of(Pipelines const&... pipelines) {
  auto const labels = measure::labels_of(pipelines...);
  variants all;
  std::size_t next = 0;
  (all.add(pipelines, labels[next++]), ...);
  all.compare_by(
      [pipelines...](measure::options const& chosen) { return compare_all(chosen, pipelines...); });
  return all;
}

/// Names the variants for `--list`, and compares them without it.
inline std::optional<measure::comparison> list_or_compare(options const& given, variants const& all,
                                                          measure::options const& measuring,
                                                          std::ostream& out = std::cout) {
  if (given.list) {
    for (auto const& each : all.names()) { out << each << '\n'; }
    return {};
  }
  return all.compare(measuring);
}

/// Runs batches of one variant without comparing, as for a profiler, and prints their mean time.
inline trace::variant_runs const& run_alone(variants const& all, std::string const& name,
                                            int batches, std::ostream& out = std::cout) {
  auto const& what = all.runs()[choose("--variant", "variant", name, all.names())];
  auto const run = what.open();
  double seconds = 0;
  for (int i = 0; i < batches; ++i) { seconds += run(); }
  out << name << ": " << batches << " batches, " << report::duration(seconds / batches)
      << " each\n";
  return what;
}

}  // namespace assay::cli
