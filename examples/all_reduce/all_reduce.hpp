// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parameters of the all-reduce experiment, and its half on GPUs.
#pragma once

#include <assay/comm/peers.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/race/space.hpp>
#include <assay/report/format.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay::examples {

/// The parameters of the experiment beside those that all experiments have.
struct all_reduce_parameters {
  std::vector<std::size_t> compared;  ///< bytes of each rank, reduced with as many SMs as pay
  std::size_t sweep = 0;              ///< bytes of each rank, reduced with each number of `sms`
  std::vector<unsigned> sms{2, 8, 16};
};

std::vector<std::string> all_reduce_variants();

/// The comparison of so many bytes on so many SMs, of 0: on as many as pay.
inline point all_reduce_point(std::size_t bytes, unsigned sms) {
  return {{},
          {{"size", report::byte_size(static_cast<double>(bytes))},
           {"sms", sms == 0 ? "auto" : std::to_string(sms)}}};
}

/// The copy strategies inside an all-reduce: a comparison for each size, and for each number of
/// SMs. `max_seconds` is the limit of all together; the first analysis of each always comes.
measure::comparison compare_strategies(all_reduce_parameters const& given, comm::peers const& peers,
                                       measure::options const& measuring);

/// Records the trace of `work()`, which a variant does.
using trace_recorder = std::function<void(std::function<void()> const& work, std::string variant)>;

/// Records one launch of each variant at the first size.
void trace_strategies(all_reduce_parameters const& given, comm::peers const& peers,
                      std::uint64_t seed, trace_recorder const& record);

}  // namespace assay::examples
