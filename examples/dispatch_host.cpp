// SPDX-License-Identifier: Apache-2.0
// One task on one thread or on several: measured once, saved, and decided anew for each call.
#include <assay/dispatch/engine.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/measure/calibrate.hpp>

#include <exception>
#include <iostream>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace dispatch = assay::dispatch;

struct saxpy {
  float a;
  std::span<float const> x;
  std::span<float> y;
  static constexpr std::string_view name = "saxpy";
  dispatch::work work() const {
    auto const n = static_cast<double>(x.size());
    return {.size = x.size(), .bytes = 12 * n, .flops = 2 * n};
  }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::inout(y)}; }
  void run(assay::on::host place, float const* from, float* to) const {
    assay::host::parallel_for(place.threads, std::ssize(x), 4096, [=, a = a](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) { to[i] += a * from[i]; }
    });
  }
};

saxpy make_saxpy(assay::setup& arrays, std::size_t size) {
  auto const x = arrays.random<float>(size);
  auto const y = arrays.inout<float>(size);
  return {2.0F, {x.data(), size}, {y.data(), size}};
}

int main() try {
  std::vector<dispatch::path> paths{assay::on::host{1}};
  if (assay::host::all_threads() > 1) { paths.emplace_back(assay::on::host{2}); }
  auto const costs =
      assay::measure::calibrate<saxpy>(paths, {.sizes = {1, 1 << 22}, .make = make_saxpy});
  dispatch::save("saxpy.costs", costs);
  dispatch::engine const run{dispatch::load("saxpy.costs")};
  for (std::size_t const size : {1'000U, 100'000U, 4'000'000U}) {
    std::vector<float> const x(size, 1.0F);
    std::vector<float> y(size, 1.0F);
    run(saxpy{2.0F, x, y});
    std::cout << size << " elements on " << run.last() << '\n';
  }
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
