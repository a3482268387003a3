// SPDX-License-Identifier: Apache-2.0
/// @file
/// Load on a GPU: engines that heed it compute right results, and a file of another driver is told.

#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "folder.hpp"

#include <assay/core/stream.hpp>
#include <assay/dispatch/device_load.cuh>
#include <assay/measure/calibrate.hpp>
#include <assay/pool/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using dispatch::path;
using test::contains;

namespace {

constexpr on::device gpu{0};

template <class T>
__global__ void add_product(T a, T const* x, T* y, std::size_t count) {
  auto const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) { y[i] += a * x[i]; }
}

struct saxpy : test::saxpy {
  using test::saxpy::run;
  void run(cudaStream_t stream, float const* from, float* to) const {
    auto const blocks = static_cast<unsigned>((x.size() + 255) / 256);
    add_product<float><<<blocks, 256, 0, stream>>>(a, from, to, x.size());
  }
};

/// One calibration for all tests.
dispatch::costs const& the_costs() {
  static auto const costs = measure::calibrate<saxpy>(
      {on::host{1}, gpu}, {.sizes = {1, 1 << 22}, .make = [](setup& arrays, std::size_t size) {
                             return saxpy{test::make_saxpy(arrays, size)};
                           }});
  return costs;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Many calls without a wait between them, over page-locked arrays.
template <class Engine>
void check_results(Engine const& run, stream const& where) {
  constexpr std::size_t size = 100'003;
  page_locked_block const x_block{size * sizeof(float)}, y_block{size * sizeof(float)};
  std::span const x{static_cast<float*>(x_block.get()), size};
  std::span const y{static_cast<float*>(y_block.get()), size};
  std::fill(x.begin(), x.end(), 3.0F);
  std::fill(y.begin(), y.end(), 1.0F);
  for (int i = 0; i < 100; ++i) { run(where, saxpy{{2.0F, x, y}}); }
  where.synchronize();
  CHECK(std::all_of(y.begin(), y.end(), [](float each) { return each == 601.0F; }));
}

}  // namespace

TEST_CASE("engines that heed load compute what others do", "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  dispatch::save(file, the_costs());
  auto const memory = mr::pool{}.open(gpu);
  stream const where{gpu};
  // docs: watched
  dispatch::engine const run{dispatch::load(file, gpu), memory, load::watched{}};
  // docs: end
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  check_results(run, where);
  std::cout << run.last() << '\n';
  check_results(dispatch::engine{the_costs(), memory, load::own_queue{}}, where);
  check_results(dispatch::engine{the_costs(), memory, load::ignored{}}, where);
}

TEST_CASE("a call waits for own work until its stream is idle", "[dispatch]") {
  auto const memory = mr::pool{}.open(gpu);
  stream const where{gpu};
  std::vector<stream> others;
  for (int i = 0; i < 6; ++i) { others.emplace_back(gpu); }
  auto all = the_costs().measured();
  for (auto& each : all.paths) {
    for (auto& knot : each.knots) { knot.seconds = each.where.host() != nullptr ? 150 : 100; }
  }
  dispatch::engine const run{dispatch::costs{all}, memory, load::own_queue{}};
  std::vector<float> const x(1000, 3.0F);
  std::vector<float> y(1000, 1.0F);
  auto const path_on = [&](stream const& on) {
    run(on, saxpy{{2.0F, x, y}});
    return run.last().where();
  };
  CHECK(path_on(where) == path{gpu});
  // 100 s of work are predicted to run. A stream may share the slot of `where`: it is idle, and so
  // the work of both counts as done. Six streams share it in one of 10^7 runs.
  CHECK(std::any_of(others.begin(), others.end(),
                    [&](stream const& each) { return path_on(each) == path{on::host{1}}; }));
  where.synchronize();
  CHECK(path_on(where) == path{gpu});  // the stream is asked, and has none
  where.synchronize();
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a device is probed by short kernels, and NVML says who is there", "[dispatch]") {
  auto const sources = dispatch::device_sources(gpu);
  auto const use = nvml::load().ask_use(pci_bus_id(gpu));
  std::cout << "processes " << use.processes.value_or(-1) << ", busy " << use.busy.value_or(-1)
            << ", others " << sources.others_on_device() << '\n';
  for (int i = 0; i < 5; ++i) {
    double const begin = now();
    auto const [first, second] = sources.two_kernels();
    std::cout << "short kernels: " << 1e6 * first << " us, " << 1e6 * second << " us\n";
    CHECK((first > 0 && second > 0));
    CHECK(now() - begin >= first + second);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a file of another driver is told", "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  auto edited = the_costs().measured();
  edited.driver = "1.0";
  dispatch::save(file, dispatch::costs{edited});
  if (nvml::load().driver_version().empty()) { return; }
  auto const warnings = dispatch::load(file, gpu).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], contains("its driver is '1.0', and this machine's is '"));
}
