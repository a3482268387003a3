// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-architectures: 90a
// assay-grouped: no, it specialises a step of a kernel
/// @file
/// The workload with a kernel of `optimiser::in_products` whose steps are broken on purpose.
#include "catch.hpp"

#include <assay/core/error.hpp>
#include <assay/core/place.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transformer/workload.cuh>

#include <cuda_runtime.h>

#include <cmath>
#include <string>

using namespace assay;
using test::contains;

namespace {

enum class fault : int { none, no_decay, wrong_beta, no_correction, lost_gradient };

__device__ fault which = fault::none;

}  // namespace

namespace assay::nn::kernels {

/// The step of the kernel, with a fault. The factors of the kernel itself are the right ones.
template <>
__device__ void step_weight<void>(adamw_factors const& by, float g, float& w, float& m, float& v) {
  if (which == fault::lost_gradient) { g = 0; }
  m = (which == fault::wrong_beta ? 0.9F : 1.0F) * by.beta1 * m + by.rest1 * g;
  v = by.beta2 * v + by.rest2 * g * g;
  float const keep = which == fault::no_decay ? 1 : by.keep;
  float const factor = which == fault::no_correction ? 1 : by.root_factor;
  w = w * keep - by.rate * m / (sqrtf(v) * factor + by.epsilon);
}

}  // namespace assay::nn::kernels

namespace {

/// What the workload says of a step whose matrices are updated with a fault.
std::string verified(fault of) {
  check(cudaMemcpyToSymbol(which, &of, sizeof of));
  nn::decoder const model{.width = 128, .inner = 96, .layers = 2, .heads = 2, .vocabulary = 37};
  workloads::transformer<> const work{.model = model, .batch = 2, .context = 17};
  rig made{pipeline{work.with(nn::bf16{}), mr::async{}, submit::sequential{.items = 2}}.with(
      nn::optimiser::in_products{})};
  return made.verify().value_or("right");
}

}  // namespace

TEST_CASE("a kernel of products with updates that is broken is seen in the first matrix", "[nn]") {
  if (!nn::has_weight_update(current_device())) { return; }
  CHECK(verified(fault::none) == "right");
  auto const wrong = [](fault of, char const* what) {
    CHECK_THAT(verified(of), contains(std::string{"layers.0.attn.q_proj.weight: "} + what));
  };
  wrong(fault::no_decay, "weight");
  wrong(fault::wrong_beta, "first moment");
  wrong(fault::no_correction, "weight");
  CHECK_THAT(verified(fault::lost_gradient), contains("gradients differ by"));
}
