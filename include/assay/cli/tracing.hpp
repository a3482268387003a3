// SPDX-License-Identifier: Apache-2.0
/// @file
/// `tracing`: the functions that record and write traces, as a value. Needs neither CUPTI nor
/// SQLite, so that files with kernels can take it.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/trace/metrics.hpp>

#include <filesystem>
#include <functional>

namespace assay::trace {
struct compared_runs;
struct explanation;
struct model;
}  // namespace assay::trace

namespace assay::cli {

/// The functions that record and write traces. Without CUPTI all functions are null;
/// `cupti_tracing` makes one with CUPTI.
struct tracing {
  /// Records `work()`, which is called twice: the first call loads what the recorder needs.
  trace::model (*record)(std::function<void()> const& work) = nullptr;
  /// Explains the difference of two variants of a comparison; reads counters if `count`.
  trace::explanation (*explain)(measure::comparison const& found,
                                trace::compared_runs const& control,
                                trace::compared_runs const& variant, bool count) = nullptr;
  /// Writes a trace in the schema of nsys; null in a build without SQLite 3.
  void (*write_sqlite)(trace::model const& of, std::filesystem::path const& path) = nullptr;
  /// Reads hardware counters of each kernel that `work()` launches; it is called several times.
  trace::counter_values (*count)(trace::metric_set const& metrics,
                                 std::function<void()> const& work) = nullptr;
};

}  // namespace assay::cli
