// SPDX-License-Identifier: Apache-2.0
/// @file
/// A product of matrices as a task, in a build that has a CBLAS and cuBLAS.
#pragma once

#include "../../workloads/matmul.hpp"
#include "../tasks.hpp"
#include "blas.hpp"
#include "cublas.hpp"

#include <cblas.h>

#include <array>
#include <cmath>

namespace assay::examples {

inline std::string blas_in_words() { return blas::in_words(); }

/// The implementations of the product on a device: cuBLAS, or the tiles of `workloads::matmul`.
enum class multiplier { cublas, tiles };

/// C = A x B, of float32 and row-major. The size is the edge of a square product, and for other
/// shapes `product_shape::edge`. Both libraries compute in float32: cuBLAS uses tensor cores only
/// where a program permits it. `matmul_problem` has the float64 reference and its bounds.
template <multiplier By>
struct matmul {
  product_shape shape;
  std::span<float const> a, b;
  std::span<float> c;
  static constexpr std::string_view name = By == multiplier::tiles ? "matmul_tiles" : "matmul";
  static constexpr bool is_peer = By == multiplier::tiles;
  static constexpr std::size_t largest = 2048, largest_quick = 256;

  static std::string_view library() {
    static std::string const text = blas_in_words();
    return text;
  }
  static bool serves(on::host place) {
    return place.threads == 1 || blas::here().set_threads != nullptr;
  }
  static dispatch::facts facts_at(std::size_t n, memory_type memory) {
    return facts_of_shape({n, n, n}, memory);
  }
  static dispatch::facts facts_of_shape(product_shape const& of, memory_type memory) {
    auto const [left, right, product] = of.bytes();
    auto const size = static_cast<std::size_t>(std::lround(of.edge()));
    return dispatch::facts_in(memory, {size, left + right + product, of.flops()},
                              {{left}, {right}, {product, dispatch::direction::out}});
  }
  static matmul make(setup& arrays, std::size_t n) { return make_shape(arrays, {n, n, n}); }
  static matmul make_shape(setup& arrays, product_shape const& of) {
    auto const all =
        workloads::matmul<float>{std::int64_t(of.m), std::int64_t(of.n), std::int64_t(of.k)}.arrays(
            arrays);
    return {of,
            {all.a, of.m * of.pitch(of.k)},
            {all.b, of.k * of.pitch(of.n)},
            {all.c, of.m * of.pitch(of.n)}};
  }
  dispatch::work work() const { return facts_of_shape(shape, memory_type::pageable).amount; }
  auto arrays() const { return std::tuple{dispatch::in(a), dispatch::in(b), dispatch::out(c)}; }

  void run(on::host place, float const* left, float const* right, float* to) const {
    if (auto* const set = blas::here().set_threads) { set(place.threads); }
    auto const [m, n, k, k_pitch, n_pitch] = dimensions();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, left, k_pitch, right,
                n_pitch, 0, to, n_pitch);
  }
  void run(cudaStream_t stream, float const* left, float const* right, float* to) const {
    if constexpr (By == multiplier::tiles) {
      multiply_by_tiles(stream, shape, left, right, to);
    } else {
      auto const [m, n, k, k_pitch, n_pitch] = dimensions();
      cublas_product(stream, m, n, k, left, k_pitch, right, n_pitch, to);
    }
  }

 private:
  /// m, n, k and both pitches, as the libraries take them.
  std::array<int, 5> dimensions() const {
    auto const [m, n, k] = shape;
    return {static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
            static_cast<int>(shape.pitch(k)), static_cast<int>(shape.pitch(n))};
  }
};

using matmul_tasks = std::tuple<matmul<multiplier::cublas>, matmul<multiplier::tiles>>;

}  // namespace assay::examples
