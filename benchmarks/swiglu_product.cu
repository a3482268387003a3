// SPDX-License-Identifier: Apache-2.0
// What do products that end in SwiGLU, or in its gradient, gain over cuBLAS with SwiGLU's kernel
// behind it? The layers of four sizes at 2048 tokens, with arrays that are cold.
// Predicts, of the time of both: small 0.81 forward and 0.73 backward, xl 0.91 and 0.77. The bytes
// of SwiGLU move beside tensor work, whose rate falls a little, as power is limited.
// assay-links: cublas
// assay-architectures: 90a

#include "../examples/device_array.hpp"
#include "support/result.hpp"
#include "support/trials.hpp"

#include <assay/compare.cuh>
#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/nn/cublas_products.hpp>
#include <assay/transformer/decoder.hpp>
#include <assay/transformer/swiglu_product.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

constexpr std::size_t tokens = 4 * 512;
/// Arrays that calls use in turn, so that none is found in the second-level cache.
constexpr std::size_t sets = 4;

/// Random numbers of [-scale, scale).
examples::device_array<bfloat16> random_array(std::size_t count, double scale, std::uint64_t seed) {
  std::vector<bfloat16> some(std::min(count, std::size_t{1} << 20));
  auto const most = static_cast<float>(scale);
  for (std::size_t i = 0; i < some.size(); ++i) {
    some[i] = bfloat16{random_value(uniform<float>{-most, most}, seed, i)};
  }
  examples::device_array<bfloat16> made{count};
  for (std::size_t at = 0; at < count; at += some.size()) {
    auto const part = std::min(some.size(), count - at);
    check(cudaMemcpy(made.get() + at, some.data(), part * sizeof(bfloat16), cudaMemcpyDefault));
  }
  return made;
}

/// What a layer's SwiGLU reads and writes, with sums of about one.
class arrays_of_layer {
 public:
  arrays_of_layer(std::size_t width, std::size_t inner, std::uint64_t seed)
      : width_(width),
        inner_(inner),
        tokens_(random_array(tokens * width, 1, seed)),
        weights_(random_array(2 * inner * width, std::sqrt(9.0 / width), seed + 1)),
        ab_(random_array(2 * tokens * inner, 4, seed + 2)),
        gated_(tokens * inner),
        gradient_(2 * tokens * inner) {}

  nn::swiglu_product forward() const { return {tokens, width_, inner_}; }
  nn::swiglu_product_gradient backward() const { return {tokens, inner_, width_}; }

  void together(::cuda::stream_ref on, bool is_forward) const {
    if (is_forward) { return nn::enqueue_kernel(on, forward(), x(), w13(), ab(), gated()); }
    nn::enqueue_kernel(on, backward(), x(), w2(), ab(), gradient());
  }
  void apart(::cuda::stream_ref on, bool is_forward, nn::cublas_products& products) const {
    auto const last = forward().gate().extent();
    if (is_forward) {
      products.enqueue(on, forward().both(), x(), w13(), ab());
      return enqueue(on, forward().gate(), ab().first(last), ab().last(last), gated());
    }
    products.enqueue(on, backward().of_gated(), x(), w2(), gated());
    enqueue(on, backward().gate(), ab().first(last), ab().last(last), gated(),
            gradient().first(last), gradient().last(last));
  }

 private:
  std::span<bfloat16> x() const { return {tokens_.get(), tokens * width_}; }
  std::span<bfloat16> w13() const { return {weights_.get(), 2 * inner_ * width_}; }
  std::span<bfloat16> w2() const { return {weights_.get(), inner_ * width_}; }
  std::span<bfloat16> ab() const { return {ab_.get(), 2 * tokens * inner_}; }
  std::span<bfloat16> gated() const { return {gated_.get(), tokens * inner_}; }
  std::span<bfloat16> gradient() const { return {gradient_.get(), 2 * tokens * inner_}; }

  std::size_t width_, inner_;
  examples::device_array<bfloat16> tokens_, weights_, ab_, gated_, gradient_;
};

report::document row_of(on::device place, char const* size, bool is_forward,
                        nn::cublas_products& products) {
  auto const model = nn::named_size(size);
  std::vector<std::unique_ptr<arrays_of_layer>> all;
  for (std::size_t i = 0; i < sets; ++i) {
    all.push_back(std::make_unique<arrays_of_layer>(static_cast<std::size_t>(model.width),
                                                    static_cast<std::size_t>(model.inner), 10 * i));
  }
  std::size_t calls = 0;
  auto const next = [&]() -> arrays_of_layer const& { return *all[calls++ % sets]; };
  auto const found = compare(
      "apart", [&](cudaStream_t on) { next().apart(::cuda::stream_ref{on}, is_forward, products); },
      "together", [&](cudaStream_t on) { next().together(::cuda::stream_ref{on}, is_forward); },
      {.place = place, .same_buffers = true});
  auto row = trial_of(found);
  auto const together = found.variants[1].on(found.primary).median;
  auto const flops = is_forward ? all[0]->forward().both().cost().flops
                                : all[0]->backward().of_gated().cost().flops;
  row["gains_at_least"] = row["high"].is_number() ? 1 - row["high"].get<double>() : 0;
  row["size"] = size, row["pass"] = is_forward ? "forward" : "backward";
  row["apart_us"] = benchmark::finite(found.variants[0].on(found.primary).median * 1e6);
  row["together_us"] = benchmark::finite(together * 1e6);
  row["tflops"] = benchmark::finite(flops / together / 1e12);
  std::cout << size << ", " << (is_forward ? "forward" : "backward") << '\n' << found;
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "swiglu_product",
                        [](benchmark::options const& chosen, report::document& out) {
                          device_guard const guard{chosen.place};
                          constexpr std::size_t bytes = 32 << 20;
                          examples::device_array<std::byte> const workspace{bytes};
                          nn::cublas_products products{{workspace.get(), bytes}};
                          auto rows = report::document::array();
                          for (char const* size : {"small", "medium", "xl", "2.7B"}) {
                            for (bool const is_forward : {true, false}) {
                              rows.push_back(row_of(chosen.place, size, is_forward, products));
                            }
                            if (chosen.quick) { break; }
                          }
                          out["rows"] = std::move(rows);
                        });
}
