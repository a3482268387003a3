// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tasks of the dispatch experiment that only move data. Their device halves are in dispatch.cu.
#pragma once

#include "moments.hpp"
#include "product_shape.hpp"

#include <assay/arrays/setup.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/workload/vector_add.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace assay::examples {

/// out = x + y. Results need no tolerance: see `workloads::vector_add`.
struct vector_add {
  std::span<float const> x, y;
  std::span<float> out;
  static constexpr std::string_view name = "vector_add";
  static constexpr bool is_peer = false;
  static constexpr std::size_t largest = std::size_t{1} << 26, largest_quick = 1 << 18;

  static dispatch::facts facts_at(std::size_t n, memory_type memory) {
    auto const bytes = 4.0 * static_cast<double>(n);
    return dispatch::facts_in(memory, {n, 3 * bytes, bytes / 4},
                              {{bytes}, {bytes}, {bytes, dispatch::direction::out}});
  }
  static vector_add make(setup& arrays, std::size_t n) {
    auto const all = workloads::vector_add<float>{static_cast<std::int64_t>(n)}.arrays(arrays);
    return {{all.inputs[0], n}, {all.inputs[1], n}, {all.output, n}};
  }
  dispatch::work work() const { return facts_at(out.size(), memory_type::pageable).amount; }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::in(y), dispatch::out(out)}; }
  void run(on::host place, float const* a, float const* b, float* to) const {
    constexpr std::int64_t grain = 8192;  // a microsecond of work
    host::parallel_for(place.threads, std::ssize(out), grain, [=](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) { to[i] = a[i] + b[i]; }
    });
  }
  void run(cudaStream_t stream, float const* a, float const* b, float* to) const;
};

/// The implementations of the reduction on a device: one kernel of this experiment, or CUB's.
enum class reducer { one_pass, cub };

/// Many elements to one `moments`.
///
/// Elements are random multiples of 2^-17 in [-1, 1). A float holds the sum of 64 such elements
/// exactly, and a double the sum of 2^35. So the results need no tolerance, in any order.
template <reducer By>
struct reduction {
  std::span<float const> x;
  std::span<moments> out;
  static constexpr std::string_view name = By == reducer::cub ? "reduction_cub" : "reduction";
  static constexpr bool is_peer = By == reducer::cub;
  static constexpr std::size_t largest = std::size_t{1} << 26, largest_quick = 1 << 18;

  static dispatch::facts facts_at(std::size_t n, memory_type memory) {
    auto const bytes = 4.0 * static_cast<double>(n);
    return dispatch::facts_in(memory, {n, bytes, 3 * bytes / 4},
                              {{bytes}, {sizeof(moments), dispatch::direction::out}});
  }
  static reduction make(setup& arrays, std::size_t n) {
    constexpr std::int32_t steps = 1 << 17;
    auto const x = arrays.random_multiples<float>(n, {-steps, steps - 1}, 0x1p-17F);
    auto const out = arrays.output<moments>(1);
    auto const wanted = moments_by_parts(host::all_threads(), static_cast<std::int64_t>(n),
                                         [&](std::int64_t begin, std::int64_t end) {
                                           moments all;
                                           for (auto i = begin; i < end; ++i) {
                                             auto const each =
                                                 x.seeded(static_cast<std::size_t>(i));
                                             all = all + moments{each, each, each};
                                           }
                                           return all;
                                         });
    arrays.expect_that(out, [wanted](std::span<moments const> got) -> std::optional<std::string> {
      if (got[0] == wanted) { return {}; }
      return "got " + got[0].describe() + ", expected " + wanted.describe();
    });
    return {{x.data(), n}, {out.data(), 1}};
  }
  dispatch::work work() const { return facts_at(x.size(), memory_type::pageable).amount; }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::out(out)}; }
  void run(on::host place, float const* from, moments* to) const {
    *to = moments_of(place.threads, from, std::ssize(x));
  }
  void run(cudaStream_t stream, float const* from, moments* to) const;
};

template <>
void reduction<reducer::one_pass>::run(cudaStream_t, float const*, moments*) const;
template <>
void reduction<reducer::cub>::run(cudaStream_t, float const*, moments*) const;

/// Enqueues C = A x B of float32 by the tiles of `workloads::matmul`.
void multiply_by_tiles(cudaStream_t stream, product_shape of, float const* a, float const* b,
                       float* c);

}  // namespace assay::examples
