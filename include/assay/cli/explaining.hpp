// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explaining`: the options that explain why variants differ, and that write their traces. Needs
/// CLI11 and nlohmann_json.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/cli/traces.hpp>
#include <assay/cli/tracing.hpp>
#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace assay::trace {
struct variant_runs;
}

namespace assay::cli {

/// Explains, after a comparison, why its variants differ, and writes their traces.
class explaining : public traces {
 public:
  /// `by_default`: explain variants unless the command line says otherwise.
  explicit explaining(tracing by, bool by_default = true) : traces(by), explain_(by_default) {}

  void add_to(CLI::App& app);

  /// A choice of the control: the first variant.
  static std::size_t first(std::size_t) { return 0; }
  /// A choice of the control: the variant before this one.
  static std::size_t before(std::size_t variant) { return variant - 1; }

  /// Adds to `found` the reasons for which each variant differs from its control, and the numbers
  /// below the reasons. Writes and prints the trace of each variant once. The command line says
  /// which of this is done. `runs` has the variants in their order in `found`. The names of traces
  /// begin with `prefix`.
  void explain(options const& given, measure::comparison& found,
               std::vector<trace::variant_runs> const& runs,
               std::size_t (*control_of)(std::size_t) = first,
               std::string const& prefix = {}) const;

 private:
  bool explain_;
};

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/explaining_definitions.hpp>
#endif
