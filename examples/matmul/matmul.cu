// SPDX-License-Identifier: Apache-2.0
#include "../workloads/matmul.cuh"
#include "matmul.hpp"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/copy/regular.hpp>
#include <assay/core/device.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/concepts.hpp>

namespace assay::examples {

namespace {

template <class T>
matmul_variants of_type(matmul_parameters const& given, on::device place) {
  auto const work = given.work<workloads::matmul<T>>();
  matmul_variants made;
  made.instruction = workloads::matmul_shape_on<T, copy::regular<>>(place).instruction;
  auto const add = [&](auto strategy) {
    if (auto const why = workloads::why_unsupported(place, work, strategy)) {
      made.all.notes.push_back("left out: " + *why);
      return;
    }
    made.all.add(pipeline{work, place, submit::sequential{.items = given.items}, strategy},
                 describe(strategy));
  };
  add(copy::regular<>{});
  add(copy::cp_async<1>{});
  add(copy::cp_async<2>{});
  add(copy::cp_async<3>{});
  add(copy::cp_async<4>{});
  add(copy::bulk<1>{});
  add(copy::bulk<2>{});
  add(copy::bulk<3>{});
  add(copy::bulk<4>{});
  return made;
}

}  // namespace

matmul_variants matmul_on_device(matmul_parameters const& given, on::device place) {
  require_device(place);
  return given.type == "float" ? of_type<float>(given, place) : of_type<bfloat16>(given, place);
}

}  // namespace assay::examples
