// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-architectures: 90a
/// @file
/// The workload with operations that are broken on purpose: each is a wrong answer.
#include "catch.hpp"

#include <assay/kernel/launch.cuh>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/measure/options.hpp>
#include <assay/memory/async.hpp>
#include <assay/nn/vectors.cuh>
#include <assay/pipeline.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transformer/workload.cuh>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

using namespace assay;
using test::contains;

namespace broken_steps {

enum class fault {
  none,
  embedding_gradient,
  gain_gradient,
  key_gradient,
  wrong_beta,
  no_decay,
  wrong_half,
  last_tensor
};

/// A backward pass and AdamW in one launch, and a fault behind one of their operations.
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

template <class From, class To>
__global__ void add_multiple(int count, float factor, From from, To to) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) { return; }
  float x[1], y[1];
  nn::kernels::load(from + i, x);
  nn::kernels::load(to + i, y);
  y[0] += factor * x[0];
  nn::kernels::store(to + i, y);
}

template <class From, class To>
void enqueue(::cuda::stream_ref stream, added_multiple const& op, From const& from, To const& to) {
  auto const begin = nn::kernels::begin_of(from);
  auto const end = nn::kernels::begin_of(to);
  kernel::launch(
      add_multiple<std::remove_const_t<decltype(begin)>, std::remove_const_t<decltype(end)>>,
      dim3(static_cast<unsigned>(to.size() / 256 + 1)), dim3(256), 0, stream,
      static_cast<int>(to.size()), op.factor, begin, end);
}

/// Runs operations of a backward pass. The result of one of them is too small by 0.4 of it.
template <class Run, fault Which>
struct faulty_run {
  Run& run;

  template <class Operation, class... Arguments>
  void operator()(nn::place_in_step const& where, Operation const& what,
                  Arguments const&... arguments) {
    run(where, what, arguments...);
    auto const all = std::tie(arguments...);
    if constexpr (std::same_as<Operation, nn::embedding_gradient>) {
      if (Which == fault::embedding_gradient) { lessen(std::get<2>(all)); }
    } else if constexpr (std::same_as<Operation, nn::rms_norm_gradient>) {
      bool const hit = where.layer == 1 && where.part == "norm2";
      if (Which == fault::gain_gradient && hit) { lessen(std::get<5>(all)); }
    } else if constexpr (std::same_as<Operation, nn::product>) {
      bool const hit = where.layer == 1 && where.part == "k weight";
      if (Which == fault::key_gradient && hit) { lessen(std::get<2>(all)); }
    }
  }
  template <class T>
  void lessen(std::span<T> what) {
    run(nn::place_in_step{nn::phase::backward, -1, "fault"}, added_multiple{-0.4F}, what, what);
  }
};

/// The overload for these steps. The decay takes 1e-4 of a weight in the step that is checked.
template <class Run, class P, class A, class J, fault Which, class Real, class Narrow>
void training_pass(Run& run, nn::problem const& of, nn::choices<P, A, J, broken<Which>> const& how,
                   nn::token_positions const& tokens, nn::weights<Real, Narrow> const& w,
                   nn::weights<Real> const& dw, nn::activations<Real, Narrow> const& a,
                   nn::adamw_update const& op, nn::trained_weights<Real, Narrow> const& all) {
  faulty_run<Run, Which> backward{run};
  nn::backward_pass(backward, of, how.attention, tokens, w, dw, a);
  auto count = static_cast<std::size_t>(of.model.parameters());
  if (Which == fault::last_tensor) { count -= nn::weight_tensors(of.model).back().size(); }
  nn::update_part(run, op, 0, count, all);
  nn::place_in_step const where{nn::phase::optimiser, -1, "fault"};
  if (Which == fault::wrong_beta) { run(where, added_multiple{0.05F}, all.gradients, all.first); }
  if (Which == fault::no_decay) { run(where, added_multiple{1e-4F}, all.weights, all.weights); }
  if (Which == fault::wrong_half) {
    run(where, added_multiple{0.01F}, all.weights.high, all.weights.high);
  }
}

}  // namespace broken_steps

namespace {

using broken_steps::broken;
using broken_steps::fault;

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
  CHECK_THAT(verified<fault::wrong_half>(), contains("token_embeddings.weight: weight"));
  CHECK_THAT(verified<fault::last_tensor>(), contains("lm_head.weight: first moment"));
}

TEST_CASE("gradients that are broken are seen in tensors that add little to the norm of all",
          "[nn]") {
  CHECK_THAT(verified<fault::embedding_gradient>(),
             contains("gradients of token_embeddings.weight differ by 0."));
  CHECK_THAT(verified<fault::gain_gradient>(),
             contains("gradients of layers.1.ln2.weight differ by 0."));
  CHECK_THAT(verified<fault::key_gradient>(),
             contains("gradients of layers.1.attn.k_proj.weight differ by 0."));
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
