// SPDX-License-Identifier: Apache-2.0
/// @file
/// A task as a user writes it, and costs that need no measurement.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/host/parallel_for.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace assay::test {

struct saxpy {
  float a = 0;
  std::span<float const> x;
  std::span<float> y;
  static constexpr std::string_view name = "saxpy";

  dispatch::work work() const {
    auto const n = static_cast<double>(x.size());
    return {.size = x.size(), .bytes = 12 * n, .flops = 2 * n};
  }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::inout(y)}; }
  void run(on::host where, float const* from, float* to) const {
    host::parallel_for(where.threads, static_cast<std::int64_t>(x.size()), 16384,
                       [a = a, from, to](std::int64_t begin, std::int64_t end) {
                         for (auto i = begin; i < end; ++i) { to[i] += a * from[i]; }
                       });
  }
};

inline saxpy make_saxpy(setup& arrays, std::size_t size) {
  auto const x = arrays.random<float>(size);
  auto const y = arrays.inout<float>(size);
  return {2.0F, {x.data(), size}, {y.data(), size}};
}

/// Knots of `seconds(n)` at 1, 4, 16 ... 2^20.
template <class F>
dispatch::path_costs path_of(dispatch::path where, F seconds, double spread = 0.01) {
  dispatch::path_costs made{.where = std::move(where)};
  for (double n = 1; n <= 1 << 20; n *= 4) { made.knots.push_back({n, seconds(n), spread}); }
  return made;
}

/// Measurements of saxpy: host{1} takes 1 ns an element, host{4} 6 us and a quarter of that.
inline dispatch::measurements saxpy_measurements() {
  dispatch::measurements made{.task = "saxpy",
                              .paths = {},
                              .cpu = "a CPU",
                              .compiler = "GCC 12",
                              .started_at = "2026-01-31T23:59:59Z",
                              .cores = 4,
                              .seed = 7};
  made.paths.push_back(path_of(on::host{1}, [](double n) { return 1e-9 * n; }));
  made.paths.push_back(path_of(on::host{4}, [](double n) { return 6e-6 + 0.25e-9 * n; }));
  return made;
}

}  // namespace assay::test
