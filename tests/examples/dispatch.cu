// assay-grouped: no, since it includes a file of an example
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/dispatch.cu"
#include "small_sizes.hpp"
#include "workloads/matmul.hpp"

#include <assay/arrays/device_arrays.cuh>
#include <assay/core/stream.hpp>
#include <assay/verify.cuh>

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

using namespace assay;
using namespace assay::examples;
namespace {

/// Verifies a task over arrays in device memory.
template <class T>
void check_device() {
  auto const factory = [](setup& make, std::size_t n) {
    return [task = T::make(make, n)](cudaStream_t on) {
      std::apply([&](auto const&... each) { task.run(on, each.data.data()...); }, task.arrays());
    };
  };
  auto const seen =
      verify(factory, {.seed = test::fresh_seed(),
                       .only = test::small_sizes(
                           {1, 2, 3, 31, 1'009, 4'096, 65'537, 1'000'003, 1U << 24U}, 100'000)});
  REQUIRE(seen);
}

}  // namespace

TEST_CASE("tasks are right on a device") {
  check_device<vector_add>();
  check_device<reduction<reducer::one_pass>>();
  check_device<reduction<reducer::cub>>();
}

TEST_CASE("a reduction begins at any element") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const own{on::device{0}};
  arrays::device_array_store store{on::device{0}, own, seed};
  constexpr std::size_t n = 100'003;
  setup on_host{std::make_shared<arrays::host_array_store>(seed), seed};
  auto const all = reduction<reducer::one_pass>::make(on_host, n);
  auto* const x = reinterpret_cast<float*>(store.allocate(n * sizeof(float)));
  auto* const out = reinterpret_cast<moments*>(store.allocate(sizeof(moments)));
  store.copy_in(x, all.x.data(), all.x.size_bytes());
  for (std::size_t const first : {0U, 1U, 2U, 3U, 4U, 99'999U}) {
    reduction<reducer::one_pass> const rest{all.x.subspan(first), all.out};
    rest.run(on::host{1}, rest.x.data(), all.out.data());
    rest.run(own.get(), x + first, out);
    moments got;
    store.copy_out(&got, out, sizeof got);
    INFO("from element " << first);
    CHECK(got == all.out[0]);
  }
}

TEST_CASE("streams at the same time have memory of their own") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::size_t const n = test::small() ? 1 << 14 : 1 << 20;
  std::vector<std::unique_ptr<stream>> streams;
  std::vector<setup> arrays;
  std::vector<reduction<reducer::one_pass>> tasks;
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto const& own = *streams.emplace_back(std::make_unique<stream>(on::device{0}));
    arrays.emplace_back(std::make_shared<arrays::device_array_store>(on::device{0}, own, seed + i),
                        seed + i);
    tasks.push_back(reduction<reducer::one_pass>::make(arrays.back(), n));
    check(cudaStreamSynchronize(own.get()));
  }
  for (int turn = 0; turn < (test::small() ? 5 : 50); ++turn) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].run(streams[i]->get(), tasks[i].x.data(), tasks[i].out.data());
    }
  }
  for (auto& each : arrays) { CHECK(each.verify() == std::nullopt); }
}

TEST_CASE("products by tiles are right on a device") {
  if (test::racecheck()) { return; }
  stream const own{on::device{0}};
  for (auto const& [m, n, k] : {product_shape{1, 1, 1}, product_shape{5, 5, 5},
                                product_shape{127, 127, 127}, product_shape{500, 33, 1001}}) {
    setup arrays{std::make_shared<arrays::device_array_store>(on::device{0}, own, 1), 1};
    auto const whole = [](std::size_t of) { return static_cast<std::int64_t>(of); };
    auto const all =
        workloads::matmul<float>{whole(m), whole(n), whole(k), test::fresh_seed()}.arrays(arrays);
    arrays.poison();
    multiply_by_tiles(own.get(), {m, n, k}, all.a, all.b, all.c);
    CHECK(arrays.verify() == std::nullopt);
  }
}
