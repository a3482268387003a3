// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tasks of the dispatch experiment that only move data. Their device halves are in dispatch.cu.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/copy/matrix_view.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/workload/vector_add.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace assay::examples {

/// The facts of a call with all arrays in one type of host memory.
inline dispatch::facts facts_in(memory_type memory, dispatch::work amount,
                                std::initializer_list<dispatch::array_fact> arrays) {
  dispatch::facts known{.amount = amount};
  for (auto each : arrays) {
    each.memory = memory;
    known.arrays[known.count++] = each;
  }
  return known;
}

/// out = x + y. Results need no tolerance: see `workloads::vector_add`.
struct vector_add {
  std::span<float const> x, y;
  std::span<float> out;
  static constexpr std::string_view name = "vector_add";
  static constexpr bool is_peer = false, is_product = false;
  static constexpr std::size_t largest = std::size_t{1} << 26, largest_quick = 1 << 18;

  static bool serves(on::host) { return true; }

  static dispatch::facts facts_at(std::size_t n, memory_type memory) {
    auto const bytes = 4.0 * static_cast<double>(n);
    return facts_in(memory, {n, 3 * bytes, bytes / 4},
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

/// The sum, the least and the largest of some elements.
struct moments {
  double sum = 0;
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
  bool operator==(moments const&) const = default;

  std::string describe() const {
    using arrays::detail::in_text;
    return in_text(sum, 17) + " in [" + in_text(least, 9) + ", " + in_text(most, 9) + "]";
  }
};

/// The moments of both.
inline moments operator+(moments const& a, moments const& b) {
  return {a.sum + b.sum, std::min(a.least, b.least), std::max(a.most, b.most)};
}

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
  static constexpr bool is_peer = By == reducer::cub, is_product = false;
  static constexpr std::size_t largest = std::size_t{1} << 26, largest_quick = 1 << 18;

  static bool serves(on::host) { return true; }

  static dispatch::facts facts_at(std::size_t n, memory_type memory) {
    auto const bytes = 4.0 * static_cast<double>(n);
    return facts_in(memory, {n, bytes, 3 * bytes / 4},
                    {{bytes}, {sizeof(moments), dispatch::direction::out}});
  }
  static reduction make(setup& arrays, std::size_t n) {
    constexpr std::int32_t steps = 1 << 17;
    auto const x = arrays.random_multiples<float>(n, {-steps, steps - 1}, 0x1p-17F);
    auto const out = arrays.output<moments>(1);
    auto const wanted =
        by_parts(host::all_threads(), static_cast<std::int64_t>(n), [&](auto begin, auto end) {
          moments all;
          for (auto i = begin; i < end; ++i) {
            auto const each = x.seeded(static_cast<std::size_t>(i));
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
    *to = by_parts(place.threads, std::ssize(x),
                   [from](auto begin, auto end) { return moments_of(from + begin, end - begin); });
  }
  void run(cudaStream_t stream, float const* from, moments* to) const;

 private:
  template <class Part>
  static moments by_parts(int threads, std::int64_t count, Part const& part) {
    constexpr std::int64_t grain = 16384;  // a microsecond of work
    std::mutex guard;
    moments all;
    host::parallel_for(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
      auto const mine = part(begin, end);
      std::lock_guard const lock{guard};
      all = all + mine;
    });
    return all;
  }
  /// Lanes that the compiler keeps in vector registers.
  static moments moments_of(float const* x, std::int64_t count) {
    constexpr int lanes = 32;
    constexpr int exact = 64;  // elements whose sum a float holds
    std::array<double, lanes> sums{};
    std::array<float, lanes> least, most;
    least.fill(moments{}.least);
    most.fill(moments{}.most);
    std::int64_t i = 0;
    for (; i + lanes * exact <= count; i += lanes * exact) {
      std::array<float, lanes> part{};
      for (int k = 0; k < exact; ++k) {
        float const* const from = x + i + k * lanes;
        for (std::size_t l = 0; l < lanes; ++l) {
          part[l] += from[l];
          least[l] = std::min(least[l], from[l]);
          most[l] = std::max(most[l], from[l]);
        }
      }
      for (std::size_t l = 0; l < lanes; ++l) { sums[l] += static_cast<double>(part[l]); }
    }
    moments all;
    for (std::size_t l = 0; l < lanes; ++l) { all = all + moments{sums[l], least[l], most[l]}; }
    for (; i < count; ++i) { all = all + moments{x[i], x[i], x[i]}; }
    return all;
  }
};

template <>
void reduction<reducer::one_pass>::run(cudaStream_t, float const*, moments*) const;
template <>
void reduction<reducer::cub>::run(cudaStream_t, float const*, moments*) const;

/// The shape of a product: C[m, n] = A[m, k] x B[k, n], row-major with rows at `pitch(columns)`.
struct product_shape {
  std::size_t m = 0, n = 0, k = 0;

  static std::size_t pitch(std::size_t columns) {
    return static_cast<std::size_t>(copy::chunked_pitch<float>(static_cast<std::int64_t>(columns)));
  }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n * k); }
  /// The bytes of A, of B and of C.
  std::array<double, 3> bytes() const {
    auto const of = [](std::size_t rows, std::size_t columns) {
      return sizeof(float) * static_cast<double>(rows) * static_cast<double>(pitch(columns));
    };
    return {of(m, k), of(k, n), of(m, n)};
  }
  /// The edge of the square product that takes as long where a byte costs as much as 5 flops. Caches
  /// and memories of hosts and of devices cost 2 to 18. So one curve serves all shapes, and a thin
  /// product counts as a larger one than its flops alone say.
  double edge() const {
    double const cost =
        work(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k));
    double low = 0, high = std::cbrt(cost) + 1;
    for (int i = 0; i < 60; ++i) {
      double const middle = 0.5 * (low + high);
      (work(middle, middle, middle) < cost ? low : high) = middle;
    }
    return low;
  }
  /// A shape of about this edge, with m and n up to 4 times smaller or larger.
  static product_shape drawn(std::size_t edge, stats::random_source& random) {
    auto const e = static_cast<double>(edge);
    auto const near = [&] {
      double const share = static_cast<double>(random.next() >> 11U) * 0x1p-53;
      return std::max(1.0, std::round(e * std::exp2(4 * share - 2)));
    };
    double const m = near(), n = near();
    double const fixed = work(m, n, 0);  // the rest grows with k
    double const k = (work(e, e, e) - fixed) / (work(m, n, 1) - fixed);
    auto const whole = [](double of) { return static_cast<std::size_t>(std::max(1.0, of)); };
    return {whole(m), whole(n), whole(std::round(k))};
  }

 private:
  static double work(double m, double n, double k) {
    constexpr double flops_per_byte = 5;
    return 2 * m * n * k + flops_per_byte * 4 * (m * k + k * n + m * n);
  }
};

/// Enqueues C = A x B of float32 by the tiles of `workloads::matmul`.
void multiply_by_tiles(cudaStream_t stream, product_shape of, float const* a, float const* b,
                       float* c);

}  // namespace assay::examples
