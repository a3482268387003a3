// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "dispatch/options.hpp"
#include "dispatch/tasks.hpp"

#include <matmul.hpp>

#include <assay/arrays/setup.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
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
      if (!T::serves(on::host{threads})) { continue; }
      made.arrays.poison();
      REQUIRE(made.arrays.verify());  // poison is wrong
      dispatch::run_on_host(made.task, on::host{threads});
      CHECK(made.arrays.verify() == std::nullopt);
    }
  }
}

std::optional<dispatch_parameters> parsed(std::vector<std::string> const& words,
                                          test::outcome& seen) {
  std::optional<dispatch_parameters> found;
  seen = test::outcome_of(words, [&](int argc, auto argv, std::ostream& out, std::ostream& err) {
    CLI::App app{"x"};
    dispatch_options const options{app, {"vector_add", "reduction", "matmul"}, {"reduction"}};
    return cli::guarded(
        app, argc, argv,
        [&] {
          found = options.read();
          return 0;
        },
        out, err);
  });
  return found;
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
  std::cout << host_blas::in_words() << '\n';
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    (check_host<T>(1, {1, 2, 5, 31, 64, 127}), ...);
  }(std::type_identity<matmul_tasks>{});
}

TEST_CASE("the edge of a square product is its own, and a drawn shape is near the edge") {
  for (std::size_t n = 1; n <= 2048; ++n) {
    CHECK(product_shape{n, n, n}.edge() == Approx(static_cast<double>(n)).epsilon(1e-9));
  }
  product_shape const thin{2048, 2048, 8};
  CHECK(thin.edge() > 1.2 * std::cbrt(2048.0 * 2048 * 8));  // its bytes cost more than its flops
  CHECK(product_shape{8, 2048, 2048}.edge() == Approx(thin.edge()));
  stats::random_source random{test::fresh_seed()};
  double least = 1, most = 1;
  for (std::size_t const edge : {1U, 5U, 100U, 100U, 100U, 2048U}) {
    auto const of = product_shape::drawn(edge, random);
    CHECK(of.edge() == Approx(static_cast<double>(edge)).epsilon(edge < 100 ? 1 : 0.03));
    least = std::min(least, static_cast<double>(of.m) / static_cast<double>(edge));
    most = std::max(most, static_cast<double>(of.n) / static_cast<double>(edge));
    CHECK(of.m <= 4 * edge);
    CHECK(of.k >= 1);
  }
  CHECK(most / least > 1.2);
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

TEST_CASE("options of the dispatch experiment") {
  test::outcome seen;
  auto const usual = parsed({}, seen);
  REQUIRE(usual);
  CHECK(usual->tasks == std::vector<std::string>{"reduction"});
  CHECK(usual->threads.front() == 1);
  CHECK(usual->seed != 0);
  CHECK(usual->bisects);
  CHECK(usual->sweep == 0);
  auto const quick = parsed({"--quick", "--budget", "3", "--seed", "7"}, seen);
  REQUIRE(quick);
  CHECK(quick->budget_seconds == 3);
  CHECK(quick->calls == 12);
  CHECK(quick->training == 12);
  CHECK(quick->traced == 4);
  CHECK_FALSE(parsed({"--no-bisect"}, seen)->bisects);
  CHECK(quick->seed == 7);

  auto const refused = [&](std::vector<std::string> const& words) {
    CHECK_FALSE(parsed(words, seen));
    CHECK(seen.code == cli::bad_input);
    CHECK(std::count(seen.err.begin(), seen.err.end(), '\n') == 1);
    return seen.err;
  };
  CHECK_THAT(refused({"--tasks", "matmull"}),
             contains("unknown task 'matmull': choose one of vector_add, reduction, matmul"));
  CHECK_THAT(refused({"--threads", "0"}), contains("--threads 0: it must be between 1 and "));
  CHECK_THAT(refused({"--threads", "5000"}), contains("--threads 5000"));
  CHECK_THAT(refused({"--largest", "1"}), contains("--largest 1: it must be between 2 and "));
  CHECK_THAT(refused({"--budget", "nan"}), contains("--budget nan"));
  CHECK_THAT(refused({"--training", "-1"}), contains("--training"));
  CHECK_THAT(refused({"--trace", "5000"}), contains("--trace 5000: it must be between 0 and 2000"));
  CHECK_THAT(refused({"--seed", "0"}), contains("'0' is not a seed"));
  CHECK_THAT(refused({"--csv", "/no/such/folder/x.csv"}), contains("choose another path"));
  CHECK_THAT(refused({"--svg", "--quick"}), contains("--svg"));
  CHECK_THAT(refused({"--host", "--device", "0"}), contains("--host"));
}
