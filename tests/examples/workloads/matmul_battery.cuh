// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every copy strategy has to survive in a product of matrices.
#pragma once

#include "catch.hpp"
#include "copy/runs_here.hpp"
#include "workloads/matmul.cuh"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/copy/regular.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/async.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace assay::test {

inline constexpr on::device place{0};

template <class Strategy>
using lane_type = lane<on::device, ::cuda::stream_ref, mr::async_resource, no_transfer, Strategy>;

using shape = std::array<std::int64_t, 3>;

inline std::vector<shape> shapes() {
  std::vector<shape> all{{1, 1, 1},     {127, 129, 65}, {128, 256, 64}, {5, 300, 0},
                         {129, 257, 1}, {1, 700, 130},  {300, 3, 200},  {64, 72, 96}};
  if (!small()) {
    all.insert(all.end(), {{256, 512, 1024}, {1000, 1001, 999}, {17, 4100, 513}, {4100, 17, 515}});
  }
  return all;
}

/// One line that says as much as it can of a wrong product: how many elements, which first, and how
/// they lie, since a wrong index map shows in the pattern.
template <class T>
std::string first_wrongs(workloads::matmul<T> const& work,
                         workloads::prepared<on::device, workloads::matmul<T>> const& state) {
  auto const m = static_cast<std::size_t>(work.m);
  auto const n = static_cast<std::size_t>(work.n);
  auto const pitch = static_cast<std::size_t>(copy::chunked_pitch<T>(work.n));
  std::vector<T> got(m * n);
  check(cudaMemcpy2D(got.data(), n * sizeof(T), state.arrays(0).c, pitch * sizeof(T), n * sizeof(T),
                     m, cudaMemcpyDefault));
  workloads::matmul_problem<T> const problem{work.recipe()};
  std::vector<double> expected(m * n), magnitude(m * n);
  auto const a_pitch = static_cast<std::size_t>(copy::chunked_pitch<T>(work.k));
  for (std::size_t row = 0; row < m; ++row) {
    workloads::matmul_row(work.n, work.k, problem.a().data() + row * a_pitch, problem.b().data(),
                          copy::chunked_pitch<T>(work.n), expected.data() + row * n,
                          magnitude.data() + row * n);
  }
  std::size_t wrong = 0;
  double worst = 0;
  std::string where;
  for (std::size_t i = 0; i < m * n; ++i) {
    auto const value = static_cast<double>(got[i]);
    auto const right = workloads::detail::matmul_rounding<T>::stored(expected[i]);
    auto const off = std::abs(value - right);
    if (off == 0) { continue; }
    worst = std::max(worst, off);
    if (++wrong <= 12) {
      where += " (" + std::to_string(i / n) + "," + std::to_string(i % n) +
               "): " + std::to_string(value) + " for " + std::to_string(right);
    }
  }
  return std::to_string(wrong) + " of " + std::to_string(m * n) + " wrong, by up to " +
         std::to_string(worst) + ":" + where;
}

template <class T, class Strategy>
void check_strategy() {
  if (racecheck() || !runs_here(workloads::matmul<T>{}, Strategy{})) { return; }
  auto const seed = fresh_seed();
  stream const on{place};
  auto const memory = mr::async{}.open(place);
  lane_type<Strategy> where{place, on, memory, 0};
  for (auto const& [m, n, k] : shapes()) {
    for (bool const exact : {true, false}) {
      workloads::matmul<T> const work{.m = m, .n = n, .k = k, .seed = seed, .exact = exact};
      auto state = workloads::prepare(work, where, 2);
      auto const& how = workloads::matmul_shape_on<T, Strategy>(place);
      INFO(describe(work) << ", " << describe(Strategy{}) << ", " << how.instruction << ", exact "
                          << exact << ", seed " << seed);
      workloads::enqueue(work, where, state);
      lane_type<Strategy> other{place, on, memory, 1};
      workloads::enqueue(work, other, state);
      where.synchronize();
      auto const found = workloads::verify(work, state);
      if (found && exact) { UNSCOPED_INFO(first_wrongs(work, state)); }
      CHECK(found.value_or("right") == "right");
    }
  }
}

}  // namespace assay::test
