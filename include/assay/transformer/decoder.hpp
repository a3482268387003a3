// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sizes of a transformer and of its input, and the counts of parameters and products.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/transformer/policies.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::nn {

namespace detail {

/// Throws unless low <= value <= high.
inline void require_range(char const* what, std::int64_t value, std::int64_t low,
                          std::int64_t high) {
  if (value >= low && value <= high) { return; }
  throw std::invalid_argument(std::string{what} + " is " + std::to_string(value) +
                              ", allowed are " + std::to_string(low) + " to " +
                              std::to_string(high));
}

}  // namespace detail

/// A decoder with RMSNorm before each block, RoPE, causal attention, SwiGLU with three matrices, an
/// output matrix of its own, no biases and no dropout.
struct decoder {
  std::int64_t width = 768;
  std::int64_t inner = 3072;  ///< width of SwiGLU
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t vocabulary = 10'000;
  bool operator==(decoder const&) const = default;

  constexpr std::int64_t head_size() const { return width / heads; }

  /// The numbers that are trained: four matrices of attention, three of SwiGLU and two gains in
  /// each layer; the embedding, the output matrix and the last gain.
  constexpr std::int64_t parameters() const {
    auto const layer = 4 * width * width + 3 * width * inner + 2 * width;
    return layers * layer + 2 * vocabulary * width + width;
  }

  /// Products of matrices in one forward pass. Fused attention is no product.
  constexpr std::int64_t forward_products(layout how) const {
    auto const linear = how.packed ? 4 : 7;
    auto const attention = how.keeps_scores ? 2 : 0;
    return layers * (linear + attention) + 1;
  }

  /// Throws `std::invalid_argument` for a model that is not possible.
  void validate() const {
    constexpr std::int64_t most = 1 << 20;
    detail::require_range("the width of the model", width, 2, most);
    detail::require_range("the inner width", inner, 1, most);
    detail::require_range("the number of layers", layers, 1, most);
    detail::require_range("the number of heads", heads, 1, width);
    detail::require_range("the vocabulary", vocabulary, 1, most);
    if (width % heads != 0) {
      throw std::invalid_argument("the width " + std::to_string(width) +
                                  " is not divisible by the number of heads " +
                                  std::to_string(heads));
    }
    if (head_size() % 2 != 0) {
      throw std::invalid_argument("the head size " + std::to_string(head_size()) +
                                  " (width / heads) is odd, RoPE turns pairs");
    }
  }
};

/// The sizes of the assignment CS336 of Stanford, 2025. `size_2_7b` has 3.4e9 parameters.
inline constexpr decoder size_small{};
inline constexpr decoder size_medium{.width = 1024, .inner = 4096, .layers = 24, .heads = 16};
inline constexpr decoder size_large{.width = 1280, .inner = 5120, .layers = 36, .heads = 20};
inline constexpr decoder size_xl{.width = 1600, .inner = 6400, .layers = 48, .heads = 25};
inline constexpr decoder size_2_7b{.width = 2560, .inner = 10'240, .layers = 32, .heads = 32};

/// The size of a name: small, medium, large, xl or 2.7B. Throws `std::invalid_argument` for others.
inline decoder named_size(std::string_view name) {
  constexpr std::pair<std::string_view, decoder> all[] = {{"small", size_small},
                                                          {"medium", size_medium},
                                                          {"large", size_large},
                                                          {"xl", size_xl},
                                                          {"2.7B", size_2_7b}};
  for (auto const& [each, size] : all) {
    if (each == name) { return size; }
  }
  throw std::invalid_argument("no size is called " + std::string{name} +
                              ": there are small, medium, large, xl and 2.7B");
}

/// A model and the tokens of one step: `batch` sequences of `context` tokens.
struct problem {
  decoder model{};
  std::int64_t batch = 4;
  std::int64_t context = 512;
  bool operator==(problem const&) const = default;

  constexpr std::int64_t tokens() const { return batch * context; }
  /// Scores of one layer, with those that the causal mask leaves out.
  constexpr std::int64_t scores() const { return batch * model.heads * context * context; }
  /// Scores of one layer that the causal mask keeps.
  constexpr std::int64_t causal_scores() const {
    return batch * model.heads * (context * (context + 1) / 2);
  }

  void validate() const {
    model.validate();
    detail::require_range("the batch", batch, 1, 1 << 20);
    detail::require_range("the context", context, 1, 1 << 20);
  }
};

}  // namespace assay::nn
