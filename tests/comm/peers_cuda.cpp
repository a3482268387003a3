// SPDX-License-Identifier: Apache-2.0
/// @file
/// The conditions on peers that need no device, refusals, and the texts of failures.

#include "catch.hpp"

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
  CHECK_THROWS_WITH(comm::peers::first(9), contains("NCCL"));
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
  CHECK_THAT(text, contains("NCCL"));
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

TEST_CASE("FIFO algorithms are refused where the program has no code for them", "[comm]") {
  using comm::algorithm;
  using comm::detail::require_fifo_code;
  CHECK_NOTHROW(require_fifo_code(algorithm::fifo_one_shot, 2, 80));
  CHECK_THROWS_WITH(require_fifo_code(algorithm::fifo_one_shot, 2, 75),
                    contains("fifo_one_shot needs code for compute capability 8.0") &&
                        contains("built for 7.5: build it for the device"));
  CHECK_NOTHROW(require_fifo_code(algorithm::automatic, 2, 75));
}

TEST_CASE("FIFO algorithms are refused with the ranks that their registers allow", "[comm]") {
  using comm::algorithm;
  using comm::detail::require_fifo_code;
  CHECK_NOTHROW(require_fifo_code(algorithm::fifo_one_shot, 4, 120));
  CHECK_NOTHROW(require_fifo_code(algorithm::fifo_two_shot, 4, 90));
  CHECK_THROWS_WITH(require_fifo_code(algorithm::fifo_two_shot, 8, 90),
                    contains("by fifo_two_shot over 8 ranks") && contains("capability 9.0") &&
                        contains("takes up to 4;"));
  CHECK_THROWS_WITH(require_fifo_code(algorithm::fifo_one_shot, 5, 100), contains("up to 4;"));
  CHECK_THROWS_WITH(require_fifo_code(algorithm::fifo_two_shot, 3, 100), contains("up to 2;"));
  CHECK_NOTHROW(require_fifo_code(algorithm::fifo_two_shot, 2, 100));
  CHECK_NOTHROW(require_fifo_code(algorithm::two_shot, 8, 90));
}

TEST_CASE("a copy strategy that does not fit into shared memory is refused with the limit",
          "[comm]") {
  using comm::detail::require_shared_memory;
  CHECK_NOTHROW(require_shared_memory("copy::cp_async<2>", 131072, 232448));
  CHECK_NOTHROW(require_shared_memory("copy::cp_async<2>", 131072, 131072));
  CHECK_THROWS_WITH(require_shared_memory("copy::cp_async<2>", 131072, 101376),
                    contains("copy::cp_async<2> needs 131072 bytes") &&
                        contains("has 101376: use copy::regular"));
}

TEST_CASE("what ranks were asked for has another signature where any part differs", "[comm]") {
  using comm::detail::signature;
  comm::rank_buffers<float> some;
  auto others = some;
  float value = 0;
  others.out[3] = &value;
  auto const one = signature(nullptr, 4096, comm::reduction::sum, some);
  CHECK(one == signature(nullptr, 4096, comm::reduction::sum, some));
  CHECK(one != signature(&value, 4096, comm::reduction::sum, some));
  CHECK(one != signature(nullptr, 8192, comm::reduction::sum, some));
  CHECK(one != signature(nullptr, 4096, comm::reduction::max, some));
  CHECK(one != signature(nullptr, 4096, comm::reduction::sum, others));
  others = some;
  others.in[3] = &value;
  CHECK(one != signature(nullptr, 4096, comm::reduction::sum, others));
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
  comm::detail::require_capacity(options, 1 << 20);
  CHECK_THROWS_WITH(comm::detail::require_capacity(options, (1 << 20) + 1),
                    contains("raise scratch_bytes (1048576)"));
}

TEST_CASE("ranks without room for both kinds of blocks are told so", "[comm]") {
  comm::detail::require_two_kinds(2, comm::algorithm::fifo_one_shot, 8);
  CHECK_THROWS_WITH(
      comm::detail::require_two_kinds(1, comm::algorithm::fifo_two_shot, 8),
      contains("8 ranks on one device") && contains("two blocks, as fifo_two_shot takes"));
}

TEST_CASE("slices begin on lines", "[comm]") {
  CHECK(comm::line_vecs * comm::vec16_bytes == comm::line_bytes);
}

TEST_CASE("a workspace's parts are apart, and hold what the options promise", "[comm]") {
  for (int const ranks : {1, 2, 4, 8}) {
    for (unsigned const blocks : {1U, 33U, 132U}) {
      std::size_t const scratch = 4 << 20;
      auto const at = comm::make_workspace_layout(ranks, blocks, scratch);
      CHECK(std::size_t{at.slot_vecs} * blocks * comm::vec16_bytes > scratch);
      CHECK(at.states_at >= at.reported_at + comm::line_bytes);
      CHECK(at.flags_at >= at.states_at + blocks * comm::line_bytes);
      CHECK(at.agreement_at >= at.flags_at + std::size_t{blocks} * 8 * comm::line_bytes);
      CHECK(at.fifo_state_at >= at.agreement_at + 2 * 8 * comm::line_bytes);
      CHECK(at.fifo_at == at.bytes);  // no blocks have slots
      auto const fifo = comm::make_workspace_layout(ranks, blocks, scratch, 0, blocks);
      CHECK(fifo.fifo_ticket_at >= fifo.fifo_state_at + sizeof(comm::fifo_state));
      CHECK(fifo.fifo_consumed_at >= fifo.fifo_ticket_at + comm::line_bytes);
      CHECK(fifo.fifo_block_consumed_at >= fifo.fifo_consumed_at + 8 * comm::line_bytes);
      CHECK(fifo.fifo_loaded_at >= fifo.fifo_block_consumed_at + blocks * sizeof(unsigned));
      CHECK(fifo.lamport_at >= fifo.fifo_loaded_at + fifo.fifo_slots * comm::sector_bytes);
      // `reset` writes the sentinel from `lamport_at` on, where data are their own flags.
      CHECK(fifo.fifo_at >= fifo.lamport_at);
      CHECK(fifo.bytes >= fifo.fifo_at + std::size_t{fifo.sources} * fifo.fifo_slots *
                                             comm::fifo_tile_vecs * comm::vec16_bytes);
      CHECK(at.bytes >= at.lamport_at + std::size_t{3} * at.sources * blocks * at.slot_vecs *
                                            comm::vec16_bytes);
      CHECK(at.bytes % comm::line_bytes == 0);
      // A message that begins and ends within vec16s has one more.
      CHECK(comm::capacity_bytes(comm::algorithm::lamport_push, scratch) / comm::vec16_bytes + 1 <=
            std::size_t{at.slot_vecs} * blocks);
    }
  }
}

TEST_CASE("an engine's workspace grows less than the number of ranks", "[comm]") {
  constexpr unsigned sms = 132;  // of an H200
  auto const mib = [](int ranks) {
    comm::all_reduce_options options;
    options.scratch_bytes = comm::default_scratch_bytes(ranks);
    bool const fifo = comm::uses_fifo(options.how, ranks, 90);
    return static_cast<double>(comm::engine_layout(options, ranks, sms, fifo).bytes) / (1 << 20);
  };
  INFO(mib(2) << ", " << mib(4) << " and " << mib(8) << " MiB");
  CHECK(mib(2) < 60);
  CHECK(mib(4) < 90);
  CHECK(mib(8) < 90);
}

TEST_CASE("scratch that was not asked for holds the table's pushes", "[comm]") {
  for (int ranks = 2; ranks <= comm::max_ranks; ++ranks) {
    for (unsigned const resident : {1U, 20U, 132U}) {
      comm::all_reduce_options options;
      options.scratch_bytes = comm::default_scratch_bytes(ranks);
      auto const at = comm::engine_layout(options, ranks, resident, false);
      INFO(ranks << " ranks, " << resident << " resident blocks");
      CHECK(at.blocks >= resident);
      for (std::size_t const first : {16U, 24U}) {  // multiples of 2^n and 3 * 2^n, as in the table
        for (std::size_t bytes = first; bytes < (std::size_t{1} << 30U); bytes *= 2) {
          auto const how = comm::choose({bytes, ranks, false}, options.scratch_bytes);
          if (how != comm::algorithm::lamport_push) { continue; }
          CHECK(bytes / comm::vec16_bytes + 1 <= std::size_t{at.slot_vecs} * resident);
        }
      }
    }
  }
}
