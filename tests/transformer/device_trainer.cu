// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-uses: cupti
/// @file
/// A decoder on a device against the float64 reference: loss, gradients, steps, bits, memory.
#include "catch.hpp"
#include "memory/poisoned_cuda.hpp"
#include "record_ranges.hpp"

#include <assay/core/stream.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/memory/counted.hpp>
#include <assay/pipeline.hpp>
#include <assay/rig.hpp>
#include <assay/submit/graph.hpp>
#include <assay/trace/ranges.hpp>
#include <assay/transformer/device_trainer.cuh>
#include <assay/transformer/ledger.hpp>
#include <assay/transformer/traced_answers.cuh>
#include <assay/transformer/workload.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

constexpr on::device place{0};

/// Device memory that begins as NaN and is counted.
auto open_memory() { return mr::counted{test::poisoned{mr::async{}}}.open(place); }

nn::problem sized(std::int64_t head_size, std::int64_t context) {
  return {
      {.width = 2 * head_size, .inner = 96, .layers = 2, .heads = 2, .vocabulary = 37}, 2, context};
}

double norm(std::span<double const> of) {
  double sum = 0;
  for (auto const each : of) { sum += each * each; }
  return std::sqrt(sum);
}

/// The norm of the difference, and that of the reference, in a part of two arrays.
std::pair<double, double> difference(std::span<float const> found, std::span<double const> wanted) {
  std::vector<double> apart(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) { apart[i] = found[i] - wanted[i]; }
  return {norm(apart), norm(wanted)};
}

}  // namespace

namespace {

/// The largest relative error of a loss. That of the gradients, by their norm, may be twice that.
template <class Precision>
double loss_error_of() {
  return std::is_same_v<Precision, nn::fp32>   ? 1e-5
         : std::is_same_v<Precision, nn::tf32> ? 1e-3
                                               : 1e-2;
}

/// A batch with loss and gradients in float64.
struct wanted_step {
  nn::problem of;
  std::uint64_t seed;
  nn::token_batch batch =
      nn::markov_source{of.model.vocabulary, seed}.batch(0, of.batch, of.context);
  double loss = 0;
  std::vector<double> gradients;

  explicit wanted_step(nn::problem const& what, std::uint64_t seed_of) : of(what), seed(seed_of) {
    nn::host_trainer<double> reference{of, {}, seed};
    loss = reference.loss_and_gradients(batch);
    gradients.assign(reference.gradients().begin(), reference.gradients().end());
  }
};

template <class Precision, class Projections, class Attention = nn::attention::naive>
void check_step(stream const& where, wanted_step const& wanted) {
  INFO("precision " << Precision::name << ", projections " << Projections::name << ", attention "
                    << Attention::name);
  using how = nn::choices<Precision, Attention, Projections>;
  auto const allowed = loss_error_of<Precision>();
  nn::device_trainer found{wanted.of, where, open_memory(), {}, wanted.seed, how{}};
  CHECK(std::abs(found.loss(wanted.batch) / wanted.loss - 1) <= allowed);
  CHECK(std::abs(found.loss_and_gradients(wanted.batch) / wanted.loss - 1) <= allowed);
  auto const gradients = found.gradients();
  auto const [apart, whole] = difference(gradients, wanted.gradients);
  CHECK(apart <= 2 * allowed * whole);
  // A part of the gradients may have more of the error, in bfloat16. One that is zero, as those of
  // queries with a context of 1, has the rounding of the terms that cancel.
  auto const of_part = std::is_same_v<Precision, nn::fp32> ? 2 * allowed : 5 * allowed;
  for (auto const& tensor : nn::weight_tensors(wanted.of.model)) {
    INFO(tensor.name);
    auto const [error, size] =
        difference(std::span{gradients}.subspan(tensor.offset, tensor.size()),
                   std::span{wanted.gradients}.subspan(tensor.offset, tensor.size()));
    CHECK(error <= of_part * size + 1e-6 * whole);
  }
}

}  // namespace

TEST_CASE("loss and gradients are those of the float64 reference", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  for (std::int64_t const context : {1, 17, 129}) {
    if (test::small() && context > 17) { continue; }
    for (std::int64_t const head_size : {64, 80, 128}) {
      INFO("context " << context << " head size " << head_size);
      wanted_step const wanted{sized(head_size, context), seed};
      check_step<nn::fp32, nn::projections::separate>(where, wanted);
      check_step<nn::fp32, nn::projections::packed>(where, wanted);
      check_step<nn::tf32, nn::projections::separate>(where, wanted);
      check_step<nn::tf32, nn::projections::packed>(where, wanted);
      check_step<nn::bf16, nn::projections::separate>(where, wanted);
      check_step<nn::bf16, nn::projections::packed>(where, wanted);
      check_step<nn::bf16, nn::projections::separate, nn::attention::fused>(where, wanted);
      check_step<nn::bf16, nn::projections::packed, nn::attention::fused>(where, wanted);
    }
  }
}

TEST_CASE("steps of AdamW follow the float64 reference", "[nn]") {
  stream const where{place};
  auto const of = sized(64, 17);
  nn::markov_source const source{37, 3};
  nn::adamw const settings{.learning_rate = 1e-3};
  nn::host_trainer<double> reference{of, settings};
  nn::device_trainer found{of, where, open_memory(), settings};
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto const batch = source.batch(i, of.batch, of.context);
    auto const loss = found.step(batch);
    CHECK(std::abs(loss / reference.step(batch) - 1) <= 1e-5);
  }
  CHECK(found.steps() == 20);
}

TEST_CASE("a model on a device learns a source to 5 % of its entropy and not below", "[nn]") {
  stream const where{place};
  nn::problem const of{
      {.width = 16, .inner = 32, .layers = 1, .heads = 2, .vocabulary = 16}, 8, 16};
  nn::markov_source const source{16, 7};
  nn::device_trainer run{of, where, open_memory(), {.learning_rate = 1e-2}};
  std::uint64_t const steps = test::small() ? 20 : 800;
  for (std::uint64_t i = 0; i < steps; ++i) { run.step(source.batch(i, 8, 16)); }
  if (test::small()) { return; }
  double loss = 0, least = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    auto const batch = source.batch(1'000'000 + i, 8, 16);
    loss += run.loss(batch) / 64;
    least += source.loss(batch) / 64;
  }
  INFO("loss " << loss << ", source " << least);
  CHECK(loss <= 1.05 * least);
  CHECK(loss >= least);
}

namespace {

template <class How>
void check_equal_bits(How const& how) {
  INFO("precision " << how.precision.name << ", projections " << how.projections.name);
  stream const where{place}, elsewhere{place};
  auto const of = sized(80, 17);
  nn::markov_source const source{37, 5};
  nn::device_trainer one{of, where, open_memory(), {}, 3, how};
  nn::device_trainer same{of, elsewhere, open_memory(), {}, 3, how};
  nn::device_trainer replayed{of, where, open_memory(), {}, 3, how};
  replayed.record();
  for (std::uint64_t i = 0; i < 5; ++i) {
    INFO("step " << i);
    auto const batch = source.batch(i, of.batch, of.context);
    auto const loss = one.step(batch);
    CHECK(loss == same.step(batch));
    CHECK(loss == replayed.step(batch));
  }
  CHECK(one.weights() == same.weights());
  CHECK(one.weights() == replayed.weights());
}

/// The weights after steps of an optimiser, by a stream or by a graph.
template <class Optimiser>
std::vector<float> weights_after_steps(Optimiser const& optimiser, bool as_graph) {
  stream const where{place};
  auto const of = sized(80, 17);
  nn::markov_source const source{37, 5};
  auto const how = nn::choices{}.with(nn::bf16{}).with(optimiser);
  nn::device_trainer run{of, where, open_memory(), {}, 3, how};
  if (as_graph) { run.record(); }
  for (std::uint64_t i = 0; i < 5; ++i) { run.step(source.batch(i, of.batch, of.context)); }
  return run.weights();
}

template <class How>
void check_plan(How const& how, nn::problem const& of = sized(80, 17)) {
  INFO("precision " << how.precision.name << ", projections " << how.projections.name);
  stream const where{place};
  auto const memory = open_memory();
  {
    nn::device_trainer run{of, where, memory, {}, 1, how};
    run.record();
    run.step(nn::markov_source{37, 5}.batch(0, of.batch, of.context));
    CHECK(memory.stats().peak_bytes == nn::memory_plan{of, how}.peak());
    CHECK(memory.stats().allocations == 1);
  }
  CHECK(memory.stats().live_bytes == 0);
}

using fused_bf16 = nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed>;
using packed_bf16 = nn::choices<nn::bf16, nn::attention::naive, nn::projections::packed>;

}  // namespace

TEST_CASE("equal seeds give equal bits on a device, also by a graph", "[nn]") {
  check_equal_bits(nn::choices{});
  check_equal_bits(packed_bf16{});
  check_equal_bits(fused_bf16{});
}

TEST_CASE("optimisers differ in their launches, not in the weights of a device", "[nn]") {
  auto const wanted = weights_after_steps(nn::optimiser::fused{}, false);
  CHECK(weights_after_steps(nn::optimiser::per_tensor{}, true) == wanted);
}

TEST_CASE("the plan of memory is what a step takes, at once", "[nn]") {
  check_plan(nn::choices{});
  check_plan(packed_bf16{});
  check_plan(fused_bf16{});
}

TEST_CASE("fused attention whose terms take more than the usual workspace", "[nn]") {
  if (test::small()) { return; }
  nn::problem const of{
      {.width = 128, .inner = 8, .layers = 1, .heads = 2, .vocabulary = 37}, 16'400, 3};
  REQUIRE(nn::memory_plan{of, fused_bf16{}}.workspace > nn::memory_plan::workspace_bytes);
  check_plan(fused_bf16{}, of);
  stream const where{place};
  auto const batch = nn::markov_source{37, 5}.batch(0, of.batch, of.context);
  nn::device_trainer reference{of, where, open_memory()};
  nn::device_trainer found{of, where, open_memory(), {}, 1, fused_bf16{}};
  CHECK(found.loss_and_gradients(batch) / reference.loss_and_gradients(batch) ==
        Approx(1).margin(loss_error_of<nn::bf16>()));
  auto const wanted = reference.gradients();
  auto const [apart, whole] =
      difference(found.gradients(), std::vector<double>{wanted.begin(), wanted.end()});
  CHECK(apart <= 2 * loss_error_of<nn::bf16>() * whole);
}

TEST_CASE("weights come back from a device bit by bit", "[nn]") {
  stream const where{place};
  auto const check_weights = [&](auto const& how) {
    nn::device_trainer run{sized(64, 17), where, open_memory(), {}, 7, how};
    auto weights = run.weights();
    CHECK(weights == nn::initial_weights<float>(run.of().model, 7));
    weights[0] = std::numeric_limits<float>::infinity();
    weights[1] = std::numeric_limits<float>::denorm_min();
    weights[2] = 1 + 0x1p-8F;  // as near to 1 as to the next number of bfloat16
    weights[3] = -weights[2];
    run.set_weights(weights);
    CHECK(run.weights() == weights);
  };
  check_weights(nn::choices{});
  check_weights(fused_bf16{});
}

TEST_CASE("a forward pass alone changes nothing", "[nn]") {
  stream const where{place};
  auto const of = sized(64, 17);
  nn::device_trainer run{of, where, open_memory()};
  auto const batch = nn::markov_source{37, 5}.batch(0, of.batch, of.context);
  auto const before = run.loss(batch);
  auto const trace = test::record_ranges([&] { run.forward(batch); });
  CHECK(trace.ranges.size() == 1 + 2 * 14 + 3);  // itself, layers, embedding, last norm, head
  CHECK(run.loss(batch) == before);
  CHECK(run.steps() == 0);
}

TEST_CASE("each operation of a step has a range with its number in the ledger", "[nn]") {
  stream const where{place};
  auto const of = sized(64, 4);
  nn::device_trainer run{of, where, open_memory(), {}, 1, packed_bf16{}};
  auto const batch = nn::markov_source{37, 5}.batch(0, of.batch, of.context);
  nn::ledger const ledger{of, packed_bf16{}};
  for (int i = 0; i < 2; ++i) {
    auto const trace = test::record_ranges([&] { run.step(batch); });
    std::vector<std::string> parts(ledger.entries().size());
    std::size_t steps = 0;
    for (auto const& range : trace.ranges) {
      auto const name = trace.strings[range.name];
      if (name == "nn::step") {
        ++steps;
      } else if (range.category == static_cast<std::uint32_t>(category::gpu)) {
        parts.at(range.payload) += name;
      }
    }
    CHECK(steps == 1);
    std::vector<std::string> wanted;
    for (auto const& entry : ledger.entries()) { wanted.emplace_back(entry.where.part); }
    CHECK(parts == wanted);
  }
}

TEST_CASE("what a trainer on a device refuses", "[nn]") {
  stream const where{place};
  auto of = sized(64, 4);
  nn::device_trainer run{of, where, open_memory()};
  CHECK_THAT(
      message_of([&] { run.step({std::vector<nn::token>(8, 37), std::vector<nn::token>(8)}); }),
      contains("token 37 is not in the vocabulary, which has tokens 0 to 36"));
  auto weights = run.weights();
  weights[0] = std::numeric_limits<float>::quiet_NaN();
  run.set_weights(weights);
  std::vector<nn::token> const zeros(8);
  CHECK_THAT(message_of([&] { run.step({zeros, zeros}); }), contains("the loss of step 1 is nan"));
  of.model.heads = 3;
  CHECK_THAT(message_of([&] { nn::device_trainer{of, where, open_memory()}; }),
             contains("width 128 is not divisible by the number of heads 3"));
}

namespace {

workloads::transformer<> tiny_work(nn::run what) {
  auto const of = sized(64, 17);
  return {.model = of.model, .batch = of.batch, .context = of.context, .run = what};
}

template <class Work>
void check_items(Work const& work) {
  INFO("precision " << work.how.precision.name << ", projections " << work.how.projections.name
                    << ", step " << (work.run == nn::run::step));
  pipeline const one_by_one{work, mr::async{}, submit::sequential{.items = 2}};
  rig sequential{one_by_one};
  CHECK(sequential.verify().value_or("") == "");
  CHECK(sequential.verify(1).value_or("") == "");
  rig replayed{one_by_one.with(submit::graph{.threads = 1, .items = 2})};
  CHECK(replayed.verify().value_or("") == "");
  CHECK(replayed.verify().value_or("") == "");
}

}  // namespace

TEST_CASE("a transformer as a workload: all choices give the reference", "[nn]") {
  for (auto const what : {nn::run::forward, nn::run::step}) {
    auto const work = tiny_work(what);
    check_items(work);
    check_items(work.with(nn::tf32{}));
    check_items(work.with(nn::bf16{}).with(nn::projections::packed{}));
    check_items(work.with(nn::optimiser::per_tensor{}));
  }
}

TEST_CASE("a transformer as a workload: what is wrong is seen, what does not fit is refused",
          "[nn]") {
  stream const where{place};
  auto memory = mr::async{}.open(place);
  lane<on::device, ::cuda::stream_ref, decltype(memory)> at{place, where, memory};
  auto const work = tiny_work(nn::run::step).with(nn::bf16{});
  auto state = work.prepare(at, 1);
  work.poison(state);
  CHECK_THAT(work.verify(state).value_or(""), contains("nan, expected is"));
  work.enqueue(at, state);
  where.synchronize();
  CHECK(work.verify(state).value_or("") == "");
  float const wrong = 1;
  // A plain cudaMemcpy may return before its bytes arrive, and verify() reads by another stream.
  check(cudaMemcpyAsync(state.items->gradients().data(), &wrong, sizeof wrong,
                        cudaMemcpyHostToDevice, where.get()));
  where.synchronize();
  CHECK_THAT(work.verify(state).value_or(""), contains("gradients differ by"));
  CHECK_THAT(message_of([&] { work.prepare(at, 2); }), contains("lanes = 2 is not possible"));
  workloads::transformer<> const huge{.model = nn::size_2_7b, .batch = 4096, .context = 4096};
  CHECK_THAT(message_of([&] { huge.prepare(at, 1); }), contains("are free: lower the batch"));
}

TEST_CASE("a transformer as a workload: its axes and its traffic", "[nn]") {
  // docs: compare
  workloads::transformer<> const work{.model = nn::size_small, .batch = 4, .context = 512};
  pipeline const fp32{work, mr::async{}, submit::graph{.threads = 1, .items = 5}};
  pipeline const bf16 = fp32.with(nn::bf16{}).with(nn::projections::packed{});
  pipeline const fused{work,
                       nn::bf16{},
                       nn::attention::fused{},
                       nn::projections::packed{},
                       mr::async{},
                       submit::graph{.threads = 1, .items = 5}};
  // docs: end
  CHECK(fused == bf16.with(nn::attention::fused{}));
  CHECK(bf16.axes()[bf16.axes().size() - 2] ==
        std::pair<std::string, std::string>{"projections", "packed"});
  CHECK(bf16.with(nn::optimiser::per_tensor{}).axes().back() ==
        std::pair<std::string, std::string>{"optimiser", "per_tensor"});
  CHECK(bf16.work.with(nn::fp32{}).with(nn::projections::separate{}) == work);
  CHECK(bf16.work.item_traffic().flops == work.item_traffic().flops);
  CHECK(bf16.work.item_traffic().bytes() < work.item_traffic().bytes());
  auto forward = work;
  forward.run = nn::run::forward;
  CHECK(forward.item_traffic().flops < work.item_traffic().flops / 2);
}

TEST_CASE("a replayed step has the operations of one that a stream runs, with all its kernels",
          "[nn]") {
  if (test::small()) { return; }  // a sanitizer watches: there is no trace
  workloads::transformer<> const work{.model = sized(64, 17).model, .batch = 2, .context = 17};
  // docs: trace
  pipeline const graph{work, nn::bf16{}, nn::attention::fused{}, mr::async{},
                       submit::graph{.threads = 1, .items = 3}};
  auto const replayed = nn::trace_answers(graph);
  // docs: end
  auto const streamed = nn::trace_answers(graph.with(submit::sequential{.items = 3}));
  for (auto const* each : {&replayed.found, &streamed.found}) {
    CHECK(each->repetitions() == 3);
    CHECK(each->forward_products().operations == 7 * 2 + 1);
    CHECK(each->step().ns + each->outside_ns() - each->overlap_ns() + each->idle_ns() ==
          Approx(each->device_ns()).epsilon(1e-9));
  }
  auto const& a = replayed.found.parts();
  auto const& b = streamed.found.parts();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i].part);
    CHECK(a[i].part == b[i].part);
    CHECK(a[i].kernels == b[i].kernels);
  }
  CHECK(replayed.tables.size() == 5);
}
