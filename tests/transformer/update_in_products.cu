// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-architectures: 90a
/// @file
/// `optimiser::in_products` on a device: the steps of the other optimisers, and equal bits.
#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/memory/async.hpp>
#include <assay/transformer/device_trainer.cuh>
#include <assay/transformer/host_trainer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace assay;

namespace {

constexpr on::device place{0};
auto open_memory() { return mr::async{}.open(place); }

/// Five layers: one is left when the updates of two at once have run. The kernel takes all matrices
/// but the head: its 37 rows are not whole 16 bytes.
constexpr nn::problem of{
    {.width = 128, .inner = 200, .layers = 5, .heads = 2, .vocabulary = 37}, 2, 70};
/// With so large an epsilon a step grows with its gradient, and does not jump with its sign.
constexpr nn::adamw smooth{.learning_rate = 0.1, .epsilon = 0.1};
constexpr nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed> packed;
constexpr nn::choices<nn::bf16, nn::attention::fused> separate;

nn::markov_source const source{37, 5};

template <class Trainer>
std::vector<double> after_steps(Trainer& run, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) { run.step(source.batch(i, of.batch, of.context)); }
  auto const all = run.weights();
  return {all.begin(), all.end()};
}
template <class How>
std::vector<double> on_device(How const& how, std::uint64_t steps, bool as_graph = false) {
  stream const where{place};
  nn::device_trainer run{of, where, open_memory(), smooth, 3, how};
  if (as_graph) { run.record(); }
  return after_steps(run, steps);
}

/// The distance of two results in a tensor, as a share of how far the steps moved it.
void check_near(std::vector<double> const& found, std::vector<double> const& wanted,
                double allowed) {
  auto const first = nn::initial_weights<double>(of.model, 3);
  for (auto const& tensor : nn::weight_tensors(of.model)) {
    double apart = 0, moved = 0;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
      apart += std::pow(found[i] - wanted[i], 2);
      moved += std::pow(wanted[i] - first[i], 2);
    }
    INFO(tensor.name);
    CHECK(moved > 0);
    CHECK(std::sqrt(apart) <= allowed * std::sqrt(moved));
  }
}

template <class How>
void check_optimiser(How const& how) {
  auto const changed = how.with(nn::optimiser::in_products{});
  nn::host_trainer<double> reference{of, smooth, 3};
  check_near(on_device(changed, 3), after_steps(reference, 3), 5e-2);
  // Equal activations and products: sums in another order are the only difference.
  check_near(on_device(changed, 1), on_device(how, 1), 1e-4);
  CHECK(on_device(changed, 5) == on_device(changed, 5, true));
}

}  // namespace

TEST_CASE("weights that products update are those of other optimisers", "[nn]") {
  check_optimiser(packed);
  check_optimiser(separate);
}

TEST_CASE("without the kernel, updates in products have the bits of the others", "[nn]") {
  auto const how = nn::choices{}.with(nn::projections::packed{});
  CHECK(on_device(how.with(nn::optimiser::in_products{}), 5, true) == on_device(how, 5));
}
