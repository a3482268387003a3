// SPDX-License-Identifier: Apache-2.0
// Ranks share a device here, so that it runs on machines with one GPU.
#include "catch.hpp"
#include "ranks/rank_arrays.cuh"
#include "ranks/rank_threads.cuh"
#include "ranks/reduction_work.cuh"

#include <assay/kernel/launch.cuh>
#include <assay/machine/stream_latch.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace assay::kernel {

template <class T>
__global__ void count_call(T* counter) {
  *counter += T{1};
}

}  // namespace assay::kernel

using namespace assay;
using assay::test::contains;
using assay::test::message_of;

namespace {

/// Counters in pinned memory, one for each rank and buffer_set.
struct counters {
  counters() {
    void* block = nullptr;
    check(cudaHostAlloc(&block, 16 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    values = static_cast<int*>(block);
    for (int i = 0; i < 16; ++i) { values[i] = 0; }
  }
  counters(counters const&) = delete;
  counters& operator=(counters const&) = delete;
  ~counters() { check_noexcept(cudaFreeHost(values)); }
  void add(int which, ::cuda::stream_ref on) const {
    kernel::launch(kernel::count_call<int>, 1, 1, 0, on, values + which);
  }
  int operator[](int which) const { return static_cast<int volatile*>(values)[which]; }
  int* values = nullptr;
};

std::vector<on::device> places(int ranks) {
  return std::vector<on::device>(static_cast<std::size_t>(ranks), on::device{0});
}

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds{milliseconds});
}

template <class T>
void check_counting(std::size_t count, int ranks, comm::reduction what, std::uint64_t seed) {
  INFO("count " << count << ", ranks " << ranks << ", " << comm::to_string(what) << ", seed "
                << seed);
  examples::rank_threads team{places(1)};
  auto memory =
      std::make_shared<examples::rank_memory>(places(1), examples::rank_arrays<T>::bytes(count));
  examples::rank_arrays<T> arrays{team, count, seed, ranks, memory};
  auto* const out = arrays.out_of_place().out[0];
  workloads::reduction_inputs const inputs{seed, ranks};

  std::vector<T> host(count);
  check(cudaMemcpy(host.data(), arrays.out_of_place().in[0], count * sizeof(T), cudaMemcpyDefault));
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(static_cast<float>(host[i]) == inputs.input(0, i));
  }
  arrays.poison();
  CHECK(arrays.wrong(count, what) == count);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    double most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      double const each = inputs.input(rank, i);
      sum += each;
      most = std::max(most, each);
    }
    double const expected = what == comm::reduction::max   ? most
                            : what == comm::reduction::sum ? sum
                                                           : sum / ranks;
    host[i] = static_cast<T>(static_cast<float>(expected));
  }
  auto const upload = [&] {
    check(cudaMemcpy(out, host.data(), count * sizeof(T), cudaMemcpyDefault));
    check(cudaDeviceSynchronize());  // the copy may return before its bytes are on the device
  };
  upload();
  CHECK(arrays.wrong(count, what) == 0);
  auto const at = count / 2;
  auto const right = host[at];
  host[at] = static_cast<T>(static_cast<float>(right) + 1.0F);
  upload();
  CHECK(arrays.wrong(count, what) == 1);
  CHECK(arrays.wrong(at, what) == 0);  // only the first elements are asked for
  host[at] = static_cast<T>(std::nanf(""));
  upload();
  CHECK(arrays.wrong(count, what) == 1);
}

}  // namespace

TEST_CASE("a latch holds a stream until it is opened, once each time", "[kernel]") {
  counters count;
  machine::stream_latch<> latch{20};
  stream const on{on::device{0}};
  count.add(1, on);  // loads the kernel
  on.synchronize();
  for (int round = 1; round <= 3; ++round) {
    latch.hold(on);
    count.add(0, on);
    pause(20);
    CHECK(count[0] == round - 1);
    latch.open();
    on.synchronize();
    CHECK(count[0] == round);
    CHECK_NOTHROW(latch.check_held());
  }
  latch.open();  // no turn is lost where nobody waits
  latch.hold(on);
  latch.open();
  on.synchronize();
  CHECK_NOTHROW(latch.check_held());
}

TEST_CASE("a latch that stays closed gives way, and says so once", "[kernel]") {
  counters count;
  machine::stream_latch<> latch{0.05};
  stream const on{on::device{0}};
  latch.hold(on);
  count.add(0, on);
  on.synchronize();
  CHECK(count[0] == 1);
  CHECK_THAT(message_of([&] { latch.check_held(); }), contains("enqueue less at once"));
  CHECK_NOTHROW(latch.check_held());
}

TEST_CASE("a team runs each rank on a thread of its own, and tells what one throws", "[comm]") {
  examples::rank_threads team{places(3)};
  CHECK(team.ranks() == 3);
  counters count;
  std::vector<std::thread::id> threads(3);
  std::vector<cudaStream_t> streams(3);
  team.run([&](int rank, ::cuda::stream_ref on) {
    threads[static_cast<std::size_t>(rank)] = std::this_thread::get_id();
    streams[static_cast<std::size_t>(rank)] = on.get();
    count.add(rank, on);
  });
  team.synchronize();
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(count[rank] == 1);
    CHECK(streams[static_cast<std::size_t>(rank)] == team.on(rank).get());
  }
  CHECK((threads[0] != threads[1] && threads[1] != threads[2] && threads[0] != threads[2]));
  CHECK_THROWS_AS(team.run([](int rank, ::cuda::stream_ref) {
    if (rank == 1) { throw std::runtime_error("rank 1"); }
  }),
                  std::runtime_error);
  CHECK_NOTHROW(team.run([](int, ::cuda::stream_ref) {}));
}

TEST_CASE("graphs replay what each rank recorded", "[comm]") {
  examples::rank_threads team{places(2)};
  counters count;
  auto const graphs =
      team.record(5, [&](int rank, ::cuda::stream_ref on, int) { count.add(rank, on); });
  CHECK(count[0] == 0);
  team.run([&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); });
  team.synchronize();
  CHECK(count[0] == 5);
  CHECK(count[1] == 5);
  // 300 replays of 5 are more than fit behind a latch at once; a sanitizer has room for fewer.
  int const replays = test::small() ? 10 : 300;
  auto const seconds = team.time(graphs, replays, 5);
  CHECK(count[0] == 5 + 5 * replays);
  CHECK(count[1] == 5 + 5 * replays);
  CHECK(seconds.gpu > 0);
  CHECK(seconds.wall > 0);
  CHECK(seconds.submit > 0);
  CHECK_THROWS_AS(
      team.record(2, [](int, ::cuda::stream_ref, int) { throw std::runtime_error("no"); }),
      std::runtime_error);
  auto const again =
      team.record(1, [&](int rank, ::cuda::stream_ref on, int) { count.add(rank, on); });
  team.run([&](int rank, ::cuda::stream_ref on) { again.launch(rank, on); });
  team.synchronize();
  CHECK(count[1] == 5 + 5 * replays + 1);
}

TEST_CASE("what the host needs to enqueue is not in the devices' time", "[comm]") {
  examples::rank_threads team{places(2)};
  counters count;
  team.run([&](int rank, ::cuda::stream_ref on) { count.add(rank, on); });  // loads the kernel
  team.synchronize();
  auto const seconds = team.time([&](int rank, ::cuda::stream_ref on) {
    count.add(rank, on);
    pause(rank == 1 ? 60 : 0);
    count.add(rank, on);
  });
  CHECK(seconds.submit > 0.05);
  if (test::small()) { return; }
  CHECK(seconds.gpu < 0.03);
  CHECK(seconds.wall < 0.03);
}

TEST_CASE("a team that throws while it is timed can be used again", "[comm]") {
  examples::rank_threads team{places(2)};
  counters count;
  CHECK_THROWS_AS(team.time([](int rank, ::cuda::stream_ref) {
    if (rank == 0) { throw std::runtime_error("no"); }
  }),
                  std::runtime_error);
  auto const seconds = team.time([&](int rank, ::cuda::stream_ref on) { count.add(rank, on); });
  CHECK(seconds.gpu > 0);
  CHECK(count[0] == 1);
}

TEST_CASE("wrong elements are counted, and only they", "[comm]") {
  auto const seed = test::fresh_seed();
  for (auto const what : {comm::reduction::sum, comm::reduction::max, comm::reduction::average}) {
    for (int const ranks : {1, 2, 3, 8}) {
      check_counting<float>(10'007, ranks, what, seed);
      check_counting<__half>(1'001, ranks, what, seed);
      check_counting<__nv_bfloat16>(1, ranks, what, seed);
      check_counting<__nv_bfloat16>(777, ranks, what, seed);
    }
  }
}

TEST_CASE("averages may be rounded where the number of ranks has no exact reciprocal", "[comm]") {
  using workloads::reduction_inputs;
  CHECK(reduction_inputs{.ranks = 4}.tolerance<float>(comm::reduction::average) == 0);
  CHECK(reduction_inputs{.ranks = 3}.tolerance<float>(comm::reduction::sum) == 0);
  CHECK(reduction_inputs{.ranks = 3}.tolerance<float>(comm::reduction::average) == 5 * 0x1p-24);
  CHECK(reduction_inputs{.ranks = 6}.tolerance<__half>(comm::reduction::average) == 8 * 0x1p-11);
  CHECK(reduction_inputs{.ranks = 7}.tolerance<__nv_bfloat16>(comm::reduction::average) ==
        9 * 0x1p-8);
}

TEST_CASE("sums over all ranks are exact in the smallest type", "[comm]") {
  workloads::reduction_inputs const inputs{7, comm::max_ranks};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (auto const what : {comm::reduction::sum, comm::reduction::average}) {
      auto const result = inputs.output(what, i);
      REQUIRE(static_cast<float>(static_cast<__nv_bfloat16>(result)) == result);
    }
  }
}

TEST_CASE("ranks have inputs of their own, in place too", "[comm]") {
  examples::rank_threads team{places(2)};
  examples::rank_arrays<float> arrays{team, 1000, 3};
  auto const apart = arrays.out_of_place();
  auto const same = arrays.in_place();
  CHECK(apart.in[0] != apart.in[1]);
  CHECK(apart.in[1] != apart.out[1]);
  CHECK((same.in[1] == same.out[1] && same.out[1] == apart.out[1]));
  arrays.fill_outputs();
  float seen = -1;
  check(cudaMemcpy(&seen, same.in[1] + 999, sizeof seen, cudaMemcpyDefault));
  CHECK(seen == workloads::reduction_inputs{3, 2}.input(1, 999));
}

TEST_CASE("sums are launched in graphs of a buffer set, and wrong ones are told", "[measure]") {
  auto const peers = comm::peers::on_one(on::device{0}, 2);
  examples::epoch_arrays arrays{peers, 1000};
  counters count;
  std::atomic<float*> first{nullptr};  // the output of the first buffer set
  examples::sum_function const counting = [&](int rank, ::cuda::stream_ref on,
                                              comm::rank_buffers<float> const& at, std::size_t) {
    float* none = nullptr;
    (void)first.compare_exchange_strong(none, at.out[0]);
    count.add((at.out[0] == first ? 0 : 2) + rank, on);
  };
  auto const subject = arrays.subject([&] { return counting; }, 3, {3, 33});
  CHECK(count[0] == 1);  // once, before it is recorded
  CHECK(count[3] == 1);
  subject->warm(0, 2);
  auto const cell = subject->time(0, 4);
  CHECK(count[0] == 1 + 3 * 6);
  CHECK(count[1] == 1 + 3 * 6);
  CHECK(count[2] == 1);
  CHECK(cell[measure::clock::gpu] > 0);
  CHECK(cell[measure::clock::wall] > 0);
  CHECK(cell[measure::clock::submit] > 0);
  CHECK(subject->verify(1) == "2000 elements are wrong");  // poisoned, and nothing is summed
  CHECK(count[2] == 2);
  CHECK(subject->checked() == measure::checks::all);
  auto const same =
      arrays.subject([&] { return counting; }, 3, {3, 33});  // an epoch has one pair of arrays
  CHECK(count[0] == 1 + 3 * 6 + 1);
  auto const right = arrays.subject(
      [&] { return examples::engine_function<copy::regular<>>(peers, {}); }, 2, {3, 33});
  CHECK(right->verify(0) == std::nullopt);
  right->warm(1, 1);
  CHECK(right->verify(1) == std::nullopt);
}

TEST_CASE("variants share the arrays of an epoch, and the control's second instance has its own",
          "[measure]") {
  auto const peers = comm::peers::on_one(on::device{0}, 2);
  examples::epoch_arrays arrays{peers, 1000};
  auto const outputs_of = [&](int instance) {
    std::vector<float*> seen;  // of rank 0
    auto const noting = [&](int rank, ::cuda::stream_ref, comm::rank_buffers<float> const& at,
                            std::size_t) {
      if (rank == 0) { seen.push_back(at.out[0]); }
    };
    (void)arrays.subject([&] { return noting; }, 1, {1, 5, instance});
    return seen;
  };
  auto const shared = outputs_of(0);
  auto const own = outputs_of(1);
  CHECK(outputs_of(0) == shared);
  REQUIRE(own.size() == shared.size());
  for (auto* const each : own) { CHECK(std::ranges::find(shared, each) == shared.end()); }
}
