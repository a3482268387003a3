// SPDX-License-Identifier: Apache-2.0
/// @file
/// What devices may be peers, as far as that can be told without one; and how failures read.

#include "catch.hpp"

#include <assay/comm/all_reduce_buffers.hpp>
#include <assay/comm/all_reduce_checks.hpp>
#include <assay/comm/peers.hpp>
#include <assay/comm/workspace.hpp>

#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;

TEST_CASE("the number of ranks is refused with what is allowed", "[comm]") {
  CHECK_THROWS_WITH(comm::peers{std::vector<on::device>{}},
                    contains("comm::peers of 0 ranks: there are 1 to 8"));
  CHECK_THROWS_WITH(comm::peers::first(9), contains("comm::peers of 9 ranks"));
  CHECK_THROWS_WITH(comm::peers::first(9), contains("comm::nccl"));
  CHECK_THROWS_WITH(comm::peers::on_one(on::device{0}, -1), contains("of 0 ranks"));
}

TEST_CASE("a device that is named twice is refused with its ranks", "[comm]") {
  std::vector<on::device> const twice{{0}, {1}, {0}};
  CHECK_THROWS_WITH(comm::peers{twice}, contains("names device 0 for ranks 0 and 2"));
  CHECK_THROWS_WITH(comm::peers{twice}, contains("peers::sharing::allowed"));
  comm::peers::require_ranks(twice, comm::peers::sharing::allowed);
}

TEST_CASE("a device that is not there is refused by its number", "[comm]") {
  CHECK_THROWS_WITH(comm::peers{std::vector<on::device>{{99}}},
                    contains("device 99 does not exist"));
}

TEST_CASE("a pair without peer access is named, with what to do", "[comm]") {
  std::string const text = comm::peer_error{{1}, {3}, "no access"}.what();
  CHECK_THAT(text, contains("device 1 does not reach the memory of device 3: no access"));
  CHECK_THAT(text, contains("comm::nccl"));
}

TEST_CASE("a failure names its rank, peer, block and epoch", "[comm]") {
  using comm::failure_kind;
  auto const text = [](failure_kind kind) {
    return std::string{comm::all_reduce_error{2, {static_cast<int>(kind), 1, 7, 42}, 0.5}.what()};
  };
  CHECK_THAT(text(failure_kind::timed_out), contains("rank 2 waited 0.5"));
  CHECK_THAT(text(failure_kind::timed_out), contains("for rank 1"));
  CHECK_THAT(text(failure_kind::timed_out), contains("(block 7, epoch 42)"));
  CHECK_THAT(text(failure_kind::corrupted), contains("rank 1 cannot have written"));
  CHECK_THAT(text(failure_kind::disagreement), contains("asked for different operations"));
}

TEST_CASE("a rank that waited for its own blocks is not told of a peer", "[comm]") {
  using comm::failure_kind;
  auto const text = [](failure_kind kind) {
    return std::string{comm::all_reduce_error{2, {static_cast<int>(kind), 2, 7, 42}, 0.5}.what()};
  };
  CHECK_THAT(text(failure_kind::timed_out),
             contains("rank 2 waited at least 0.5") && contains("for its own blocks: some could"));
  CHECK_THAT(text(failure_kind::corrupted),
             contains("rank 2 found a flag of its own blocks that they cannot have written"));
}

TEST_CASE("rings are refused where the program has no code for them", "[comm]") {
  comm::all_reduce_options options;
  options.how = comm::algorithm::ring_push;
  CHECK_NOTHROW(comm::detail::require_options(options, 80));
  CHECK_THROWS_WITH(comm::detail::require_options(options, 75),
                    contains("ring_push needs code for compute capability 8.0") &&
                        contains("built for 7.5: build it for the device"));
  options.how = comm::algorithm::automatic;
  CHECK_NOTHROW(comm::detail::require_options(options, 75));
}

TEST_CASE("what ranks were asked for has another signature where any part differs", "[comm]") {
  using comm::detail::signature;
  std::array<float*, comm::max_ranks> some{};
  auto others = some;
  float value = 0;
  others[3] = &value;
  void (*const kernel)(int) = nullptr;
  auto const one = signature(kernel, 2UL, 4096UL, 1e-5F, comm::reduction::sum, some);
  CHECK(one == signature(kernel, 2UL, 4096UL, 1e-5F, comm::reduction::sum, some));
  CHECK(one != signature(kernel, 1UL, 8192UL, 1e-5F, comm::reduction::sum, some));
  CHECK(one != signature(kernel, 2UL, 4096UL, 1e-6F, comm::reduction::sum, some));
  CHECK(one != signature(kernel, 2UL, 4096UL, 1e-5F, comm::reduction::max, some));
  CHECK(one != signature(kernel, 2UL, 4096UL, 1e-5F, comm::reduction::sum, others));
}

TEST_CASE("a buffer is refused by its rank and role", "[comm]") {
  alignas(16) float some[8] = {};
  auto const refuse = [&](void const* data) {
    comm::buffer_span const what{3, "output", data, 16, 4};
    return test::message_of([&] { comm::detail::require_address(what); });
  };
  CHECK_THAT(refuse(nullptr), contains("the output of rank 3 (16 bytes) is a null pointer"));
  CHECK_THAT(refuse(reinterpret_cast<char*>(some) + 2), contains("is not aligned"));
  CHECK_THAT(refuse(some), contains("nothing was thrown"));
}

TEST_CASE("an operation too large for its scratch is refused with what would do", "[comm]") {
  comm::all_reduce_options options;
  options.how = comm::algorithm::lamport_push;
  options.scratch_bytes = 1 << 20;
  comm::detail::require_capacity(options, 1 << 20, 2);
  CHECK_THROWS_WITH(comm::detail::require_capacity(options, (1 << 20) + 1, 2),
                    contains("raise scratch_bytes (1048576)"));
}

TEST_CASE("ranks without room for both kinds of blocks are told so", "[comm]") {
  comm::detail::require_two_kinds(2, comm::algorithm::ring_push, 8);
  CHECK_THROWS_WITH(
      comm::detail::require_two_kinds(1, comm::algorithm::ring_two_shot, 8),
      contains("8 ranks on one device") && contains("two blocks, as ring_two_shot takes"));
}

TEST_CASE("slices begin on lines", "[comm]") {
  CHECK(comm::line_packs * comm::pack_bytes == comm::line_bytes);
}

TEST_CASE("a workspace's parts are apart, and hold what the options promise", "[comm]") {
  for (int const ranks : {1, 2, 4, 8}) {
    for (unsigned const blocks : {1U, 33U, 132U}) {
      std::size_t const scratch = 4 << 20;
      auto const at = comm::make_workspace_layout(ranks, blocks, scratch);
      CHECK(std::size_t{at.slot_packs} * blocks * comm::pack_bytes > scratch);
      CHECK(at.slot_packs % 2 == 0);
      CHECK(at.states_at >= at.failed_at + comm::line_bytes);
      CHECK(at.flags_at >= at.states_at + blocks * comm::line_bytes);
      CHECK(at.agreement_at >= at.flags_at + std::size_t{blocks} * 8 * comm::line_bytes);
      CHECK(at.ring_state_at >= at.agreement_at + 2 * 8 * comm::line_bytes);
      CHECK(at.ring_at == at.bytes);  // no blocks have slots
      auto const ring = comm::make_workspace_layout(ranks, blocks, scratch, 0, blocks);
      CHECK(ring.ring_ticket_at >= ring.ring_state_at + sizeof(comm::ring_state));
      CHECK(ring.ring_told_at >= ring.ring_ticket_at + comm::line_bytes);
      CHECK(ring.ring_cleared_at >= ring.ring_told_at + 8 * comm::line_bytes);
      CHECK(ring.ring_loaded_at >= ring.ring_cleared_at + blocks * sizeof(unsigned));
      CHECK(ring.ll_at >= ring.ring_loaded_at + ring.ring_slots * comm::sector_bytes);
      // What is told by data begins with the pattern, which `reset` leaves from here on.
      CHECK(ring.ring_at >= ring.lamport_at);
      CHECK(ring.bytes >= ring.ring_at + std::size_t{ring.sources} * ring.ring_slots *
                                             comm::ring_tile_packs * comm::pack_bytes);
      CHECK(at.lamport_at >=
            at.ll_at + std::size_t{2} * at.sources * blocks * at.ll_slot_packs * 32);
      CHECK(at.bytes >= at.lamport_at + std::size_t{3} * at.sources * blocks * at.slot_packs *
                                            comm::pack_bytes);
      CHECK(at.bytes % comm::line_bytes == 0);
      // Of a message that begins and ends within packs.
      auto const packs = [&](comm::algorithm how) {
        return comm::capacity_bytes(how, scratch, ranks) / comm::pack_bytes + 1;
      };
      CHECK(packs(comm::algorithm::lamport_push) <= std::size_t{at.slot_packs} * blocks);
      CHECK(packs(comm::algorithm::ll_push) <= std::size_t{at.ll_slot_packs} * blocks);
      CHECK(comm::share_of(packs(comm::algorithm::lamport_two_shot),
                           static_cast<std::uint64_t>(ranks)) <=
            std::size_t{at.slot_packs} / 2 * blocks);
    }
  }
}
