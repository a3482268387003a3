// SPDX-License-Identifier: Apache-2.0
/// @file
/// Peers on the GPUs that there are, and what an engine over them chooses.

#include "comm/world.cuh"

using namespace assay;
using comm::algorithm;

TEST_CASE("all GPUs are peers, or the pair that is not is named", "[comm]") {
  int const count = std::min(device_count(), comm::max_ranks);
  try {
    auto const all = comm::peers::first(count);
    CHECK(all.ranks() == count);
    CHECK(all.most_on_one() == 1);
    CHECK(all.device(count - 1) == on::device{count - 1});
    comm::probe_peers(all);
  } catch (comm::peer_error const& none) {
    CHECK_THAT(std::string{none.what()}, test::contains("does not reach the memory of"));
    CHECK(none.from() != none.to());
  }
}

TEST_CASE("a device that is not there is named before anything is enabled", "[comm]") {
  int const missing = device_count();
  if (missing >= comm::max_ranks) { return; }
  CHECK_THAT(test::message_of([&] { (void)comm::peers::first(missing + 1); }),
             test::contains("device " + std::to_string(missing) + " does not exist"));
}

TEST_CASE("ranks may share a device", "[comm]") {
  auto const all = comm::peers::on_one(on::device{0}, 3);
  CHECK(all.ranks() == 3);
  CHECK(all.most_on_one() == 3);
  CHECK(all.distinct().size() == 1);
  CHECK(describe(all) == "comm::peers{0, 0, 0}");
  comm::probe_peers(all);
  CHECK_THROWS_WITH(all.device(3), test::contains("rank 3 of comm::peers{0, 0, 0}"));
}

TEST_CASE("an engine says what it is and what it takes", "[comm]") {
  comm::all_reduce_options options;
  options.how = algorithm::pull;
  options.scratch_bytes = 65536;
  comm::all_reduce const pulls{comm::peers::on_one(on::device{0}, 2), options};
  CHECK(pulls.describe() ==
        "comm::all_reduce{pull} with copy::regular<16, 4> over comm::peers{0, 0}");
  std::vector<float> some(4);
  comm::rank_buffers<float> apart;
  apart.in = {some.data(), some.data() + 1};
  apart.out = {some.data() + 2, some.data() + 3};
  auto in_place = apart;
  in_place.in[1] = in_place.out[1];
  CHECK(pulls.chosen(apart, 1000) == algorithm::pull);
  CHECK(pulls.chosen(in_place, 1000) == algorithm::two_shot);

  options.how = algorithm::automatic;
  comm::all_reduce const chooses{comm::peers::on_one(on::device{0}, 2), options};
  CHECK(chooses.chosen(apart, 1000) == algorithm::lamport_push);
  CHECK(chooses.chosen(apart, 1'000'000'000) == algorithm::fifo_one_shot);
  comm::all_reduce const of_four{comm::peers::on_one(on::device{0}, 4), options};
  apart.in[2] = apart.in[3] = some.data();
  apart.out[2] = apart.out[3] = some.data() + 3;
  bool const fifo =
      comm::has_fifo_code(true, 4, comm::code_of(comm::peers::on_one(on::device{0}, 4)));
  CHECK(of_four.chosen(apart, 1'000'000'000) ==
        (fifo ? algorithm::fifo_two_shot : algorithm::two_shot));

  options.how = algorithm::lamport_push;
  comm::all_reduce const pushes{comm::peers::on_one(on::device{0}, 2), options};
  CHECK(pushes.chosen(apart, 65536 / 4) == algorithm::lamport_push);
  CHECK_THROWS_WITH(pushes.chosen(apart, 65536 / 4 + 1), test::contains("raise scratch_bytes"));
}
