// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products of matrices: linear layers, attention, and the gradients of both.
#pragma once

#include <assay/nn/operation.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::nn {

/// Matrices of a product in one array, row after row. A batch has two levels, as the heads of
/// attention are apart by less than a row.
struct matrices {
  std::size_t leading = 1;  ///< elements from a row to the next
  bool transposed = false;  ///< the product takes rows for columns
  std::size_t outer = 0;    ///< elements from a matrix to the next of the outer level
  std::size_t inner = 0;    ///< elements from a matrix to the next of the inner level
  bool operator==(matrices const&) const = default;
};

/// c = scale a b, or c += scale a b, for each matrix of the batch. a is rows x depth, b is depth x
/// columns, c is rows x columns, once they are transposed as they say.
struct product {
  static constexpr std::string_view name = "product";
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::size_t depth = 1;
  matrices a{};
  matrices b{};
  matrices c{};
  double scale = 1;
  bool accumulate = false;
  bool of_weights = false;  ///< the result is the gradient of weights, in float32
  std::size_t outer_batch = 1;
  std::size_t inner_batch = 1;
  bool operator==(product const&) const = default;

  std::size_t batch() const { return outer_batch * inner_batch; }
  /// The cost counts all scores, also masked ones.
  traffic cost(double narrow = 1) const {
    auto const count = static_cast<double>(batch());
    auto const results = count * detail::product_of(rows, columns);
    auto const written = of_weights ? results : narrow * results;
    auto const read =
        narrow * count * (detail::product_of(rows, depth) + detail::product_of(depth, columns));
    return detail::elements(accumulate ? read + written : read, written,
                            2 * results * static_cast<double>(depth));
  }

  template <class Real>
  void operator()(in<Real> left, in<Real> right, std::span<Real> out) const {
    require("the left factor", left.size(), a, rows, depth);
    require("the right factor", right.size(), b, depth, columns);
    require("the result", out.size(), c, rows, columns);
    for (std::size_t i = 0; i < outer_batch; ++i) {
      for (std::size_t j = 0; j < inner_batch; ++j) {
        one<Real>(left.subspan(i * a.outer + j * a.inner), right.subspan(i * b.outer + j * b.inner),
                  out.subspan(i * c.outer + j * c.inner));
      }
    }
  }

 private:
  /// Throws unless an array has all elements of its matrices.
  void require(char const* which, std::size_t given, matrices const& of, std::size_t down,
               std::size_t along) const {
    if (of.transposed) { std::swap(down, along); }
    auto const wanted = batch() * down * along == 0
                            ? 0
                            : (outer_batch - 1) * of.outer + (inner_batch - 1) * of.inner +
                                  (down - 1) * of.leading + along;
    if (given >= wanted) { return; }
    throw std::invalid_argument(std::string{name} + ": " + which + " has " + std::to_string(given) +
                                " elements, its shape has " + std::to_string(wanted));
  }

  template <class Real>
  void one(in<Real> left, in<Real> right, std::span<Real> out) const {
    auto const of_left = [&](std::size_t r, std::size_t k) {
      return a.transposed ? k * a.leading + r : r * a.leading + k;
    };
    auto const right_down = b.transposed ? 1 : b.leading;
    auto const right_along = b.transposed ? b.leading : 1;
    for (std::size_t r = 0; r < rows; ++r) {
      auto const row = out.subspan(r * c.leading, columns);
      for (std::size_t j = 0; j < columns && !accumulate; ++j) { row[j] = 0; }
      for (std::size_t k = 0; k < depth; ++k) {
        auto const factor = static_cast<Real>(scale) * left[of_left(r, k)];
        for (std::size_t j = 0; j < columns; ++j) {
          row[j] += factor * right[k * right_down + j * right_along];
        }
      }
    }
  }
};

/// y = x W^T of a linear layer without bias: x has rows x in elements, the weights W out x in.
struct linear {
  std::size_t rows = 1;
  std::size_t in = 1;
  std::size_t out = 1;

  /// Arguments: x, W.
  product forward() const {
    return {.rows = rows, .columns = out, .depth = in, .a = {in}, .b = {in, true}, .c = {out}};
  }
  /// Arguments: gradient of y, W. The result is the gradient of x, or is added to that.
  product input_gradient(bool accumulate = false) const {
    return {.rows = rows,
            .columns = in,
            .depth = out,
            .a = {out},
            .b = {in},
            .c = {in},
            .accumulate = accumulate};
  }
  /// Arguments: gradient of y, x. The result is the gradient of W.
  product weight_gradient() const {
    return {.rows = out,
            .columns = in,
            .depth = rows,
            .a = {out, true},
            .b = {in},
            .c = {in},
            .of_weights = true};
  }
};

/// The products of attention. Queries, keys, values and outputs are batch x context x heads x
/// head_size; scores are batch x heads x context x context. Positions of queries, keys, values and
/// their gradients are `stride` elements apart.
struct attention_products {
  std::size_t batch = 1;
  std::size_t context = 1;
  std::size_t heads = 1;
  std::size_t head_size = 2;
  std::size_t stride = heads * head_size;

  std::size_t score_count() const { return batch * heads * context * context; }

  /// Arguments: queries, keys.
  product scores() const {
    return make(context, head_size, rows(), rows(true), squares(), scale());
  }
  /// Arguments: probabilities, values.
  product outputs() const { return make(head_size, context, squares(), rows(), outs(), 1); }
  /// Arguments: gradient of the outputs, values.
  product probability_gradient() const {
    return make(context, head_size, outs(), rows(true), squares(), 1);
  }
  /// Arguments: probabilities, gradient of the outputs.
  product value_gradient() const {
    return make(head_size, context, squares(true), outs(), rows(), 1);
  }
  /// Arguments: gradient of the scores, keys.
  product query_gradient() const {
    return make(head_size, context, squares(), rows(), rows(), scale());
  }
  /// Arguments: gradient of the scores, queries.
  product key_gradient() const {
    return make(head_size, context, squares(true), rows(), rows(), scale());
  }

 private:
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_size)); }
  matrices rows(bool transposed = false) const {
    return {stride, transposed, context * stride, head_size};
  }
  matrices outs() const {
    return {heads * head_size, false, context * heads * head_size, head_size};
  }
  matrices squares(bool transposed = false) const {
    auto const one = context * context;
    return {context, transposed, heads * one, one};
  }
  product make(std::size_t columns, std::size_t depth, matrices a, matrices b, matrices c,
               double factor) const {
    return {.rows = context,
            .columns = columns,
            .depth = depth,
            .a = a,
            .b = b,
            .c = c,
            .scale = factor,
            .outer_batch = batch,
            .inner_batch = heads};
  }
};

}  // namespace assay::nn
