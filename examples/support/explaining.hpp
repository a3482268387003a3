// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explaining`: explains why variants differ and writes their traces, in builds with CUPTI.
#pragma once

#include "options.hpp"
#include "trace_choice.hpp"

#include <assay/cupti/variant_runs.hpp>
#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::cli {

/// Explains, after a comparison, why its variants differ, and writes their traces.
class explaining {
 public:
  /// `by_default`: explain variants unless the command line says otherwise.
  explicit explaining(bool by_default = true) { choice_.explain = by_default; }

  void add_to(command_line& line);

  /// Refuses, before the run, what the host half or this build cannot do.
  void check_host() const { choice_.check_host(); }
  void check() const;

  /// The variants of one comparison, in their order there.
  class variant_list {
   public:
    explicit variant_list(explain_choice const& choice) : choice_(choice) {}

    template <class Pipeline>
    void add(Pipeline const& what, std::string const& name) {
      all_.push_back({{all_.size(), trace::runs_of(what, name)}, false});
    }

    /// Adds to `found` the reasons for which `variant` differs from `control`, if the command line
    /// asks for them; writes the trace of each variant once. Both are indices.
    void explain(options const& given, measure::comparison& found, std::size_t control,
                 std::size_t variant);

   private:
    struct entry {
      trace::compared_runs compared;
      bool told;
    };

    explain_choice const& choice_;
    std::vector<entry> all_;
  };

  variant_list variants() const { return variant_list{choice_}; }

  /// Adds to `found` the reasons for which each variant differs from the first. `names` holds the
  /// names of the variants.
  template <class... Pipelines>
  void operator()(options const& given, measure::comparison& found,
                  std::vector<std::string> const& names, Pipelines const&... all) const {
    auto line = variants();
    std::size_t next = 0;
    (line.add(all, names.at(next++)), ...);
    for (std::size_t variant = 1; variant < next; ++variant) {
      line.explain(given, found, 0, variant);
    }
  }

  /// Writes the trace of a batch of one pipeline that is run without comparing.
  template <class Pipeline>
  void alone(Pipeline const& what, std::string const& name) const {
    if (choice_.wants_traces()) { trace_alone(trace::runs_of(what, name)); }
  }

 private:
  void trace_alone(trace::variant_runs const& what) const;

  explain_choice choice_;
};

}  // namespace assay::cli
