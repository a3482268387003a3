// SPDX-License-Identifier: Apache-2.0
/// @file
/// Pipelines are values: policies in any order, defaults for the rest, one axis changed at a time.
// assay-precompiled: no

#include "catch.hpp"

#include <assay/pipeline.hpp>
#include <assay/submit/threaded.hpp>

#include <concepts>
#include <string>

namespace {

using namespace assay;

/// A workload by name only: pipelines do not run it.
struct nothing {
  int rows = 3;
  static constexpr std::string_view name = "nothing";
  traffic item_traffic() const { return {}; }
  bool operator==(nothing const&) const = default;
};
struct anything {
  static constexpr std::string_view name = "anything";
  traffic item_traffic() const { return {}; }
  bool operator==(anything const&) const = default;
};

/// A user's own live resource, which is no policy: it has no name and opens nothing.
struct shelf {
  int id = 0;
  void* allocate(host_stream, std::size_t, std::size_t) { return nullptr; }
  void deallocate(host_stream, void*, std::size_t, std::size_t) noexcept {}
  bool operator==(shelf const&) const = default;
};

/// A transfer by name only.
struct ferry {
  int decks = 1;
  static constexpr std::string_view name = "ferry";
  static constexpr auto wants = transfer::host_memory::pageable;
  static constexpr bool blocks_host = true;
  static constexpr bool capturable = false;
  bool operator==(ferry const&) const = default;
};

/// A policy on no axis: its `open` is not const.
struct bad_memory {
  static constexpr std::string_view name = "bad_memory";
  shelf open(on::host) { return {}; }
  bool operator==(bad_memory const&) const = default;
};
/// A policy by name only.
struct ferry_to_nowhere {
  static constexpr std::string_view name = "ferry_to_nowhere";
  bool operator==(ferry_to_nowhere const&) const = default;
};

template <class P, class Choice>
concept can_change = requires(P const& p, Choice choice) { p.with(choice); };

}  // namespace

TEST_CASE("policies come in any order and defaults fill the rest", "[pipeline]") {
  pipeline const a{nothing{}, on::host{2}, submit::concurrent{.threads = 3}, mr::heap{}};
  pipeline const b{nothing{}, mr::heap{}, submit::concurrent{.threads = 3}, on::host{2}};
  STATIC_REQUIRE(std::same_as<decltype(a), decltype(b)>);
  CHECK(a == b);
  CHECK(a.place.threads == 2);
  CHECK(a.submit.threads == 3);

  pipeline const plain{nothing{.rows = 5}, on::host{}};
  STATIC_REQUIRE(std::same_as<decltype(plain.memory), mr::heap>);
  STATIC_REQUIRE(std::same_as<decltype(plain.submit), submit::sequential>);
  CHECK(plain.work.rows == 5);
}

TEST_CASE("with changes one axis and nothing else", "[pipeline]") {
  pipeline const control{nothing{.rows = 7}, on::host{2}, submit::concurrent{.threads = 3}};

  auto const other_mode = control.with(submit::serialized{.threads = 3});
  STATIC_REQUIRE(
      std::same_as<std::remove_cvref_t<decltype(other_mode.submit)>, submit::serialized>);
  CHECK(other_mode.work == control.work);
  CHECK(other_mode.place == control.place);

  auto const other_place = control.with(on::host{4});
  CHECK(other_place.place.threads == 4);
  CHECK(other_place.submit == control.submit);
  CHECK_FALSE(other_place == control);

  auto const other_work = control.with(anything{});
  STATIC_REQUIRE(std::same_as<std::remove_cvref_t<decltype(other_work.work)>, anything>);
  CHECK(other_work.submit == control.submit);
}

TEST_CASE("a live resource stands for a memory policy", "[pipeline]") {
  pipeline const control{nothing{}, on::host{}};
  auto const variant = control.with(shelf{7});
  CHECK(variant.memory.open(on::host{}).id == 7);
  pipeline const direct{nothing{}, shelf{7}, on::host{}};
  CHECK(direct.memory == variant.memory);
}

TEST_CASE("axes are told as a report names them", "[pipeline]") {
  pipeline const what{nothing{}, on::host{2}, submit::concurrent{.threads = 3, .items = 5}};
  auto const axes = what.axes();
  REQUIRE(axes.size() == 4);
  CHECK(axes[0] == std::pair<std::string, std::string>{"workload", "nothing"});
  CHECK(axes[1].second == "on::host{2}");
  CHECK(axes[2].first == "memory");
  CHECK(axes[3].second == "submit::concurrent{threads=3, items=5}");
}

TEST_CASE("what is no policy is no choice", "[pipeline]") {
  pipeline const control{nothing{}, on::host{}};
  STATIC_REQUIRE(can_change<decltype(control), on::host>);
  STATIC_REQUIRE(can_change<decltype(control), submit::serialized>);
  STATIC_REQUIRE(can_change<decltype(control), anything>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control), int>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control), std::string>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control), bad_memory>);
  STATIC_REQUIRE_FALSE(can_change<decltype(control), ferry_to_nowhere>);
}

TEST_CASE("a transfer is an axis of its own, on a device", "[pipeline]") {
  pipeline const resident{nothing{}, on::host{}};
  STATIC_REQUIRE(std::same_as<decltype(resident.transfer), no_transfer>);
  STATIC_REQUIRE_FALSE(decltype(resident)::crosses_link);

  pipeline const control{nothing{}, ferry{2}, on::host{}};
  CHECK(control.transfer.decks == 2);
  CHECK(control.axes().size() == 4);  // on the host there is no link to cross
  auto const variant = control.with(ferry{3});
  CHECK(variant.transfer.decks == 3);
  CHECK_FALSE(variant == control);
  CHECK(variant.with(submit::serialized{.threads = 3}).transfer.decks == 3);
  CHECK(variant.with(anything{}).transfer.decks == 3);
  CHECK(variant.with(mr::heap{}).transfer.decks == 3);
  CHECK(variant.with(on::host{4}).transfer.decks == 3);
  CHECK(variant.with(no_transfer{}) == resident);
}
