// SPDX-License-Identifier: Apache-2.0
// assay-architectures: 90a
// What share of cuDNN's rate does fused attention reach, forward and backward? Causal, bf16, batch
// 4, at the sizes of the transformer; queries, keys and values lie beside each other.
// attention_peer.py measures cuDNN and FlashAttention-2 at the same sizes through PyTorch.
// Predicts: where it is compiled for sm_90a, at context 512 cuDNN's forward or faster and 1.5 times
// its backward, though that computes scores and their gradients once where we do it twice. A
// gradient of two kinds of blocks in one launch leaves no tail between them.

#include "../examples/device_array.hpp"
#include "support/kernel_timing.cuh"
#include "support/result.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/nn/fused_attention.cuh>
#include <assay/nn/fused_attention_backward.cuh>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

/// Enough launches in a graph that its own start does not count.
constexpr int launches = 20;

examples::device_array<bfloat16> random_array(std::size_t count, std::uint64_t seed) {
  std::vector<bfloat16> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = bfloat16{random_value(uniform<float>{-2, 2}, seed, i)};
  }
  examples::device_array<bfloat16> made{count};
  check(cudaMemcpy(made.get(), values.data(), 2 * count, cudaMemcpyDefault));
  return made;
}

/// One layer's attention on the device.
class layer {
 public:
  explicit layer(nn::attention_shape const& shape)
      : shape_(shape),
        qkv_(random_array(3 * shape.elements(), 1)),
        d_o_(random_array(shape.elements(), 2)),
        o_(shape.elements()),
        d_qkv_(3 * shape.elements()),
        logarithms_(shape.rows()),
        scratch_(scratch_count()) {}

  void forward(::cuda::stream_ref where) const {
    bfloat16 const* const from = qkv_.get();
    enqueue(where, nn::fused_attention{shape_}, part(from, 0), part(from, 1), part(from, 2),
            whole(o_.get()), {logarithms_.get(), shape_.rows()});
  }
  void backward(::cuda::stream_ref where) const {
    bfloat16 const* const from = qkv_.get();
    auto* const to = d_qkv_.get();
    enqueue(where, nn::fused_attention_gradient{shape_}, part(from, 0), part(from, 1),
            part(from, 2), whole(o_.get()), {logarithms_.get(), shape_.rows()}, whole(d_o_.get()),
            part(to, 0), part(to, 1), part(to, 2), {scratch_.get(), scratch_count()});
  }

 private:
  std::size_t scratch_count() const {
    return nn::fused_attention_scratch_bytes(shape_) / sizeof(float);
  }
  template <class T>
  nn::head_rows<T> part(T* of, std::size_t i) const {
    return {of + i * shape_.width(), 3 * shape_.width()};
  }
  nn::head_rows<bfloat16> whole(bfloat16* of) const { return {of, shape_.width()}; }

  nn::attention_shape shape_;
  examples::device_array<bfloat16> qkv_, d_o_, o_, d_qkv_;
  examples::device_array<float> logarithms_, scratch_;
};

template <class Enqueue>
void time_direction(stream const& where, char const* model, nn::attention_shape const& shape,
                    char const* direction, double products, int repetitions, Enqueue const& enqueue,
                    report::document& rows) {
  enqueue(0);  // allows the kernels their shared memory, which a recording does not keep
  where.synchronize();
  recording run{where, launches, enqueue};
  (void)run.seconds();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) { seconds.push_back(run.seconds()); }
  auto const typical = median(seconds);
  auto const flops = 2 * products * shape.kept() * static_cast<double>(shape.head_size);
  std::printf("%-6s %5zu  %-8s %10.2f us %8.1f TFLOP/s\n", model, shape.context, direction,
              typical * 1e6, flops / typical * 1e-12);
  rows.push_back({{"model", model},
                  {"context", shape.context},
                  {"direction", direction},
                  {"flops", flops},
                  {"seconds", typical},
                  {"flops_per_second", flops / typical}});
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "attention", [](benchmark::options const& chosen, report::document& out) {
        struct model {
          char const* name;
          std::size_t heads, head_size;
        };
        auto rows = report::document::array();
        int const repetitions = chosen.quick ? 5 : 21;
        stream const where{chosen.place};
        for (auto const& each : {model{"small", 12, 64}, {"xl", 25, 64}, {"2.7B", 32, 80}}) {
          for (std::size_t const context : {512, 1024}) {
            nn::attention_shape const shape{4, context, each.heads, each.head_size};
            layer const work{shape};
            time_direction(
                where, each.name, shape, "forward", 2, repetitions,
                [&](int) { work.forward(where); }, rows);
            time_direction(
                where, each.name, shape, "backward", 5, repetitions,
                [&](int) { work.backward(where); }, rows);
          }
        }
        out["rows"] = std::move(rows);
      });
}
