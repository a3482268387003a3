// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-architectures: 90a
/// @file
/// The workload with optimisers that are broken on purpose: each is a wrong answer.
#include "catch.hpp"

#include <assay/kernel/launch.cuh>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/options.hpp>
#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transformer/workload.cuh>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

using namespace assay;
using test::contains;

namespace broken_optimisers {

enum class fault { none, wrong_beta, no_decay, stale_copy, last_tensor };

/// AdamW in one launch, and a fault behind it.
template <fault Which>
struct broken {
  static constexpr std::string_view axis = "optimiser";
  static constexpr std::string_view name = "broken";
  bool operator==(broken const&) const = default;
};

/// to += factor from, element by element.
struct added_multiple {
  static constexpr std::string_view name = "added_multiple";
  float factor = 0;
  assay::traffic cost(double) const { return {}; }
};

template <class T>
__global__ void add_multiple(int count, float factor, T const* from, T* to) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) { return; }
  float x[1], y[1];
  nn::kernels::load(from + i, x);
  nn::kernels::load(to + i, y);
  y[0] += factor * x[0];
  nn::kernels::store(to + i, y);
}

template <class T>
void enqueue(::cuda::stream_ref stream, added_multiple const& op, std::span<T> from,
             std::span<T> to) {
  kernel::launch(add_multiple<T>, dim3(static_cast<unsigned>(to.size() / 256 + 1)), dim3(256), 0,
                 stream, static_cast<int>(to.size()), op.factor, from.data(), to.data());
}

/// The overload for these optimisers. The decay takes 1e-4 of a weight in the step that is checked.
template <class Run, class P, class A, class J, fault Which, class Real, class Narrow>
void training_pass(Run& run, nn::problem const& of, nn::choices<P, A, J, broken<Which>> const& how,
                   nn::token_positions const& tokens, nn::weights<Real, Narrow> const& w,
                   nn::weights<Real> const& dw, nn::activations<Real, Narrow> const& a,
                   nn::adamw_update const& op, nn::trained_weights<Real, Narrow> const& all) {
  nn::backward_pass(run, of, how.attention, tokens, w, dw, a);
  auto count = static_cast<std::size_t>(of.model.parameters());
  if (Which == fault::last_tensor) { count -= nn::weight_tensors(of.model).back().size(); }
  nn::update_part(run, op, 0, count, all);
  nn::place_in_step const where{nn::phase::optimiser, -1, "fault"};
  if (Which == fault::wrong_beta) { run(where, added_multiple{0.05F}, all.gradients, all.first); }
  if (Which == fault::no_decay) { run(where, added_multiple{1e-4F}, all.weights, all.weights); }
  if (Which == fault::stale_copy) { run(where, added_multiple{0.01F}, all.copy, all.copy); }
}

}  // namespace broken_optimisers

namespace {

using broken_optimisers::broken;
using broken_optimisers::fault;

auto tiny_pipeline() {
  nn::decoder const model{.width = 128, .inner = 96, .layers = 2, .heads = 2, .vocabulary = 37};
  workloads::transformer<> const work{.model = model, .batch = 2, .context = 17};
  return pipeline{work.with(nn::bf16{}), mr::async{}, submit::sequential{.items = 2}};
}

template <class Optimiser>
std::string verified(Optimiser const& optimiser) {
  rig made{tiny_pipeline().with(optimiser)};
  return made.verify().value_or("right");
}
template <fault Which>
std::string verified() {
  return verified(broken<Which>{});
}

}  // namespace

TEST_CASE("an optimiser that is broken is seen in weights and moments", "[nn]") {
  CHECK(verified<fault::none>() == "right");
  CHECK(verified(nn::optimiser::in_products{}) == "right");
  CHECK_THAT(verified<fault::wrong_beta>(), contains("token_embeddings.weight: first moment"));
  CHECK_THAT(verified<fault::no_decay>(), contains("token_embeddings.weight: weight"));
  CHECK_THAT(verified<fault::stale_copy>(), contains("token_embeddings.weight: the copy"));
  CHECK_THAT(verified<fault::last_tensor>(), contains("lm_head.weight: first moment"));
}

TEST_CASE("a comparison calls a broken optimiser WRONG ANSWER", "[nn]") {
  auto const control = tiny_pipeline();
  measure::options few;
  few.max_epochs = 8;
  few.cell_seconds = 1e-4;
  few.warm_up_seconds = 1e-3;
  auto const found = compare(control, control.with(broken<fault::no_decay>{}), few);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings.front().outcome == measure::verdict::wrong_answer);
}
