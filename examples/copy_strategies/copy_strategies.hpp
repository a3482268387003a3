// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters of the copy-strategy experiment, and its variants on a GPU.
#pragma once

#include <assay/cli/variants.hpp>
#include <assay/race/space.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct copy_parameters {
  std::int64_t bytes = 0;  ///< what a workload reads
  std::vector<int> sms;    ///< one block on each; 0: all SMs, full
  std::vector<std::string> workloads;
};

/// The names of the workloads; `row_gather_256` gathers rows of 256 bytes.
inline std::vector<std::string> copy_workloads() {
  return {"streaming_sum",    "row_gather_256", "row_gather_1024", "row_gather_4096",
          "row_gather_16384", "scale_add",      "transpose"};
}

/// Each workload on each number of SMs. `blocks` is "one each", or "full" for as many as fit.
inline std::vector<point> copy_points(copy_parameters const& given, int device_sms) {
  std::vector<point> all;
  for (auto const& work : given.workloads) {
    for (int const sms : given.sms) {
      all.push_back({{{"sms", sms == 0 ? device_sms : sms}},
                     {{"work", work}, {"blocks", sms == 0 ? "full" : "one each"}}});
    }
  }
  return all;
}

/// The copy strategies of one point; a note names those that cannot run. Throws
/// `std::invalid_argument` where none but the first can.
cli::variants copy_on_device(copy_parameters const& given, on::device place, point const& at);

}  // namespace assay::examples
