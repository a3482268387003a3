// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it specialises a template of the library
/// @file
/// Axes are compared by value, and texts tell all fields: policies of a device.

#include "catch.hpp"
#include "measure/each_field.hpp"
#include "workloads/matmul.hpp"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/core/units.hpp>
#include <assay/measure/axes.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pipeline.hpp>
#include <assay/pool/pool.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>
#include <assay/workload/vector_add.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::literals;
using measure::changed_axes;
using measure::labels_of;
using test::require_each_field_told;
using strings = std::vector<std::string>;

// A policy without fields needs no text beside its name.
template <class... P>
inline constexpr bool all_empty = (std::is_empty_v<P> && ...);
static_assert(
    all_empty<mr::cuda_malloc, mr::pinned, transfer::mapped, transfer::pageable, transfer::pinned,
              no_transfer, no_copy, copy::regular<>, copy::cp_async<>, copy::bulk<>>);

}  // namespace

/// As `assay/measure/instruments.cuh` has it, for nvcc.
template <>
struct assay::default_memory<assay::on::device> {
  using type = assay::mr::async;
};

namespace {

/// Does not tell its field.
struct silent_transfer {
  int untold = 0;
  static constexpr std::string_view name = "silent";
  static constexpr auto wants = transfer::host_memory::page_locked;
  static constexpr bool blocks_host = false;
  static constexpr bool capturable = true;
  std::string describe() const { return "silent"; }
  template <class Memory>
  auto open(on::device place, Memory memory) const {
    return transfer::pinned{}.open(place, std::move(memory));
  }
  bool operator==(silent_transfer const&) const = default;
};

pipeline const tiles{workloads::matmul<float>{}, mr::pool{1_GiB}};
pipeline const streams{workloads::vector_add<float>{}, mr::pool{1_GiB}};

}  // namespace

TEST_CASE("describe() shows each field of a device's memory policy", "[axes]") {
  require_each_field_told<7>(mr::pool{});
  require_each_field_told<7>(mr::pool{10_GiB});
  require_each_field_told<2>(mr::async{});
  require_each_field_told<1>(mr::managed{});
}

TEST_CASE("describe() names the fields of memory policies", "[axes]") {
  CHECK(describe(mr::pool{.initial_bytes = 10_GiB, .mapped = false}) ==
        "mr::pool{10 GiB, mapped=false}");
  CHECK(describe(mr::pool{.max_bytes = 2_GiB, .trust_handles = true, .mapped = false}) ==
        "mr::pool{0 bytes, max_bytes=2 GiB, trust_handles, mapped=false}");
  CHECK(describe(mr::async{.initial_bytes = 1_GiB}) == "mr::async{1 GiB}");
  CHECK(describe(mr::async{.release_threshold_bytes = 0}) ==
        "mr::async{release_threshold_bytes=0 bytes}");
  CHECK(describe(mr::managed{}) == "mr::managed");
  CHECK(describe(mr::managed{1_GiB}) == "mr::managed{1 GiB}");
  CHECK(describe(mr::cuda_malloc{}) == "mr::cuda_malloc");
  CHECK(describe(mr::counted{mr::pool{1_MiB}}) == "mr::counted{mr::pool{1 MiB}}");
}

TEST_CASE("describe() shows each field of a transfer", "[axes]") {
  require_each_field_told<2>(transfer::staged{});
  require_each_field_told<2>(transfer::overlapped{});
  CHECK(describe(transfer::pinned{}) == "transfer::pinned");
  CHECK(describe(transfer::staged{.threads = 6, .buffer_bytes = 8192}) ==
        "transfer::staged{threads=6, buffer_bytes=8192}");
  CHECK(describe(transfer::overlapped{3, 2}) == "transfer::overlapped{chunks=3, streams=2}");
}

TEST_CASE("describe() shows each field of the graph mode", "[axes]") {
  require_each_field_told<3>(submit::graph{});
}

TEST_CASE("a changed axis is found by == even where its text is the same", "[axes]") {
  auto const one = streams.with(silent_transfer{1});
  auto const other =
      streams.with(silent_transfer{2}).with(mr::pool{.initial_bytes = 1_GiB, .mapped = false});
  REQUIRE(describe(one.transfer) == describe(other.transfer));
  CHECK(changed_axes(one, other) == strings{"memory", "transfer"});
  CHECK(labels_of(one, other) == strings{"mr::pool{1 GiB}, silent",
                                         "mr::pool{1 GiB, mapped=false}, "
                                         "silent (2)"});
}

TEST_CASE("labels of transfers and copy strategies have their names", "[axes]") {
  auto const bulk = tiles.with(copy::bulk<>{});
  CHECK(changed_axes(tiles, bulk) == strings{"copy"});
  CHECK(labels_of(tiles, bulk) == strings{"copy::regular<16, 4>", "copy::bulk<4>"});
  auto const crossing = tiles.with(transfer::pinned{});
  CHECK(changed_axes(tiles, crossing) == strings{"transfer"});
  CHECK(labels_of(tiles, crossing) == strings{"resident", "transfer::pinned"});
  CHECK(changed_axes(crossing, bulk) == strings{"transfer", "copy"});
}

TEST_CASE("an axis that follows from another one is no second change", "[axes]") {
  pipeline const host{workloads::matmul<float>{}, on::host{}};
  CHECK(changed_axes(tiles, host) == strings{"place", "memory"});
  CHECK(labels_of(tiles, host) == strings{"on::device, mr::pool", "on::host, mr::heap"});
  // A strategy that only one of the two uses has no text in the other.
  CHECK(changed_axes(tiles.with(copy::bulk<>{}), host) == strings{"place", "memory", "copy"});
  CHECK(labels_of(tiles.with(copy::bulk<>{}), host) ==
        strings{"on::device, mr::pool, copy::bulk<4>", "on::host, mr::heap"});
}

TEST_CASE("variants share buffer sets only in memory of one kind", "[axes]") {
  auto const key = [](auto const& what) { return measure::buffer_set_key_of(what); };
  auto const resident = key(streams);
  auto const mapped = key(streams.with(transfer::mapped{}));
  CHECK(mapped == key(streams.with(transfer::pinned{})));  // both want page-locked memory
  CHECK(mapped == key(streams.with(transfer::mapped{}).with(mr::async{})));
  CHECK_FALSE(mapped == key(streams.with(transfer::pageable{})));
  CHECK_FALSE(mapped == resident);
  CHECK_FALSE(resident == key(streams.with(transfer::pageable{})));
  CHECK(resident == key(streams.with(submit::sequential{.items = 7})));
  CHECK_FALSE(resident == key(streams.with(submit::concurrent{.threads = 2})));
  CHECK_FALSE(resident == key(streams.with(on::device{1})));
  CHECK_FALSE(resident == key(streams.with(workloads::vector_add<float>{.seed = 99})));
}
