// SPDX-License-Identifier: Apache-2.0
// assay-uses: nccl
// On one GPU a communicator of one rank, else one of up to four; two processes where there are two.
#include "catch.hpp"

#include <assay/comm/nccl.hpp>
#include <assay/comm/rank_arrays.cuh>
#include <assay/comm/rank_threads.cuh>
#include <assay/kernel/stream_latch.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
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
std::uint64_t reduce(comm::nccl& engine, comm::rank_threads& team, comm::rank_arrays<T>& arrays,
                     std::size_t count, comm::reduction what, bool in_place) {
  auto const first = engine.first_local_rank();
  auto const buffers = in_place ? arrays.in_place() : arrays.out_of_place();
  auto const prepare = [&] { in_place ? arrays.fill_outputs() : arrays.poison(); };
  auto const once = [&](int rank, ::cuda::stream_ref on) {
    engine.enqueue<T>(first + rank, on, buffers, count, what);
  };
  prepare();
  team.run(once);
  team.run([&](int rank, ::cuda::stream_ref on) { engine.synchronize(first + rank, on); });
  auto wrong = arrays.wrong(count, what);
  auto const graphs = team.record(1, [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
  prepare();
  team.run([&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); });
  team.synchronize();
  return wrong + arrays.wrong(count, what);
}

template <class T>
void check_all(comm::nccl& engine, comm::rank_threads& team, std::uint64_t seed) {
  std::size_t const most = test::small() ? 4099 : 1'000'003;
  comm::rank_arrays<T> arrays{team, most, seed};
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

/// This program again, as one rank of several, running a hidden test.
pid_t start_rank(int rank, int ranks, int port, char const* test) {
  std::string const text = std::to_string(port);
  pid_t const child = fork();
  if (child != 0) { return child; }
  // Nothing of CUDA is touched between fork and exec.
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", text.c_str(), 1);
  execl("/proc/self/exe", "nccl", test, static_cast<char*>(nullptr));
  _exit(126);
}

/// The exit status, or -1 when it took too long and was ended.
int wait_for(pid_t child, std::chrono::seconds most) {
  auto const deadline = std::chrono::steady_clock::now() + most;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      (void)waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

/// Runs a hidden test in so many processes, and returns how each ended.
std::vector<int> statuses_of(int ranks, char const* test) {
  static int jobs = 0;
  // A port of this run's own, below those that the system hands out.
  int const port = 21000 + static_cast<int>(getpid() % 2500) * 4 + 2 * jobs++;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(start_rank(rank, ranks, port, test));
    REQUIRE(children.back() > 0);
  }
  std::vector<int> all;
  for (auto const child : children) { all.push_back(wait_for(child, std::chrono::seconds{180})); }
  return all;
}

}  // namespace

TEST_CASE("NCCL reduces every type, operation, count and placement", "[comm]") {
  auto const seed = test::fresh_seed();
  comm::nccl engine{all_places()};
  comm::rank_threads team{all_places()};
  CHECK(engine.ranks() == team.ranks());
  CHECK(engine.local_ranks() == team.ranks());
  CHECK(engine.device(engine.ranks() - 1) == all_places().back());
  CHECK_THAT(engine.describe(), contains("comm::nccl{"));
  check_all<float>(engine, team, seed);
  check_all<__half>(engine, team, seed);
  check_all<__nv_bfloat16>(engine, team, seed);
}

TEST_CASE("NCCL reduces in symmetric windows", "[comm]") {
  auto const seed = test::fresh_seed();
  comm::nccl_options how;
  how.symmetric = true;
  comm::nccl engine{all_places(), how};
  CHECK_THAT(engine.describe(), contains("symmetric windows"));
  comm::rank_threads team{all_places()};
  constexpr std::size_t count = 100'003;
  for (int round = 0; round < 2; ++round) {  // windows come and go with the memory
    auto memory = std::make_shared<comm::nccl_memory>(
        engine.allocate(comm::rank_arrays<float>::bytes(count)));
    comm::rank_arrays<float> arrays{team, count, seed, engine.ranks(), 0, memory};
    CHECK(reduce(engine, team, arrays, count, comm::reduction::sum, false) == 0);
    CHECK(reduce(engine, team, arrays, std::size_t{17}, comm::reduction::sum, true) == 0);
  }
}

TEST_CASE("NCCL without blocking calls gives the same", "[comm]") {
  comm::nccl_options how;
  how.blocking = false;
  comm::nccl engine{all_places(), how};
  comm::rank_threads team{all_places()};
  comm::rank_arrays<float> arrays{team, 4099, 5};
  CHECK(reduce(engine, team, arrays, 4099, comm::reduction::sum, false) == 0);
}

TEST_CASE("NCCL runs without multicast, and says so where it is asked for", "[comm]") {
  REQUIRE(unsetenv("NCCL_NVLS_ENABLE") == 0);
  { comm::nccl const engine{{on::device{0}}}; }
  CHECK_FALSE(comm::environment_variable("NCCL_NVLS_ENABLE"));  // set while it is made, not longer
  REQUIRE(setenv("NCCL_NVLS_ENABLE", "1", 1) == 0);
  CHECK_THAT(message_of([] { comm::nccl{{on::device{0}}}; }),
             contains("NCCL_NVLS_ENABLE=1") && contains("unset it or set 0"));
  REQUIRE(unsetenv("NCCL_NVLS_ENABLE") == 0);
}

TEST_CASE("NCCL refuses devices that cannot be its ranks", "[comm]") {
  CHECK_THAT(message_of([] { comm::nccl{std::vector<on::device>{}}; }), contains("0 devices"));
  CHECK_THAT(message_of([] { comm::nccl{{on::device{0}, on::device{0}}}; }), contains("twice"));
  comm::nccl_options never;
  never.timeout_seconds = 0;
  CHECK_THAT(message_of([&] { comm::nccl{{on::device{0}}, never}; }), contains("must be positive"));
  CHECK_THAT(message_of([] { comm::nccl{{on::device{device_count()}}}; }),
             contains("does not exist"));
  comm::process_rank me;
  me.local_rank = device_count() + 1;
  me.meeting = "127.0.0.1:1";
  if (device_count() > 1) {
    CHECK_THAT(message_of([&] { comm::nccl{me}; }), contains("start one process for each GPU"));
  }
  comm::nccl engine{{on::device{0}}};
  stream const on{on::device{0}};
  CHECK_THAT(message_of([&] { engine.enqueue(1, on, comm::rank_buffers<float>{}, 1); }),
             contains("rank 1 is not of this process"));
  CHECK_THROWS_AS(engine.enqueue(-1, on, comm::rank_buffers<float>{}, 1), std::invalid_argument);
  CHECK_THROWS_AS(engine.device(1), std::invalid_argument);
}

TEST_CASE("an error of NCCL names the call, the rank, the text and what to do", "[comm]") {
  comm::nccl_error const error{ncclRemoteError, "ncclAllReduce", "on rank 1 of 2", "socket closed"};
  CHECK(error.code() == ncclRemoteError);
  CHECK_THAT(std::string{error.what()}, contains("ncclAllReduce on rank 1 of 2: ") &&
                                            contains(ncclGetErrorString(ncclRemoteError)) &&
                                            contains("(socket closed)") &&
                                            contains("NCCL_DEBUG=INFO"));
}

TEST_CASE("an all-reduce that does not end in time ends the communicator with an error", "[comm]") {
  if (test::small() && device_count() == 1) { return; }  // a sanitizer's copies wait at the latch
  comm::nccl_options how;
  how.timeout_seconds = 0.3;
  comm::nccl engine{all_places(), how};
  comm::rank_threads team{all_places()};
  comm::rank_arrays<float> arrays{team, 1000, 5};
  kernel::stream_latch<> latch{3};
  auto const buffers = arrays.out_of_place();
  // Once before: what the first operation loads must not have to wait for the latch.
  team.run([&](int rank, ::cuda::stream_ref on) {
    engine.enqueue<float>(rank, on, buffers, 1000);
    engine.synchronize(rank, on);
  });
  std::string said;
  device_guard const guard{on::device{0}};
  // With peers, rank 0 waits for the others, which never call; alone it waits behind the latch.
  if (engine.ranks() == 1) { latch.hold(team.on(0)); }
  engine.enqueue<float>(0, team.on(0), buffers, 1000);
  said = message_of([&] { engine.synchronize(0, team.on(0)); });
  latch.open();
  CHECK_THAT(said, contains("all-reduce was not done in time on rank 0 of") &&
                       contains("the communicator is lost"));
  CHECK_THROWS_AS(engine.enqueue<float>(0, team.on(0), buffers, 1000), std::logic_error);
  check(cudaDeviceSynchronize());
  comm::nccl fresh{all_places()};
  CHECK(reduce(fresh, team, arrays, 1000, comm::reduction::sum, false) == 0);
}

TEST_CASE("a communicator ends while something else is thrown", "[comm]") {
  CHECK(message_of([] {
          comm::nccl const engine{all_places()};
          throw std::runtime_error("elsewhere");
        }) == "elsewhere");
  comm::nccl fresh{all_places()};
  comm::rank_threads team{all_places()};
  comm::rank_arrays<float> arrays{team, 1000, 5};
  CHECK(reduce(fresh, team, arrays, 1000, comm::reduction::sum, false) == 0);
}

TEST_CASE("processes that a launcher started reduce together", "[comm]") {
  if (test::small()) { return; }  // a sanitizer would watch this process alone, and slow it down
  for (int const status : statuses_of(std::min(device_count(), 2), "[one_of_several]")) {
    CHECK(status == 0);
  }
}

TEST_CASE("a rank that fails alone does not keep the others waiting", "[comm]") {
  if (test::small() || device_count() < 2) { return; }
  for (int const status : statuses_of(2, "[one_fails]")) { CHECK(status == 0); }
}

TEST_CASE("as one of two of which one fails", "[.][one_fails]") {
  auto const me = comm::process_rank_of_environment();
  REQUIRE(me);
  comm::nccl_options how;
  how.timeout_seconds = 5;
  auto const said = message_of([&] {
    comm::nccl engine{*me, how};
    comm::rank_threads team{{engine.device(me->rank)}};
    auto memory = std::make_shared<comm::rank_memory>(
        team.places(), comm::rank_arrays<float>::bytes(1000), me->rank);
    comm::rank_arrays<float> arrays{team, 1000, 1, me->ranks, me->rank, memory};
    if (me->rank == 1) { throw std::runtime_error("rank 1 has something else to tell"); }
    engine.enqueue<float>(0, team.on(0), arrays.out_of_place(), 1000);
    engine.synchronize(0, team.on(0));
  });
  CHECK_THAT(said, contains(me->rank == 1 ? "something else" : "on rank 0 of 2"));
}

TEST_CASE("as one of several", "[.][one_of_several]") {
  auto const me = comm::process_rank_of_environment();
  REQUIRE(me);
  CHECK(me->launcher == "torchrun");
  for (bool const symmetric : {false, true}) {
    comm::nccl_options how;
    how.symmetric = symmetric;
    comm::nccl engine{*me, how};
    CHECK(engine.ranks() == me->ranks);
    CHECK(engine.local_ranks() == 1);
    CHECK(engine.first_local_rank() == me->rank);
    CHECK_FALSE(comm::environment_variable("NCCL_COMM_ID"));  // set for the meeting alone
    comm::rank_threads team{{engine.device(me->rank)}};
    constexpr std::size_t count = 10'007;
    auto memory = std::make_shared<comm::nccl_memory>(
        engine.allocate(comm::rank_arrays<float>::bytes(count)));
    comm::rank_arrays<float> arrays{team, count, 42, me->ranks, me->rank, memory};
    CHECK(reduce(engine, team, arrays, count, comm::reduction::sum, false) == 0);
    CHECK(reduce(engine, team, arrays, std::size_t{9}, comm::reduction::average, true) == 0);
  }
}
