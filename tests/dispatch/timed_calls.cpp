// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/dispatch/timed_calls.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <thread>
#include <tuple>

using namespace assay;
using dispatch::direction;

namespace {

/// Takes 13 ms, and 39 ms at every third call.
struct delayed {
  std::span<float const> x;
  static constexpr std::string_view name = "delayed";
  dispatch::work work() const { return {.size = x.size(), .bytes = 4.0}; }
  auto arrays() const { return std::tuple{dispatch::in(x)}; }
  void run(on::host, float const*) const {
    static int calls = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds{++calls % 3 == 0 ? 39 : 13});
  }
};

}  // namespace

TEST_CASE("means hold the delays of few calls", "[dispatch]") {
  dispatch::measurements made{.task = "delayed", .paths = {}};
  made.paths.push_back({.where = on::host{1}, .knots = {{1, 13e-3, 0.01}, {2, 13e-3, 0.01}}});
  auto const timed = dispatch::time_calls<delayed>(
      dispatch::costs{made},
      {.sizes = {1, 2},
       .count = 1,
       .make = [](setup& arrays,
                  std::size_t size) { return delayed{{arrays.random<float>(size).data(), size}}; },
       .means = true});
  REQUIRE(timed.calls.size() == 1);
  // One call in five is a long one at least, of those that are timed. The median is 13 ms.
  for (auto const& half : timed.calls[0].halves) { CHECK(half.at(0) > 17e-3); }
}

TEST_CASE("resident arrays need no copies, and the others stay in their order", "[dispatch]") {
  auto known = dispatch::facts_of_size(10);
  for (double const bytes : {1.0, 2.0, 3.0, 4.0}) {
    auto const memory = bytes == 2 || bytes == 4 ? memory_type::device : memory_type::pageable;
    known.arrays[known.count++] = {.bytes = bytes, .way = direction::in, .memory = memory};
  }
  forget_resident_arrays(known);
  REQUIRE(known.count == 2);
  CHECK(known.arrays[0].bytes == 1);
  CHECK(known.arrays[1].bytes == 3);
}
