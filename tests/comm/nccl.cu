// SPDX-License-Identifier: Apache-2.0
// assay-uses: nccl
// On one GPU a communicator of one rank, else one of up to four.
#include "catch.hpp"
#include "ranks/rank_arrays.cuh"
#include "ranks/rank_threads.cuh"
#include "support/nccl/nccl_ranks.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

std::vector<on::device> all_places() {
  std::vector<on::device> places;
  for (int id = 0; id < std::min(device_count(), 4); ++id) { places.push_back({id}); }
  return places;
}

/// Reduces once eagerly and, of the same operation, by a graph; how many elements came out wrong.
template <class T>
std::uint64_t reduce(examples::nccl_ranks& engine, examples::rank_threads& team,
                     examples::rank_arrays<T>& arrays, std::size_t count, comm::reduction what,
                     bool in_place) {
  auto const buffers = in_place ? arrays.in_place() : arrays.out_of_place();
  auto const prepare = [&] { in_place ? arrays.fill_outputs() : arrays.poison(); };
  auto const once = [&](int rank, ::cuda::stream_ref on) {
    engine.enqueue<T>(rank, on, buffers, count, what);
  };
  prepare();
  team.run(once);
  team.run([&](int rank, ::cuda::stream_ref on) { engine.synchronize(rank, on); });
  auto wrong = arrays.wrong(count, what);
  auto const graphs = team.record(1, [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
  prepare();
  team.run([&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); });
  team.synchronize();
  return wrong + arrays.wrong(count, what);
}

template <class T>
void check_all(examples::nccl_ranks& engine, examples::rank_threads& team, std::uint64_t seed) {
  std::size_t const most = test::small() ? 4099 : 1'000'003;
  examples::rank_arrays<T> arrays{team, most, seed};
  for (auto const what : {comm::reduction::sum, comm::reduction::max, comm::reduction::average}) {
    for (std::size_t const count : {std::size_t{1}, std::size_t{31}, std::size_t{4099}, most}) {
      for (bool const in_place : {false, true}) {
        INFO(comm::to_string(what)
             << " of " << count << ", in place " << in_place << ", seed " << seed);
        CHECK(reduce(engine, team, arrays, count, what, in_place) == 0);
      }
    }
  }
}

}  // namespace

TEST_CASE("NCCL reduces every type, operation, count and placement", "[comm]") {
  auto const seed = test::fresh_seed();
  examples::nccl_ranks engine{all_places()};
  examples::rank_threads team{all_places()};
  CHECK(engine.ranks() == team.ranks());
  CHECK(engine.device(engine.ranks() - 1) == all_places().back());
  check_all<float>(engine, team, seed);
  check_all<__half>(engine, team, seed);
  check_all<__nv_bfloat16>(engine, team, seed);
}

TEST_CASE("NCCL reduces in symmetric windows", "[comm]") {
  auto const seed = test::fresh_seed();
  auto const engine = std::make_shared<examples::nccl_ranks>(all_places());
  examples::rank_threads team{all_places()};
  constexpr std::size_t count = 100'003;
  for (int round = 0; round < 2; ++round) {  // windows come and go with the memory
    auto memory = std::make_shared<examples::nccl_windows>(
        engine, examples::rank_arrays<float>::bytes(count));
    examples::rank_arrays<float> arrays{team, count, seed, engine->ranks(), memory};
    CHECK(reduce(*engine, team, arrays, count, comm::reduction::sum, false) == 0);
    CHECK(reduce(*engine, team, arrays, std::size_t{17}, comm::reduction::sum, true) == 0);
  }
}

TEST_CASE("NCCL runs without multicast, and says so where it is asked for", "[comm]") {
  constexpr char const* name = examples::without_multicast::name;
  REQUIRE(unsetenv(name) == 0);
  { examples::nccl_ranks const engine{{on::device{0}}}; }
  CHECK(std::getenv(name) == nullptr);  // set while it is made, not longer
  REQUIRE(setenv(name, "1", 1) == 0);
  CHECK_THAT(message_of([] { examples::nccl_ranks{{on::device{0}}}; }),
             contains("NCCL_NVLS_ENABLE=1") && contains("unset it or set 0"));
  REQUIRE(unsetenv(name) == 0);
}

TEST_CASE("two ranks with one GPU are named", "[comm]") {
  CHECK_THAT(message_of([] { examples::nccl_ranks{{on::device{0}, on::device{0}}}; }),
             contains("ranks 0 and 1 have one GPU, ") && contains("NCCL needs one for each rank"));
}

TEST_CASE("an error of NCCL names the call, the text and what to do", "[comm]") {
  CHECK_THAT(message_of([] { comm::check_nccl(ncclInvalidUsage, "ncclAllReduce"); }),
             contains("ncclAllReduce: ") && contains("NCCL_DEBUG=INFO"));
}
