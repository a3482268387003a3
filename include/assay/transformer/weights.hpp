// SPDX-License-Identifier: Apache-2.0
/// @file
/// The weights of a decoder in one array: their names, places and first values.
#pragma once

#include <assay/core/random.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/nn/operation.hpp>
#include <assay/transformer/decoder.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::nn {

/// A matrix of weights, or a gain, which has no rows.
struct weight_tensor {
  std::string name;  ///< as in the model of CS336
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t offset = 0;  ///< elements before it
  std::size_t size() const { return (rows == 0 ? 1 : rows) * columns; }
};

/// The tensors of a decoder in the order of their places, without gaps.
inline std::vector<weight_tensor> weight_tensors(decoder const& model) {
  std::vector<weight_tensor> all;
  std::size_t offset = 0;
  auto const add = [&](std::string name, std::int64_t rows, std::int64_t columns) {
    all.push_back({std::move(name), static_cast<std::size_t>(rows),
                   static_cast<std::size_t>(columns), offset});
    offset += all.back().size();
  };
  auto const d = model.width, inner = model.inner;
  add("token_embeddings.weight", model.vocabulary, d);
  for (std::int64_t l = 0; l < model.layers; ++l) {
    auto const layer = "layers." + std::to_string(l) + '.';
    add(layer + "ln1.weight", 0, d);
    for (char const* each : {"q_proj", "k_proj", "v_proj", "output_proj"}) {
      add(layer + "attn." + each + ".weight", d, d);
    }
    add(layer + "ln2.weight", 0, d);
    add(layer + "ffn.w1.weight", inner, d);
    add(layer + "ffn.w3.weight", inner, d);
    add(layer + "ffn.w2.weight", d, inner);
  }
  add("ln_final.weight", 0, d);
  add("lm_head.weight", model.vocabulary, d);
  return all;
}

/// The weights of one layer, or their gradients. The matrices of queries, keys and values follow
/// each other, and so do both of SwiGLU's inputs: `qkv` and `w13` are them together.
template <class Real, class Narrow = Real>
struct layer_weights {
  weight_span<Real, Narrow> norm1, norm2;
  std::span<Narrow> q, k, v, qkv, output, w1, w3, w13, w2;
};

/// The weights of a decoder, or their gradients. Matrices of products are `Narrow`: the upper
/// halves of the weights.
template <class Real, class Narrow = Real>
struct weights {
  weight_span<Real, Narrow> embedding;
  std::vector<layer_weights<Real, Narrow>> layers;
  weight_span<Real, Narrow> final_norm;
  std::span<Narrow> head;

  /// The parts of `all`, which has `model.parameters()` elements; or empty parts.
  explicit weights(decoder const& model, weight_span<Real, Narrow> all = {}) {
    std::span<Narrow> const matrices = factors_of(all);
    auto const tensors = weight_tensors(model);
    std::size_t next = 0;
    auto const take = [&](auto& to, auto from) {
      auto const& each = tensors[next++];
      if (!from.empty()) { to = from.subspan(each.offset, each.size()); }
    };
    auto const together = [](std::span<Narrow> first, std::size_t count) {
      return std::span<Narrow>{first.data(), count * first.size()};
    };
    take(embedding, all);
    for (std::int64_t l = 0; l < model.layers; ++l) {
      auto& to = layers.emplace_back();
      take(to.norm1, all);
      for (auto* each : {&to.q, &to.k, &to.v, &to.output}) { take(*each, matrices); }
      take(to.norm2, all);
      for (auto* each : {&to.w1, &to.w3, &to.w2}) { take(*each, matrices); }
      to.qkv = together(to.q, 3);
      to.w13 = together(to.w1, 2);
    }
    take(final_norm, all);
    take(head, matrices);
  }
};

/// The weights before the first step: gains of one; an embedding uniform in [-1, 1); matrices
/// uniform with variance 2 / (rows + columns) (Glorot, Bengio 2010). Equal seeds give equal bits.
template <class Real>
std::vector<Real> initial_weights(decoder const& model, std::uint64_t seed) {
  std::vector<Real> all(static_cast<std::size_t>(model.parameters()), Real{1});
  for (auto const& tensor : weight_tensors(model)) {
    if (tensor.rows == 0) { continue; }
    auto const both = static_cast<double>(tensor.rows + tensor.columns);
    auto const bound = static_cast<float>(tensor.offset == 0 ? 1 : std::sqrt(6 / both));
    // A weight depends on the seed and its place alone, so the number of threads changes no bit.
    auto const part = std::span{all}.subspan(tensor.offset, tensor.size());
    host::parallel_for(host::all_threads(), std::ssize(part), 1 << 16, [&](auto begin, auto end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        auto const drawn = random_value(uniform<float>{-bound, bound}, seed, tensor.offset + i);
        part[i] = static_cast<Real>(drawn);
      }
    });
  }
  return all;
}

}  // namespace assay::nn
