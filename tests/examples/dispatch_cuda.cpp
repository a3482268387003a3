// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it has include directories of its own
#include "catch.hpp"
#include "dispatch/tasks.hpp"

#include <matmul.hpp>

#include <assay/arrays/setup.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace assay;
using namespace assay::examples;
using test::contains;

namespace {

/// A task of a size with its arrays.
template <class T>
struct made_task {
  setup arrays;
  T task;
  made_task(std::size_t n, std::uint64_t seed)
      : arrays(std::make_shared<arrays::host_array_store>(seed), seed), task(T::make(arrays, n)) {}
};

/// Runs a task on host threads at many sizes; the message of the first wrong result.
template <class T>
void check_host(std::uint64_t seed, std::vector<std::size_t> const& sizes) {
  for (auto const n : sizes) {
    made_task<T> made{n, seed + n};
    CHECK(made.task.work().size == n);
    for (int const threads : {1, 2, 3}) {
      if constexpr (requires { T::serves(on::host{threads}); }) {
        if (!T::serves(on::host{threads})) { continue; }
      }
      made.arrays.poison();
      REQUIRE(made.arrays.verify());  // poison is wrong
      dispatch::run_on_host(made.task, on::host{threads});
      CHECK(made.arrays.verify() == std::nullopt);
    }
  }
}

}  // namespace

TEST_CASE("tasks are right on host threads, at sizes that divide and at those that do not") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::vector<std::size_t> const sizes{1, 2, 3, 31, 1'009, 2'048, 16'384, 65'537, 262'147};
  check_host<vector_add>(seed, sizes);
  check_host<reduction<reducer::one_pass>>(seed, sizes);
}

TEST_CASE("products are right on host threads, where there is a BLAS") {
  std::cout << blas_in_words() << '\n';
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    (check_host<T>(1, {1, 2, 5, 31, 64, 127}), ...);
  }(std::type_identity<matmul_tasks>{});
}

TEST_CASE("products of any shape are right on host threads") {
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    auto const check_shape = [&]<class M>(std::type_identity<M>, product_shape const& of) {
      setup arrays{std::make_shared<arrays::host_array_store>(7U), 7};
      auto const task = M::make_shape(arrays, of);
      CHECK(task.work().flops == 2.0 * static_cast<double>(of.m * of.n * of.k));
      CHECK(static_cast<double>(task.a.size_bytes()) == M::facts_of_shape(of, {}).arrays[0].bytes);
      CHECK(static_cast<double>(task.b.size_bytes()) == M::facts_of_shape(of, {}).arrays[1].bytes);
      CHECK(static_cast<double>(task.c.size_bytes()) == M::facts_of_shape(of, {}).arrays[2].bytes);
      arrays.poison();
      REQUIRE(arrays.verify());
      dispatch::run_on_host(task, on::host{1});
      CHECK(arrays.verify() == std::nullopt);
    };
    for (auto const& of :
         {product_shape{1, 7, 130}, product_shape{65, 3, 31}, product_shape{5, 200, 2}}) {
      (check_shape(std::type_identity<T>{}, of), ...);
    }
  }(std::type_identity<matmul_tasks>{});
}

TEST_CASE("a wrong element of any field is found") {
  made_task<reduction<reducer::one_pass>> made{10'000, 7};
  auto& out = made.task.out[0];
  dispatch::run_on_host(made.task, on::host{2});
  REQUIRE(made.arrays.verify() == std::nullopt);
  auto const right = out;
  out.sum += 0x1p-17;  // one element of the least size
  CHECK_THAT(made.arrays.verify().value(), contains(", expected "));
  out = right;
  out.least = -out.least;
  CHECK(made.arrays.verify());
  out = right;
  out.most = 1;
  CHECK(made.arrays.verify());

  made_task<vector_add> sum{10'000, 7};
  dispatch::run_on_host(sum.task, on::host{1});
  sum.task.out[9'999] += 1;
  CHECK_THAT(sum.arrays.verify().value(), contains("element 9999"));
}

TEST_CASE("facts have the bytes of each array, in its memory") {
  made_task<vector_add> made{1000, 1};
  auto const known = dispatch::facts_of(made.task);
  auto const said = vector_add::facts_at(1000, memory_type::page_locked);
  REQUIRE(known.count == said.count);
  for (std::size_t i = 0; i < known.count; ++i) {
    CHECK(known.arrays[i].bytes == said.arrays[i].bytes);
    CHECK(known.arrays[i].way == said.arrays[i].way);
    CHECK(said.arrays[i].memory == memory_type::page_locked);
  }
  using sums = reduction<reducer::cub>;
  made_task<sums> other{1000, 1};
  CHECK(dispatch::facts_of(other.task).arrays[1].bytes ==
        sums::facts_at(1000, memory_type::pageable).arrays[1].bytes);
}
