// SPDX-License-Identifier: Apache-2.0
/// @file
/// A rig runs each item of each batch, in the buffer set asked for, and tells a wrong result.

#include "catch.hpp"

#include <assay/memory/buffer.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace assay;

/// Counts items per lane into its outputs; `wrong_lane` writes nothing, `fails` throws.
struct counting {
  int wrong_lane = -1;
  bool fails = false;
  static constexpr std::string_view name = "counting";
  bool operator==(counting const&) const = default;

  struct state {
    std::vector<int> outputs;
  };
  template <host_lane Lane>
  state prepare(Lane&, int lanes) const {
    return {std::vector<int>(static_cast<std::size_t>(lanes), 0)};
  }
  template <host_lane Lane>
  void enqueue(Lane& where, state& all) const {
    if (fails) { throw std::runtime_error("the item broke"); }
    auto* const scratch = where.memory.allocate(where.stream, 64, 64);
    if (where.index != wrong_lane) { ++all.outputs[static_cast<std::size_t>(where.index)]; }
    where.memory.deallocate(where.stream, scratch, 64, 64);
  }
  void poison(state& all) const { std::ranges::fill(all.outputs, 0); }
  mismatch verify(state const& all) const {
    for (auto const count : all.outputs) {
      if (count != 5) { return "a lane counted " + std::to_string(count) + " items, expected 5"; }
    }
    return {};
  }
  traffic item_traffic() const { return {3, 2, 1}; }
};

/// Heap memory that counts the streams whose end it was told of, and the blocks that came back
/// after that.
struct watched_memory {
  struct counts {
    int releases = 0;
    int freed_late = 0;
  };
  struct resource : mr::heap_resource {
    counts* seen = nullptr;
    void deallocate(host_stream stream, void* block, std::size_t bytes,
                    std::size_t alignment) noexcept {
      if (seen->releases > 0) { ++seen->freed_late; }
      heap_resource::deallocate(stream, block, bytes, alignment);
    }
    void release(host_stream) { ++seen->releases; }
    bool operator==(resource const&) const = default;
  };
  counts* seen = nullptr;
  static constexpr std::string_view name = "watched_memory";
  resource open(on::host) const { return {{}, seen}; }
  bool operator==(watched_memory const&) const = default;
};

/// A workload with a buffer in that memory; `refuses` to prepare it.
struct buffered {
  bool refuses = false;
  static constexpr std::string_view name = "buffered";
  bool operator==(buffered const&) const = default;

  template <class Lane>
  struct state {
    buffer<int, typename Lane::memory_type, host_stream> data;
  };
  template <host_lane Lane>
  state<Lane> prepare(Lane& where, int) const {
    auto made = make_buffer<int>(16, where.stream, where.memory);
    if (refuses) { throw std::runtime_error("no data today"); }
    return {std::move(made)};
  }
  template <host_lane Lane>
  void enqueue(Lane&, state<Lane>&) const {}
  template <class Lane>
  void poison(state<Lane>&) const {}
  template <class Lane>
  mismatch verify(state<Lane> const&) const {
    return {};
  }
  traffic item_traffic() const { return {}; }
};

}  // namespace

TEST_CASE("memory is told of the end of each stream, after the buffers of that stream", "[rig]") {
  watched_memory::counts seen;
  submit::concurrent const mode{.threads = 3, .items = 1};
  {
    rig real{pipeline{buffered{}, on::host{}, watched_memory{&seen}, mode}};
    real.run();
  }
  CHECK(seen.releases == 3);
  CHECK(seen.freed_late == 0);

  seen = {};
  CHECK_THROWS_WITH(
      (rig{pipeline{buffered{.refuses = true}, on::host{}, watched_memory{&seen}, mode}}),
      assay::test::contains("no data today"));
  CHECK(seen.releases == 3);
  CHECK(seen.freed_late == 0);
}

TEST_CASE("a rig runs every item of a batch on its lane", "[rig]") {
  rig real{pipeline{counting{}, on::host{}, submit::concurrent{.threads = 3, .items = 5}}};
  CHECK(real.lanes().size() == 3);
  CHECK_FALSE(real.verify(0).has_value());
  CHECK_FALSE(real.verify(1).has_value());
  CHECK_FALSE(real.verify(0).has_value());  // 10 items were counted, had it not been poisoned
  auto const times = real.run(0);
  CHECK(times.wall > 0);
  CHECK(times.submit_per_item > 0);
  CHECK(times.submit_per_item * 5 <= times.wall * 1.001);
}

TEST_CASE("a wrong output of any lane is found", "[rig]") {
  for (int lane = 0; lane < 3; ++lane) {
    rig real{pipeline{counting{.wrong_lane = lane}, on::host{},
                      submit::serialized{.threads = 3, .items = 5}}};
    auto const wrong = real.verify(1);
    REQUIRE(wrong.has_value());
    CHECK(*wrong == "a lane counted 0 items, expected 5");
  }
}

TEST_CASE("rigs share buffer sets that are handed to them", "[rig]") {
  pipeline const what{counting{}, on::host{}, submit::concurrent{.threads = 2, .items = 5}};
  using rig_type = rig<std::remove_const_t<decltype(what)>>;
  std::shared_ptr<buffer_sets<counting::state>> shared;
  auto const keep = [&](auto const& make) { return shared ? shared : shared = make(); };
  rig_type first{what, mr::heap{}.open(on::host{}), keep};
  rig_type second{what, mr::heap{}.open(on::host{}), keep};
  first.run(1);
  second.run(1);
  CHECK((*shared)[1].outputs == std::vector{10, 10});
  CHECK((*shared)[0].outputs == std::vector{0, 0});
}

TEST_CASE("what an item throws comes out with its number and cause", "[rig]") {
  rig real{pipeline{counting{.fails = true}, on::host{}, submit::sequential{.items = 2}}};
  CHECK_THROWS_WITH(real.run(),
                    assay::test::contains("item 0") && assay::test::contains("the item broke"));
}

TEST_CASE("impossible places and counts are refused by name", "[rig]") {
  auto const make = [](auto const& what) { rig const real{what}; };
  CHECK_THROWS_WITH(make(pipeline{counting{}, on::host{0}}), assay::test::contains("on::host{0}"));
  CHECK_THROWS_WITH(make(pipeline{counting{}, on::host{}, submit::concurrent{.threads = 0}}),
                    assay::test::contains("threads is 0"));
}

TEST_CASE("the host half of null_cast is right under every mode", "[rig]") {
  auto const check = [](auto const& what) {
    rig real{what};
    auto const wrong = real.verify();
    INFO(wrong.value_or("right"));
    CHECK_FALSE(wrong.has_value());
  };
  pipeline const control{workloads::null_cast<float>{.rows = 1003}, on::host{2}};
  check(control);
  check(control.with(submit::concurrent{.threads = 3, .items = 2}));
  check(control.with(submit::serialized{.threads = 3, .items = 2}));
  check(control.with(workloads::null_cast_fused<float>{.rows = 1003}));
}
