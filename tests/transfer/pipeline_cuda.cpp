// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it specialises a template of the library
/// @file
/// On a device a transfer shows among a pipeline's axes, and which transfers a graph can record is
/// known when it is compiled.

#include "catch.hpp"

#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <string>
#include <utility>

/// As `measure/instruments.cuh` has it, which needs nvcc.
template <>
struct assay::default_memory<assay::on::device> {
  using type = assay::mr::async;
};

namespace {

using namespace assay;

/// A workload by name only: pipelines do not run it.
struct nothing {
  static constexpr std::string_view name = "nothing";
  bool operator==(nothing const&) const = default;
};

using memory = resource_of<mr::async, on::device>;
template <class Transfer>
inline constexpr bool recordable =
    submits_to<submit::graph,
               lane<on::device, ::cuda::stream_ref, memory,
                    decltype(Transfer{}.open(on::device{}, std::declval<memory>()))>>;

}  // namespace

TEST_CASE("a transfer is listed where it counts", "[pipeline]") {
  pipeline const resident{nothing{}, on::device{0}, submit::concurrent{}};
  CHECK(resident.axes().size() == 4);
  STATIC_REQUIRE_FALSE(decltype(resident)::crosses_link);

  auto const crossing = resident.with(transfer::overlapped{.chunks = 8});
  STATIC_REQUIRE(std::remove_const_t<decltype(crossing)>::crosses_link);
  REQUIRE(crossing.axes().size() == 5);
  CHECK(crossing.axes()[4] ==
        std::pair<std::string, std::string>{"transfer", "transfer::overlapped{chunks=8}"});
  CHECK(crossing.with(mr::async{}) == crossing);
  CHECK(crossing.with(no_transfer{}) == resident);

  pipeline const other{nothing{}, transfer::overlapped{.chunks = 8}, submit::concurrent{},
                       on::device{0}};
  CHECK(other == crossing);
}

TEST_CASE("a graph records what does not block the host", "[pipeline]") {
  STATIC_REQUIRE(recordable<transfer::pinned>);
  STATIC_REQUIRE(recordable<transfer::mapped>);
  STATIC_REQUIRE(recordable<transfer::overlapped>);
  STATIC_REQUIRE_FALSE(recordable<transfer::pageable>);
  STATIC_REQUIRE_FALSE(recordable<transfer::staged>);
}
