// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it specialises a template of the library
/// @file
/// The copy axis of pipelines: strategies are values, a workload says whether it takes one, and a
/// device that lacks the instructions is refused by name.
// assay-precompiled: no

#include "catch.hpp"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/core/stream.hpp>
#include <assay/pipeline.hpp>
#include <assay/workload/concepts.hpp>

#include <concepts>
#include <stdexcept>
#include <string>

namespace {

using namespace assay;

/// A workload by name only, with tiles.
struct tiled {
  int rows = 3;
  static constexpr std::string_view name = "tiled";
  static constexpr bool takes_copy = true;
  traffic item_traffic() const { return {1, 0, 0, 0, 0}; }
  bool operator==(tiled const&) const = default;
};
struct untiled {
  static constexpr std::string_view name = "untiled";
  traffic item_traffic() const { return {}; }
  bool operator==(untiled const&) const = default;
};
/// A workload that says that it takes none.
struct refusing {
  static constexpr std::string_view name = "refusing";
  static constexpr bool takes_copy = false;
  bool operator==(refusing const&) const = default;
};

/// Stands for device memory where there is no toolkit.
struct anywhere {
  static constexpr std::string_view name = "anywhere";
  template <class Place>
  int open(Place) const {
    return 0;
  }
  bool operator==(anywhere const&) const = default;
};

}  // namespace

template <>
struct assay::default_memory<on::device> {
  using type = anywhere;
};

TEST_CASE("strategies are values with names", "[copy]") {
  CHECK(describe(copy::regular<>{}) == "copy::regular<16, 4>");
  CHECK(describe(copy::regular<4, 1>{}) == "copy::regular<4, 1>");
  CHECK(describe(copy::cp_async<>{}) == "copy::cp_async<2>");
  CHECK(describe(copy::bulk<8>{}) == "copy::bulk<8>");
  CHECK(copy::bulk<8>{} == copy::bulk<8>{});
  STATIC_REQUIRE(copy_strategy<copy::cp_async<4>>);
  STATIC_REQUIRE(!copy_strategy<no_copy>);
  STATIC_REQUIRE(!copy_strategy<tiled>);
}

TEST_CASE("a workload that takes a strategy has the regular one by default", "[copy]") {
  pipeline const plain{tiled{}, anywhere{}};
  STATIC_REQUIRE(std::same_as<decltype(plain.copy), copy::regular<>>);
  CHECK(plain.axes().back() == std::pair<std::string, std::string>{"copy", "copy::regular<16, 4>"});

  auto const changed = plain.with(copy::bulk<4>{});
  STATIC_REQUIRE(std::same_as<decltype(changed.copy), copy::bulk<4>>);
  CHECK(changed.axes().back().second == "copy::bulk<4>");
  CHECK(changed.work == plain.work);

  pipeline const named{tiled{}, copy::cp_async<2>{}, anywhere{}};
  STATIC_REQUIRE(std::same_as<decltype(named.copy), copy::cp_async<2>>);
}

TEST_CASE("a workload without tiles ignores the axis, and so does the host", "[copy]") {
  pipeline const plain{untiled{}, anywhere{}};
  STATIC_REQUIRE(std::same_as<decltype(plain.copy), no_copy>);
  CHECK(plain.axes().size() == 4);
  STATIC_REQUIRE(!takes_copy_strategy<refusing>);
  STATIC_REQUIRE(takes_copy_strategy<tiled>);

  pipeline const host{tiled{}, on::host{2}};
  STATIC_REQUIRE(!decltype(host)::copies_tiles);
  CHECK(host.axes().size() == 4);
}

TEST_CASE("another workload keeps the strategy where it takes one", "[copy]") {
  pipeline const one{tiled{}, anywhere{}, copy::bulk<2>{}};
  STATIC_REQUIRE(std::same_as<decltype(one.with(tiled{.rows = 7}).copy), copy::bulk<2>>);
  auto const none = one.with(untiled{});
  STATIC_REQUIRE(std::same_as<decltype(none.copy), no_copy>);
  STATIC_REQUIRE(std::same_as<decltype(none.with(tiled{}).copy), copy::regular<>>);
  STATIC_REQUIRE(std::same_as<decltype(one.with(submit::sequential{}).copy), copy::bulk<2>>);
}

TEST_CASE("a device without the instructions is refused by name", "[copy]") {
  auto const refusal = [](auto strategy, int found) {
    return test::message_of([&] { copy::require_capability(strategy, found, "on::device{1}"); });
  };
  CHECK(refusal(copy::regular<>{}, 75) == "nothing was thrown");
  CHECK(refusal(copy::cp_async<2>{}, 80) == "nothing was thrown");
  CHECK(refusal(copy::bulk<4>{}, 90) == "nothing was thrown");
  CHECK(refusal(copy::bulk<4>{}, 120) == "nothing was thrown");
  CHECK(refusal(copy::bulk<4>{}, 89) ==
        "copy::bulk<4> needs a device of compute capability 9.0 or higher, and on::device{1} has "
        "8.9: use copy::regular, which runs everywhere");
  CHECK(refusal(copy::cp_async<2>{}, 75).find("needs a device of compute capability 8.0") !=
        std::string::npos);
}

TEST_CASE("code without the instructions is refused with what to build", "[copy]") {
  auto const refusal = [](int needed, int built) {
    return test::message_of([&] { copy::require_built_for("copy::bulk<4>", needed, built); });
  };
  CHECK(refusal(90, 90) == "nothing was thrown");
  CHECK(refusal(90, 120) == "nothing was thrown");
  CHECK(refusal(75, 75) == "nothing was thrown");
  CHECK(refusal(90, 89).find("was built for 8.9") != std::string::npos);
  CHECK(refusal(90, 80) ==
        "copy::bulk<4> needs code for compute capability 9.0 or higher, and this program was built "
        "for 8.0: build it for the device (CMAKE_CUDA_ARCHITECTURES=native, nvcc -arch=native)");
}

namespace {

/// What a workload that is of no device says of a strategy.
struct picky {};
void require_on(on::device place, picky, copy::bulk<4> how) {
  copy::require_capability(how, 80, place.describe());
}
void require_on(on::device, picky, copy::cp_async<2>) { throw std::logic_error("a bug"); }
void require_on(on::device, picky, copy::regular<>) {}

}  // namespace

TEST_CASE("a workload's refusal is told, and nothing else is taken for one", "[copy]") {
  CHECK(!workloads::why_unsupported(on::device{3}, picky{}, copy::regular<>{}));
  CHECK(workloads::why_unsupported(on::device{3}, picky{}, copy::bulk<4>{})
            .value_or("")
            .find("copy::bulk<4> needs a device of compute capability 9.0 or higher, and "
                  "on::device{3}") == 0);
  CHECK_THROWS_AS(workloads::why_unsupported(on::device{3}, picky{}, copy::cp_async<2>{}),
                  std::logic_error);
}
