// SPDX-License-Identifier: Apache-2.0
/// @file
/// A product of matrices.
///
/// This header is the workload itself and its host half; `matmul.cuh` adds the device.
#pragma once

#include "matmul_problem.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::workloads {

/// The types of elements that can be multiplied here: `float` in float32 arithmetic, `bfloat16`
/// with float32 sums.
template <class T>
concept matmul_value = std::same_as<T, float> || std::same_as<T, bfloat16>;

/// The arrays of a lane, row-major, at pitches of `copy::chunked_pitch`.
template <class T>
struct matmul_arrays {
  T const* a = nullptr;
  T const* b = nullptr;
  T* c = nullptr;
};

/// C[m, n] = A[m, k] x B[k, n], all row-major.
///
/// Runs on the places of the included halves. On a device its kernel takes a copy strategy, by
/// which tiles of A and B reach shared memory; the rest of it is the same for all.
template <matmul_value T>
struct matmul {
  using value_type = T;
  static constexpr bool takes_copy = true;
  static constexpr std::string_view name = "matmul";
  static constexpr std::int64_t most = std::int64_t{1} << 20;
  static constexpr std::int64_t most_exact = std::int64_t{1} << 18;

  std::int64_t m = 4096;
  std::int64_t n = 4096;
  std::int64_t k = 4096;
  std::uint64_t seed = default_seed;
  /// Inputs of few bits have exact sums in any order: a result must be right to the last bit. They
  /// take less power than random mantissas do, and so are not for measuring.
  bool exact = false;

  bool operator==(matmul const&) const = default;

  std::string describe() const {
    return parameter_list{}
        .show(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k))
        .show("seed", seed, default_seed)
        .show("exact", exact, false)
        .after(std::string{name} + (std::same_as<T, float> ? "<float>" : "<bfloat16>"));
  }

  /// Throws `std::invalid_argument` with the field, its value and the permitted values.
  void validate() const {
    for (auto const& [field, value] : {std::pair{"m", m}, std::pair{"n", n}, std::pair{"k", k}}) {
      if (value >= 0 && value <= most) { continue; }
      throw std::invalid_argument(std::string{field} + " = " + std::to_string(value) +
                                  " is not possible: 0 to 2^20 are");
    }
    if (exact && k > most_exact) {
      throw std::invalid_argument("k = " + std::to_string(k) +
                                  " is not possible with exact inputs: 0 to 2^18 are");
    }
  }

  matmul_recipe recipe() const { return {m, n, k, seed, exact}; }

  /// Each input once and the result once, from and to device memory: caches make it so, nearly.
  traffic item_traffic() const {
    constexpr double s = sizeof(T);
    auto const rows = static_cast<double>(m);
    auto const cols = static_cast<double>(n);
    auto const depth = static_cast<double>(k);
    return {s * depth * (rows + cols), s * rows * cols, 2 * rows * cols * depth};
  }

  /// Declares the matrices of one lane. `matmul_problem` checks the result.
  matmul_arrays<T> arrays(setup& make) const {
    auto const problem = generated_matmul<T>(recipe());
    auto const a = make.from(problem->a());
    auto const b = make.from(problem->b());
    auto const c = make.output<T>(size_of(m * copy::chunked_pitch<T>(n)), matmul_poison);
    make.expect_that(c, [problem](std::span<T const> got) { return problem->check(got.data()); });
    return {a.data(), b.data(), c.data()};
  }
};

/// Elements convert to `float` and back; sums are taken in `float`.
template <host_lane Lane, class T>
void run_on(Lane& where, matmul<T> const& work, matmul_arrays<T> const& all) {
  // So many sums that they stay in the L1 cache, with enough rows that a row of B is used often.
  constexpr std::int64_t rows = 4;
  constexpr std::int64_t cols = 512;
  auto const [m, n, k, seed, exact] = work.recipe();
  auto const a_pitch = copy::chunked_pitch<T>(k);
  auto const b_pitch = copy::chunked_pitch<T>(n);
  auto const body = [=, n = n, k = k](std::int64_t begin, std::int64_t end) {
    float sums[rows][cols];
    float right[cols];
    for (auto row = begin; row < end; row += rows) {
      auto const height = std::min(rows, end - row);
      for (std::int64_t col = 0; col < n; col += cols) {
        auto const width = std::min(cols, n - col);
        for (auto& each : sums) { std::fill_n(each, cols, 0.0F); }
        for (std::int64_t p = 0; p < k; ++p) {
          for (std::int64_t j = 0; j < width; ++j) {
            right[j] = static_cast<float>(all.b[p * b_pitch + col + j]);
          }
          for (std::int64_t i = 0; i < height; ++i) {
            auto const left = static_cast<float>(all.a[(row + i) * a_pitch + p]);
            for (std::int64_t j = 0; j < width; ++j) { sums[i][j] += left * right[j]; }
          }
        }
        for (std::int64_t i = 0; i < height; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            all.c[(row + i) * b_pitch + col + j] = static_cast<T>(sums[i][j]);
          }
        }
      }
    }
  };
  host::parallel_for(where.place.threads, m, rows, body);
}

}  // namespace assay::workloads
