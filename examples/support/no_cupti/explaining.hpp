// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saying why variants differ, where the build has no CUPTI: that it cannot be said.
#pragma once

#include "../explain_choice.hpp"
#include "../options.hpp"

#include <assay/measure/comparison.hpp>

#include <CLI/CLI.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace assay::cli {

/// Stands where `support/cupti/explaining.hpp` does in a build with CUPTI.
class explaining {
 public:
  void add_to(CLI::App& app) { choice_.add_to(app, "; not in this build, which has no CUPTI"); }

  void check_host() const { choice_.check_host(); }
  void check() const {
    if (!choice_.wants_traces()) { return; }
    throw std::invalid_argument(choice_.asked() +
                                ": this program was built without CUPTI, which records traces: "
                                "build it with a CUDA toolkit that has it");
  }

  template <class... Pipelines>
  void operator()(options const&, measure::comparison& found, std::vector<std::string> const&,
                  Pipelines const&...) const {
    if (!choice_.explain) { return; }
    found.notes.emplace_back(
        "why variants differ is not traced: this program was built without CUPTI");
  }

  template <class Pipeline>
  void alone(Pipeline const&, std::string const&) const {}

 private:
  explain_choice choice_;
};

}  // namespace assay::cli
