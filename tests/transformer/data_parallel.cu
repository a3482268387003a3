// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
/// @file
/// A step of several ranks on devices, which are threads here, against one rank with the whole
/// batch. Not under a sanitizer, where ranks do not run side by side.
#include "comm/world.cuh"
#include "ranks/rank_worlds.hpp"

#include <assay/core/stream.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transformer/device_trainer.cuh>
#include <assay/transformer/gradient_average.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace assay;

namespace {

constexpr nn::problem whole{
    {.width = 128, .inner = 96, .layers = 3, .heads = 2, .vocabulary = 37}, 4, 17};
constexpr nn::adamw quick{.learning_rate = 1e-3};
constexpr int steps = 10;

template <class How>
using trainer = nn::device_trainer<decltype(mr::cuda_malloc{}.open(on::device{0})), How>;

nn::token_batch batch_of(int step) {
  return nn::markov_source{37, 3}.batch(static_cast<std::uint64_t>(step), whole.batch,
                                        whole.context);
}

/// Where ranks share a device, blocks that wait for a peer leave most of its SMs to the passes of
/// that peer.
comm::all_reduce_options beside_passes() {
  auto options = test::checked_options();
  if (test::one_device(2)) { options.blocks = 8; }
  return options;
}

/// The losses of one rank with the whole batch. It also loads kernels, which must not happen where
/// a rank waits for another on the same device.
template <class How>
std::vector<float> alone(nn::problem const& of, on::device place) {
  device_guard const guard{place};
  stream const on{place};
  trainer<How> run{of, on, mr::cuda_malloc{}.open(place), quick};
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    losses.push_back(run.step(
        nn::part_of(batch_of(i), whole.batch, 0, static_cast<int>(whole.batch / of.batch))));
  }
  return losses;
}

/// The mean losses of so many ranks.
template <class How>
std::vector<double> train(int ranks, nn::gradient_exchange const& exchange) {
  auto own = whole;
  own.batch /= ranks;
  comm::all_reduce engine{test::peers_of(ranks), beside_passes()};
  engine.prepare<float>();
  engine.prepare<__nv_bfloat16>();
  for (int rank = 0; rank < ranks; ++rank) { (void)alone<How>(own, engine.device(rank)); }
  std::vector<std::vector<float>> losses(static_cast<std::size_t>(ranks));
  examples::run_on_ranks(ranks, [&](world const& all) {
    auto const end = engine.rank(all.rank());
    device_guard const guard{end.device()};
    stream const on{end.device()};
    trainer<How> run{own, on, mr::cuda_malloc{}.open(end.device()), quick};
    auto& own_losses = losses[static_cast<std::size_t>(all.rank())];
    // docs: step
    nn::gradient_average reduce{end, own.model, exchange, on};  // `end`: this rank's collective
    all.barrier();  // no rank allocates while another one waits for it on the same device
    for (int i = 0; i < steps; ++i) {
      auto const part = nn::part_of(batch_of(i), whole.batch, all.rank(), ranks);
      own_losses.push_back(run.step(part, reduce));  // a device_trainer with the part's batch
    }
    // docs: end
    end.synchronize(on);
    all.barrier();
  });
  std::vector<double> means(steps, 0);
  for (auto const& each : losses) {
    for (std::size_t i = 0; i < means.size(); ++i) { means[i] += each[i] / ranks; }
  }
  return means;
}

using plain = decltype(nn::choices{}.with(nn::optimiser::per_tensor{}));
using usual =
    nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed, nn::optimiser::per_tensor>;

template <class How>
void check_losses(nn::gradient_exchange const& exchange, double allowed) {
  auto const wanted = alone<How>(whole, on::device{0});
  auto const found = train<How>(2, exchange);
  CHECK(found.back() < found.front());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("step " << i << ", buckets of " << exchange.bucket << ", overlapped "
                 << exchange.overlapped << ", narrow " << exchange.narrow);
    CHECK(std::abs(found[i] / wanted[i] - 1) <= allowed);
  }
}

}  // namespace

TEST_CASE("the losses of ranks on devices are those of one rank with the whole batch", "[nn]") {
  if (test::small()) { return; }
  for (std::size_t const bucket : {std::size_t{1}, SIZE_MAX}) {
    for (bool const overlapped : {false, true}) {
      check_losses<plain>({bucket, overlapped, false}, 1e-5);
      check_losses<plain>({bucket, overlapped, true}, 1e-3);  // gradients lose 16 bits
      check_losses<usual>({bucket, overlapped, false}, 1e-2);
    }
  }
}

TEST_CASE("a graph holds the step of a rank", "[nn]") {
  if (test::small()) { return; }
  auto own = whole;
  own.batch /= 2;
  comm::all_reduce engine{test::peers_of(2), beside_passes()};
  engine.prepare<float>();
  engine.prepare<__nv_bfloat16>();
  for (int rank = 0; rank < 2; ++rank) { (void)alone<plain>(own, engine.device(rank)); }
  std::vector<std::vector<float>> gradients(2);
  examples::run_on_ranks(2, [&](world const& all) {
    auto const end = engine.rank(all.rank());
    auto const place = end.device();
    device_guard const guard{place};
    stream const on{place};
    nn::memory_plan const plan{own, plain{}};
    buffer<std::byte, decltype(mr::cuda_malloc{}.open(place)), ::cuda::stream_ref> memory{
        plan.peak(), on, mr::cuda_malloc{}.open(place)};
    nn::device_model<plain> model{own, {}, on, memory.span().first(plan.kept())};
    auto const arrays = model.arrays(memory.span().subspan(plan.kept()));
    model.set_weights(on, nn::initial_weights<float>(own.model, 1));
    model.set_batch(on, nn::part_of(batch_of(0), whole.batch, all.rank(), 2));
    model.set_update(on, {{.learning_rate = 0}, model.weights().size()});
    nn::gradient_average reduce{end, own.model, {1, true, true}, on};
    on.synchronize();
    all.barrier();
    model.enqueue_step(on, arrays, reduce);
    end.synchronize(on);
    submit::stream_capture capture{on};
    model.enqueue_step(on, arrays, reduce);
    submit::graph_exec const recorded{capture.end()};
    all.barrier();
    check(
        cudaMemsetAsync(model.gradients().data(), 0xFF, model.gradients().size_bytes(), on.get()));
    recorded.launch(on);
    end.synchronize(on);
    auto& to = gradients[static_cast<std::size_t>(all.rank())];
    to.resize(model.gradients().size());
    check(cudaMemcpy(to.data(), model.gradients().data(), model.gradients().size_bytes(),
                     cudaMemcpyDefault));
  });
  CHECK(gradients[0] == gradients[1]);
  CHECK(std::isfinite(gradients[0][0]));
}
