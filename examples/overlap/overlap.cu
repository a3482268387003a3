// SPDX-License-Identifier: Apache-2.0
#include "../workloads/iterated_map.cuh"
#include "overlap.hpp"

#include <assay/core/units.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/pool/pool.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <cstdint>
#include <string>

namespace assay::examples {

cli::variants overlap_on_device(overlap_parameters const& given, on::device place,
                                std::size_t bytes) {
  using namespace literals;
  workloads::iterated_map<float> const work{
      .elements = static_cast<std::int64_t>(bytes / sizeof(float)),
      .flops_per_element = given.flops};
  cli::variants all;
  auto const add = [&](auto const& how) {
    all.add(
        pipeline{work, place, mr::pool{2 * bytes + 64_MiB}, submit::sequential{.items = 1}, how},
        std::string{how.name});
  };
  add(transfer::mapped{});
  add(transfer::overlapped{});
  add(transfer::pinned{});
  add(transfer::staged{});
  add(transfer::pageable{});
  return all;
}

}  // namespace assay::examples
