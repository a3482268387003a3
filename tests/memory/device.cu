// assay-test-timeout: 900
// SPDX-License-Identifier: Apache-2.0
// Device resources on a GPU: the contract of all, and what each adds to it.
#include "catch.hpp"
#include "memory/contract.hpp"
#include "memory/limited.hpp"
#include "memory/poisoned_cuda.hpp"
#include "pool/tags.cuh"

#include <assay/core/units.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/checked.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pool/pool_definitions.hpp>

#include <cstring>
#include <vector>

using namespace assay;
using namespace assay::literals;
using test::expect, test::readable, test::write, test::wrong_count;

namespace {

constexpr on::device place{0};

/// A pool over managed memory as a policy.
struct over_managed {
  static constexpr std::string_view name = "over_managed";
  auto open(on::device on) const { return mr::pool{}.open(on, mr::managed{}.open(on)); }
  bool operator==(over_managed const&) const = default;
};

bool contains(std::string const& text, std::string const& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every device resource keeps the contract") {
  stream const lane{place};
  ::cuda::stream_ref const where = lane;
  auto const touch = [&](void* block, std::size_t bytes) {
    check(cudaMemsetAsync(block, 0x5A, bytes, where.get()));
  };
  test::check_contract(mr::cuda_malloc{}, place, where, touch);
  test::check_contract(mr::async{}, place, where, touch);
  test::check_contract(mr::async{.initial_bytes = 64_MiB}, place, where, touch);
  test::check_contract(mr::pool{}, place, where, touch);
  test::check_contract(mr::pool{64_MiB}, place, where, touch);
  test::check_contract(mr::checked{mr::pool{64_MiB}}, place, where, touch);
  test::check_contract(mr::checked{mr::async{}}, place, where, touch);
  test::check_contract(mr::pool{.mapped = false}, place, where, touch);
  test::check_contract(mr::pool{.peer_access = true}, place, where, touch);
  test::check_contract(mr::managed{}, place, where, touch);
  test::check_contract(over_managed{}, place, where, touch);
  test::check_contract(mr::pinned{}, place, where,
                       [](void* block, std::size_t bytes) { std::memset(block, 0x5A, bytes); });
  test::check_contract(mr::counted{mr::pool{}}, place, where, touch);
  test::check_contract(test::limited{mr::async{}, 1_GiB}, place, where, touch);
  test::check_contract(test::poisoned{mr::pool{}}, place, where, touch);
  check(cudaDeviceSynchronize());
}

TEST_CASE("what the card cannot hold is refused with both sizes") {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free_bytes, &total));
  auto const more = total + 1_GiB;
  CHECK_THROWS_AS(mr::pool{more}.open(place), std::invalid_argument);
  CHECK(test::message_of([&] { mr::pool{more}.open(place); }) ==
        "mr::pool: initial_bytes " + mr::describe_bytes(more) +
            " is more than device 0 has: " + mr::describe_bytes(total));
  CHECK(contains(test::message_of([&] { mr::managed{more}.open(place); }),
                 "mr::managed: max_bytes " + mr::describe_bytes(more) + " is more than the "));
  CHECK(contains(test::message_of([] { mr::pool{}.open(on::device{99}); }),
                 "device 99 does not exist"));
  auto plain = mr::cuda_malloc{}.open(place);
  CHECK(contains(test::message_of([&] { plain.allocate_sync(more); }),
                 "mr::cuda_malloc: no room for " + mr::describe_bytes(more) + ": "));
}

TEST_CASE("poisoned device memory reads as NaN") {
  stream const lane{place};
  auto pool = test::poisoned{readable({})}.open(place);
  auto const numbers = make_buffer<double>(1000, ::cuda::stream_ref{lane}, pool);
  std::vector<double> seen(1000);
  check(
      cudaMemcpyAsync(seen.data(), numbers.data(), numbers.bytes(), cudaMemcpyDefault, lane.get()));
  lane.synchronize();
  for (double const each : seen) { CHECK(each != each); }
}

TEST_CASE("the driver's pool can be captured too") {
  stream const lane{place};
  auto memory = mr::async{}.open(place);
  wrong_count const wrong;
  auto hold = memory.capture(lane);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(lane.get(), cudaStreamCaptureModeGlobal));
  void* const block = memory.allocate(lane, 2_MiB);
  write(lane, block, 2_MiB, 5);
  expect(lane, block, 2_MiB, 5, wrong);
  memory.deallocate(lane, block, 2_MiB);
  check(cudaStreamEndCapture(lane.get(), &graph));
  hold.end();
  cudaGraphExec_t ready = nullptr;
  check(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 10; ++i) { check(cudaGraphLaunch(ready, lane.get())); }
  CHECK(wrong.value() == 0);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
}
