// SPDX-License-Identifier: Apache-2.0
#include "overlap.hpp"

#include <assay/measure/compare_pipelines.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/vector_add.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>

namespace assay::examples {

std::optional<measure::comparison> overlap_on_host(overlap_parameters const& given,
                                                   cli::options const& chosen) {
  int const all = host::all_threads();
  // Two inputs and an output: together as much as goes each way over a link, twice.
  auto const elements = static_cast<std::int64_t>(given.compare_bytes() / sizeof(float));
  pipeline const control{workloads::vector_add<float>{.elements = elements}, on::host{1},
                         submit::sequential{.items = 4}};
  auto const every = control.with(on::host{std::max(2, all)});
  auto const twice = control.with(on::host{2 * std::max(2, all)});
  if (chosen.list) {
    for (auto const& each :
         {describe(control.place), describe(every.place), describe(twice.place)}) {
      std::cout << each << '\n';
    }
    return {};
  }
  auto options = chosen.measuring(control.place);
  options.title = "Adding two arrays on the CPU: by one thread, by all, by twice as many";
  return compare_all(options, control, every, twice);
}

}  // namespace assay::examples
