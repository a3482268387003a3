// SPDX-License-Identifier: Apache-2.0
/// @file
/// Causal attention as one operation, and its gradient.
#pragma once

#include <assay/nn/operation.hpp>
#include <assay/nn/rope.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay::nn {
namespace detail {

template <class Real>
Real dot(std::span<Real const> a, std::span<Real const> b) {
  Real sum{0};
  for (std::size_t i = 0; i < a.size(); ++i) { sum += a[i] * b[i]; }
  return sum;
}
template <class Real>
void add_multiple(Real factor, std::span<Real const> from, std::span<Real> to) {
  for (std::size_t i = 0; i < to.size(); ++i) { to[i] += factor * from[i]; }
}

}  // namespace detail

/// An array of batch x context x heads x head_size elements. Positions are `stride` elements apart,
/// heads x head_size or more, so that queries, keys and values can lie beside each other.
template <class T>
struct head_rows {
  T* first = nullptr;
  std::size_t stride = 0;

  template <class Const>
  requires(!std::is_const_v<T> && std::is_same_v<Const, T const>)
  operator head_rows<Const>() const {
    return {first, stride};
  }
};

/// An input. The outputs of a call decide what `Real` is.
template <class Real>
using in_rows = head_rows<std::type_identity_t<Real> const>;

/// The shape of causal attention: position t sees positions 0 to t.
struct attention_shape {
  std::size_t batch = 1;
  std::size_t context = 1;
  std::size_t heads = 1;
  std::size_t head_size = 2;
  bool operator==(attention_shape const&) const = default;

  std::size_t width() const { return heads * head_size; }
  std::size_t elements() const { return batch * context * width(); }
  /// Rows of scores, which is the elements of the logarithms.
  std::size_t rows() const { return batch * heads * context; }
  /// Scores that the mask keeps.
  double kept() const { return detail::product_of(rows(), context + 1) / 2; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_size)); }

  /// Calls `each(row of scores, batch, position, head)` for all rows of scores.
  template <class Each>
  void for_each_row(Each const& each) const {
    for (std::size_t i = 0; i < rows(); ++i) {
      each(i, i / context / heads, i % context, i / context % heads);
    }
  }
  /// The elements of one head at one position.
  template <class T>
  std::span<T> at(head_rows<T> of, std::size_t b, std::size_t t, std::size_t head) const {
    return {of.first + (b * context + t) * of.stride + head * head_size, head_size};
  }
};

namespace detail {

/// Throws unless the kernels can take the shape.
inline void require_attention(attention_shape const& shape) {
  auto const size = shape.head_size;
  if (size != 64 && size != 80 && size != 128) {
    throw std::invalid_argument("fused_attention: the head size is " + std::to_string(size) +
                                ", and 64, 80 and 128 are possible: use naive attention");
  }
  auto const blocks = shape.batch * shape.heads;
  if (shape.context == 0 || blocks == 0 || blocks > 0x7FFF'FFFF || shape.context > 1 << 20) {
    throw std::invalid_argument(
        "fused_attention: batch " + std::to_string(shape.batch) + ", context " +
        std::to_string(shape.context) + ", heads " + std::to_string(shape.heads) +
        ": each is at least 1, a context at most 1048576, batch x heads at most 2147483647");
  }
}

/// The terms of a head are for a multiple of so many rows of scores.
inline constexpr int term_rows = 128;

}  // namespace detail

/// The bytes of scratch that the kernels of `fused_attention_gradient` need.
inline std::size_t fused_attention_scratch_bytes(attention_shape const& shape) {
  constexpr std::size_t rows = detail::term_rows;
  auto const padded = (shape.context + rows - 1) / rows * rows;
  return 2 * sizeof(float) * shape.batch * shape.heads * padded;
}

/// o = softmax(q k^T / sqrt(head_size)) v for each head, and for each row of scores the logarithm
/// of its sum of exponentials, batch x heads x context.
struct fused_attention {
  static constexpr std::string_view name = "fused_attention";
  attention_shape shape{};

  /// In bf16, with the scores that the mask keeps: two products and five operations for each.
  traffic cost(double = 1) const {
    auto const n = static_cast<double>(shape.elements());
    return {.bytes_read = 2 * 3 * n,
            .bytes_written = 2 * n + detail::float_bytes * static_cast<double>(shape.rows()),
            .flops = shape.kept() * (4 * static_cast<double>(shape.head_size) + 5)};
  }

  template <class Real>
  void operator()(in_rows<Real> q, in_rows<Real> k, in_rows<Real> v, head_rows<Real> o,
                  std::span<Real> logarithms) const {
    detail::require_size(name, "logarithms", logarithms, shape.rows());
    std::vector<Real> p(shape.context);
    shape.for_each_row([&](std::size_t row, std::size_t b, std::size_t t, std::size_t h) {
      auto const seen = std::span{p}.first(t + 1);
      auto const query = shape.at(q, b, t, h);
      for (std::size_t j = 0; j <= t; ++j) {
        seen[j] = static_cast<Real>(shape.scale()) * detail::dot(query, shape.at(k, b, j, h));
      }
      auto const largest = *std::max_element(seen.begin(), seen.end());
      Real sum{0};
      for (auto const each : seen) { sum += std::exp(each - largest); }
      logarithms[row] = largest + std::log(sum);
      auto const out = shape.at(o, b, t, h);
      std::fill(out.begin(), out.end(), Real{0});
      for (std::size_t j = 0; j <= t; ++j) {
        detail::add_multiple(std::exp(seen[j] - logarithms[row]), shape.at(v, b, j, h), out);
      }
    });
  }
};

/// The gradients of `fused_attention`, from its inputs and outputs, and the gradient of o.
struct fused_attention_gradient {
  static constexpr std::string_view name = "fused_attention_gradient";
  attention_shape shape{};

  /// As for `fused_attention`, with the five products that have to be: the scores again, and a
  /// gradient of each input and of the probabilities.
  traffic cost(double = 1) const {
    auto const n = static_cast<double>(shape.elements());
    return {.bytes_read = 2 * 5 * n + detail::float_bytes * static_cast<double>(shape.rows()),
            .bytes_written = 2 * 3 * n,
            .flops = shape.kept() * (10 * static_cast<double>(shape.head_size) + 6)};
  }

  template <class Real>
  void operator()(in_rows<Real> q, in_rows<Real> k, in_rows<Real> v, in_rows<Real> o,
                  in<Real> logarithms, in_rows<Real> d_o, head_rows<Real> d_q, head_rows<Real> d_k,
                  head_rows<Real> d_v) const {
    detail::require_size(name, "logarithms", logarithms, shape.rows());
    auto const scale = static_cast<Real>(shape.scale());
    shape.for_each_row([&](std::size_t, std::size_t b, std::size_t t, std::size_t h) {
      for (auto const& to : {d_q, d_k, d_v}) { std::ranges::fill(shape.at(to, b, t, h), Real{0}); }
    });
    shape.for_each_row([&](std::size_t row, std::size_t b, std::size_t t, std::size_t h) {
      auto const query = shape.at(q, b, t, h);
      auto const from = shape.at(d_o, b, t, h);
      auto const mean = detail::dot(from, shape.at(o, b, t, h));
      for (std::size_t j = 0; j <= t; ++j) {
        auto const key = shape.at(k, b, j, h);
        auto const p = std::exp(scale * detail::dot(query, key) - logarithms[row]);
        auto const ds = p * (detail::dot(from, shape.at(v, b, j, h)) - mean);
        detail::add_multiple(p, from, shape.at(d_v, b, j, h));
        detail::add_multiple(scale * ds, key, shape.at(d_q, b, t, h));
        detail::add_multiple(scale * ds, query, shape.at(d_k, b, j, h));
      }
    });
  }
};

/// `fused_attention_gradient` of queries and keys that `rope` has turned: the gradients are of
/// queries and keys before that.
struct turned_attention_gradient {
  static constexpr std::string_view name = "turned_attention_gradient";
  attention_shape shape{};

  fused_attention_gradient plain() const { return {shape}; }
  /// Of an array of gradients that lie so many elements apart.
  rope turn(std::size_t stride) const {
    return {shape.batch, shape.context, shape.heads, shape.head_size, true, stride};
  }
  /// The turns read their table alone: gradients are on their way out.
  traffic cost(double narrow = 1) const {
    auto made = plain().cost(narrow);
    made.bytes_read += detail::float_bytes * detail::product_of(shape.context, shape.head_size);
    made.flops += 2 * turn(shape.width()).cost(narrow).flops;
    return made;
  }

  /// turns: `rope_table`
  template <class Real>
  void operator()(in_rows<Real> q, in_rows<Real> k, in_rows<Real> v, in_rows<Real> o,
                  in<Real> logarithms, in_rows<Real> d_o, head_rows<Real> d_q, head_rows<Real> d_k,
                  head_rows<Real> d_v, in<Real> turns) const {
    plain()(q, k, v, o, logarithms, d_o, d_q, d_k, d_v);
    for (auto const& of : {d_q, d_k}) {
      auto const op = turn(of.stride);
      op(turns, std::span<Real>{of.first, op.extent()});
    }
  }
};

}  // namespace assay::nn
