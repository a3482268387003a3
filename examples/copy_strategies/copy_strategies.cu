// SPDX-License-Identifier: Apache-2.0
#include "../compared_strategies.cuh"
#include "../workloads/row_gather.cuh"
#include "../workloads/scale_add.cuh"
#include "../workloads/streaming_sum.cuh"
#include "../workloads/transpose.cuh"
#include "copy_strategies.hpp"

#include <assay/core/device.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/submit/threaded.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace assay::examples {

namespace {

/// A batch has so many items that all batches take about as long, whatever the workload and the
/// number of SMs.
template <class Work>
cli::variants strategies_of(Work work, copy_parameters const& given, on::device place,
                            point const& at) {
  auto const sms = static_cast<int>(at["sms"]);
  if (at.text("blocks") != "full") { work.max_sms = sms; }
  auto const share = static_cast<double>(sms) / attribute(place, cudaDevAttrMultiProcessorCount);
  auto const items = 20 * share * static_cast<double>(given.bytes) / work.item_traffic().bytes();
  submit::sequential const batch{.items = std::max(1, static_cast<int>(std::lround(items)))};
  cli::variants made;
  each_compared_strategy([&](auto how) {
    if (auto const why = workloads::why_unsupported(place, work, how)) {
      made.notes.push_back("left out: " + *why);
    } else {
      made.add(pipeline{work, place, batch, how}, describe(how));
    }
  });
  if (made.runs().size() < 2) { throw std::invalid_argument(made.notes.front()); }
  return made;
}

}  // namespace

cli::variants copy_on_device(copy_parameters const& given, on::device place, point const& at) {
  auto const strategies = [&](auto const& work) { return strategies_of(work, given, place, at); };
  auto const bytes = given.bytes;
  auto const& name = at.text("work");
  if (name == "streaming_sum") {
    return strategies(workloads::streaming_sum<float>{.elements = bytes / 4});
  }
  if (name == "scale_add") {
    return strategies(workloads::scale_add<float>{.elements = bytes / 8});
  }
  if (name == "transpose") {
    auto const side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes / 4)));
    return strategies(workloads::transpose{.rows = side, .columns = side});
  }
  auto const row = std::stoll(name.substr(name.rfind('_') + 1));
  return strategies(
      workloads::row_gather{.rows = bytes / row, .table_rows = 2 * bytes / row, .row_bytes = row});
}

}  // namespace assay::examples
