// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison with something in every part of it, as the reports' tests print it.
#pragma once

#include <assay/measure/comparison.hpp>

#include <string>
#include <utility>

namespace assay::test {

inline measure::finding found(std::string name, measure::verdict outcome, measure::estimate effect,
                              std::vector<double> weights = {}) {
  measure::finding result;
  result.contrast_name = std::move(name);
  result.outcome = outcome;
  result.effect = effect;
  result.noise = 0.0021;
  result.weights = std::move(weights);
  result.epoch_effects = {0.01, -0.02};
  return result;
}

inline measure::variant_result sample_variant(std::string const& memory, std::string const& mode,
                                              double seconds) {
  measure::variant_result result;
  result.label = memory + " + " + mode;
  result.axes = {{"workload", "null_cast"}, {"memory", memory}, {"submission", mode}};
  result.bytes = 4e9;
  for (auto const which : {measure::clock::wall, measure::clock::gpu}) {
    result.seconds[static_cast<std::size_t>(which)] = {
        seconds, seconds * 0.99, seconds * 1.01, seconds * 0.9, seconds * 1.5, 64};
    result.cells[static_cast<std::size_t>(which)] = {seconds, seconds * 1.5};
  }
  result.seconds[2] = {2e-6, 1.9e-6, 2.1e-6, 1e-6, 1e-5, 64};
  result.sm_hertz = 1.98e9;
  return result;
}

/// Four variants of a 2x2, in the order of its axes.
inline measure::comparison sample() {
  measure::comparison all;
  all.title = "null_cast: which allocator, submitted how?";
  all.changed = "memory x submission";
  all.variants = {sample_variant("pool{10 GiB}", "concurrent", 1.0e-3),
                  sample_variant("pool{10 GiB}", "serialized", 1.1e-3),
                  sample_variant("async", "concurrent", 1.2e-3),
                  sample_variant("async", "serialized", 1.4e-3)};
  all.ceilings = {{"cudaMemcpy device to device", 4.24e12}};
  all.epochs = 12;
  all.seconds = 3.21;
  all.seed = 42;
  return all;
}

}  // namespace assay::test
