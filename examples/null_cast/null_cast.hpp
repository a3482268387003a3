// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters and variants of the null_cast experiment.
#pragma once

#include <assay/cli/variants.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/submit/threaded.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct null_cast_parameters {
  std::int64_t rows = 2'684'354;
  double null_fraction = 0.1;
  std::string type = "int32";
  int threads = 4;
  int items = 0;
  bool sync_per_item = false;
  std::size_t pool_bytes = 0;

  submit::concurrent concurrent() const { return {threads, items, sync_per_item}; }
  submit::serialized serialized() const { return {threads, items, sync_per_item}; }

  /// Calls `body` with a value of the column's type.
  template <class Body>
  auto with_type(Body&& body) const {
    if (type == "int64") { return body(std::int64_t{}); }
    if (type == "float") { return body(float{}); }
    return body(std::int32_t{});
  }
};

/// Crosses two choices on an axis, each a name and a policy, with two ways to submit: at once, and
/// under one mutex.
template <class Control, class First, class Second>
cli::variants cross(null_cast_parameters const& given, Control const& control,
                    std::pair<std::string, First> const& first,
                    std::pair<std::string, Second> const& second) {
  cli::variants all;
  auto const add = [&](auto const& choice) {
    all.add(control.with(choice.second).with(given.concurrent()), choice.first + "/concurrent");
    all.add(control.with(choice.second).with(given.serialized()), choice.first + "/serialized");
  };
  add(first);
  add(second);
  all.compare_by(
      [control, rows = levels{first.second, second.second},
       columns = levels{given.concurrent(), given.serialized()}](measure::options const& chosen) {
        return factorial(control, rows, columns, chosen);
      });
  return all;
}

}  // namespace assay::examples
