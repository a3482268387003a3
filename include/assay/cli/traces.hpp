// SPDX-License-Identifier: Apache-2.0
/// @file
/// `traces`: the options that write and print traces. Needs CLI11 and nlohmann_json.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/cli/tracing.hpp>

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace assay::trace {
class view;
struct model;
}  // namespace assay::trace

namespace assay::cli {

/// Beside `out.json`, for a variant: `out.VARIANT.json`. Characters that shells and file systems
/// treat specially are replaced in the variant's name.
std::filesystem::path variant_path(std::filesystem::path const& of, std::string variant,
                                   std::string const& extension);

/// Prints the reports that `nsys stats` prints by default, and those that it lacks, where the trace
/// has data for them.
void print_tables(std::ostream& out, trace::view const& rows);

/// The options `--trace`, `--sqlite` and `--stats`.
class traces {
 public:
  explicit traces(tracing by);

  /// Declares the options. The help of each ends with `more`.
  void add_to(CLI::App& app, std::string const& more = {});

  /// True if the command line asks for traces.
  bool wanted() const { return stats_ || !trace_.empty() || !sqlite_.empty(); }

  /// Called before the run. Throws `std::invalid_argument` for traces that this build cannot record
  /// or write, and for paths that cannot be written.
  void check() const;

  /// For the host half of an experiment. Throws `std::invalid_argument` if traces are asked for.
  void check_host() const;

  /// Writes a variant's trace where it was asked for. Its tables, and the failure to write it, are
  /// told after the report of `given`: neither takes the comparison with it.
  void tell(trace::model const& made, std::string const& variant, options const& given) const;

  /// The name of the file for Perfetto that `tell` writes, without its folder; empty without one.
  std::string trace_file(std::string const& variant) const;

  /// Records `work()` and tells the trace, if the command line asks for traces.
  void record(std::function<void()> const& work, std::string const& variant,
              options const& given) const;

  tracing const& by() const noexcept { return by_; }

 protected:
  /// The limits of this build, for the help.
  std::string limits() const;

 private:
  /// The option that asks for traces, with its value.
  std::string asked() const;

  tracing by_;
  std::string trace_, sqlite_;
  bool stats_ = false;
};

}  // namespace assay::cli

#ifndef ASSAY_DECLARED
#include <assay/cli/traces_definitions.hpp>
#endif
