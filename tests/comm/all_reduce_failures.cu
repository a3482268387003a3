// SPDX-License-Identifier: Apache-2.0
/// @file
/// A failure while ranks wait for each other ends with an error that names it, and the engine can
/// be used again. Not under a sanitizer, where ranks do not run side by side.

#include "comm/world.cuh"

#include <assay/kernel/launch.cuh>

#include <chrono>
#include <optional>
#include <thread>

using namespace assay;
using comm::algorithm;
using comm::reduction;
using test::contains;

namespace {

comm::all_reduce_options impatient(algorithm how) {
  auto options = test::checked_options(how);
  options.timeout_seconds = 0.3;
  return options;
}

/// Writes a value to some words until it is told to stop, or after a minute.
template <class Word>
__global__ void keep_writing(Word volatile* words, unsigned count, unsigned value,
                             unsigned const volatile* stop) {
  auto const begin = ::cuda::ptx::get_sreg_globaltimer();
  while (*stop == 0 && ::cuda::ptx::get_sreg_globaltimer() - begin < 60'000'000'000U) {
    for (auto i = threadIdx.x; i < count; i += blockDim.x) { words[i] = value; }
  }
}

/// A kernel that writes to memory of others for as long as this object lives.
class vandal {
 public:
  vandal(on::device place, std::byte* words, unsigned count, unsigned value) : stream_(place) {
    void* block = nullptr;
    check(cudaHostAlloc(&block, sizeof(unsigned), cudaHostAllocMapped | cudaHostAllocPortable));
    stop_ = static_cast<unsigned*>(block);
    *stop_ = 0;
    device_guard const guard{place};
    kernel::launch(keep_writing<unsigned>, 1, 128, 0, stream_, reinterpret_cast<unsigned*>(words),
                   count, value, stop_);
  }
  vandal(vandal const&) = delete;
  vandal& operator=(vandal const&) = delete;
  ~vandal() {
    *static_cast<unsigned volatile*>(stop_) = 1;
    check_noexcept(cudaStreamSynchronize(stream_.get()));
    check_noexcept(cudaFreeHost(stop_));
  }

 private:
  unsigned* stop_ = nullptr;
  stream stream_;
};

/// Options without a limit, so that only the word in host memory ends a wait.
comm::all_reduce_options patient(algorithm how) {
  auto options = test::checked_options(how);
  options.timeout_seconds = 0;
  return options;
}

/// Waits for a stream; false after ten seconds.
bool ends(stream const& on) {
  auto const begun = std::chrono::steady_clock::now();
  while (cudaStreamQuery(on.get()) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() - begun > std::chrono::seconds{10}) { return false; }
  }
  return true;
}

template <class Call>
std::optional<comm::all_reduce_error> error_of(Call const& call) {
  try {
    call();
  } catch (comm::all_reduce_error const& failed) { return failed; }
  return {};
}

/// Sizes of one block and of many; the FIFO goes round more than once.
constexpr std::size_t few_elements = 5000;
constexpr std::size_t many_elements = std::size_t{8} << 20U;

}  // namespace

TEST_CASE("an abort ends waits without a limit, and the engine goes on after a reset", "[comm]") {
  if (test::small()) { return; }
  for (auto const how : test::all_algorithms) {
    for (auto const count : {few_elements, many_elements}) {
      if (how == algorithm::lamport_push && count == many_elements) { continue; }
      INFO(std::string{comm::to_string(how)} << ", " << count << " elements");
      test::world<float> all{2, count, patient(how)};
      auto const at = all.buffers(0, 0, false);
      all.fill(at, count, 1);
      // Rank 0 is not asked. The second operation waits in the stream behind the first.
      for (int i = 0; i < 2; ++i) {
        all.engine.enqueue(1, all.streams[1], at, count, reduction::sum);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      CHECK(cudaStreamQuery(all.streams[1].get()) == cudaErrorNotReady);
      std::thread{[&] { all.engine.abort(); }}.join();
      REQUIRE(ends(all.streams[1]));
      for (int rank = 0; rank < 2; ++rank) {
        auto const& on = all.streams[static_cast<std::size_t>(rank)];
        auto const error =
            error_of([&] { all.engine.enqueue(rank, on, at, count, reduction::sum); });
        REQUIRE(error);
        CHECK(error->kind() == comm::failure_kind::aborted);
        CHECK_THAT(error->what(), contains("was aborted"));
      }
      CHECK(error_of([&] { all.engine.synchronize(1, all.streams[1]); }));
      all.engine.reset();
      CHECK(all.run(count, 0, 0, false, reduction::sum, 7) == "");
    }
  }
}

TEST_CASE("an abort while all ranks work leaves an engine that can be reset", "[comm]") {
  if (test::small()) { return; }
  for (auto const how : test::all_algorithms) {
    INFO(std::string{comm::to_string(how)});
    constexpr std::size_t count = std::size_t{1} << 20U;
    test::world<float> all{2, count, patient(how)};
    auto const at = all.buffers(0, 0, false);
    all.fill(at, count, 1);
    for (int i = 0; i < 50; ++i) { all.enqueue(at, count, reduction::sum); }
    all.engine.abort();
    for (auto const& on : all.streams) { REQUIRE(ends(on)); }
    CHECK_THAT(test::message_of([&] { all.synchronize(); }), contains("was aborted"));
    all.engine.reset();
    CHECK(all.run(count, 0, 0, false, reduction::sum, 7) == "");
  }
}

TEST_CASE("a rank whose call is refused ends the waits of the others", "[comm]") {
  if (test::small()) { return; }
  for (auto const how : test::all_algorithms) {
    INFO(std::string{comm::to_string(how)});
    test::world<float> all{2, few_elements, patient(how)};
    auto const at = all.buffers(0, 0, false);
    all.fill(at, few_elements, 1);
    all.engine.enqueue(1, all.streams[1], at, few_elements, reduction::sum);
    auto wrong = at;
    wrong.in[0] = nullptr;
    CHECK_THROWS_AS(all.engine.enqueue(0, all.streams[0], wrong, few_elements, reduction::sum),
                    std::invalid_argument);
    REQUIRE(ends(all.streams[1]));
    auto const error = error_of([&] { all.engine.synchronize(1, all.streams[1]); });
    REQUIRE(error);
    CHECK(error->rank() == 0);
    CHECK(error->kind() == comm::failure_kind::call_failed);
    CHECK_THAT(error->what(), contains("the call of rank 0 failed") && contains("null pointer"));
    all.engine.reset();
    CHECK(all.run(few_elements, 0, 0, false, reduction::sum, 7) == "");
  }
}

TEST_CASE("a launch that fails ends the waits of the others, whoever comes first", "[comm]") {
  if (test::small()) { return; }
  test::world<float> all{2, few_elements, patient(algorithm::automatic)};
  auto const at = all.buffers(0, 0, false);
  // While a stream is captured that waits for the default stream, the default stream takes no work.
  auto const fail_to_launch = [&] {
    device_guard const guard{all.engine.device(0)};
    cudaStream_t captured = nullptr;
    check(cudaStreamCreate(&captured));
    check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    auto const on = ::cuda::stream_ref{cudaStream_t{nullptr}};
    CHECK_THROWS_AS(all.engine.enqueue(0, on, at, few_elements, reduction::sum), cuda_error);
    cudaGraph_t graph = nullptr;
    (void)cudaStreamEndCapture(captured, &graph);
    (void)cudaGetLastError();
    check(cudaStreamDestroy(captured));
  };
  for (bool const first : {false, true}) {
    INFO("rank 0 " << (first ? "first" : "last"));
    all.fill(at, few_elements, 1);
    if (first) { fail_to_launch(); }
    auto const call = [&] {
      all.engine.enqueue(1, all.streams[1], at, few_elements, reduction::sum);
    };
    if (first) {
      CHECK_THAT(test::message_of(call), contains("the call of rank 0 failed"));
    } else {
      call();
      fail_to_launch();
    }
    REQUIRE(ends(all.streams[1]));
    CHECK_THAT(test::message_of([&] { all.engine.synchronize(1, all.streams[1]); }),
               contains("the call of rank 0 failed"));
    all.engine.reset();
    CHECK(all.run(few_elements, 0, 0, false, reduction::sum, 7) == "");
  }
}

TEST_CASE("an engine that ends before all ranks were asked leaves no rank waiting", "[comm]") {
  if (test::small()) { return; }
  test::world<float> all{2, few_elements, patient(algorithm::automatic)};
  auto const at = all.buffers(0, 0, false);
  {
    comm::all_reduce ending{test::peers_of(2), patient(algorithm::automatic)};
    ending.prepare<float>();
    ending.enqueue(1, all.streams[1], at, few_elements, reduction::sum);
  }
  CHECK(ends(all.streams[1]));
}

TEST_CASE("a timeout of one rank ends the waits of the others", "[comm]") {
  if (test::small()) { return; }
  auto options = impatient(algorithm::automatic);
  test::world<float> all{3, few_elements, options};
  auto const at = all.buffers(0, 0, false);
  for (int const rank : {1, 2}) {
    auto const& on = all.streams[static_cast<std::size_t>(rank)];
    all.engine.enqueue(rank, on, at, few_elements, reduction::sum);
  }
  for (auto const& on : all.streams) { CHECK(ends(on)); }
  auto const error = error_of([&] { all.engine.synchronize(2, all.streams[2]); });
  REQUIRE(error);
  CHECK(error->kind() == comm::failure_kind::timed_out);
  CHECK(error->peer() == 0);
}

TEST_CASE("a rank that is not asked is named, and the engine goes on after a reset", "[comm]") {
  if (test::small()) { return; }
  for (auto const how : test::all_algorithms) {
    INFO(std::string{comm::to_string(how)});
    test::world<float> all{2, 5000, impatient(how)};
    auto const at = all.buffers(0, 0, false);
    all.fill(at, 5000, 1);
    all.engine.enqueue(1, all.streams[1], at, 5000, reduction::sum);
    try {
      all.engine.synchronize(1, all.streams[1]);
      FAIL("nothing was thrown");
    } catch (comm::all_reduce_error const& failed) {
      INFO(failed.what());
      CHECK(failed.rank() == 1);
      CHECK(failed.peer() == 0);
      CHECK(failed.epoch() == 1);
      CHECK(failed.kind() == comm::failure_kind::timed_out);
    }
    CHECK_THROWS_AS(all.enqueue(at, 5000, reduction::sum), comm::all_reduce_error);
    all.engine.reset();
    CHECK(all.run(5000, 0, 0, false, reduction::sum, 7) == "");
  }
}

TEST_CASE("a rank that is not asked for a large message is named, too, and nothing hangs",
          "[comm]") {
  if (test::small()) { return; }
  // After a failure, blocks go through a hundred periods of the slots without waiting for each
  // other.
  constexpr std::size_t count = std::size_t{64} << 20U;
  for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot, algorithm::two_shot}) {
    test::world<float> all{2, count, impatient(how)};
    for (bool const in_place : {false, true}) {
      INFO(std::string{comm::to_string(how)} << (in_place ? ", in place" : ""));
      auto const at = all.buffers(0, 0, in_place);
      all.engine.enqueue(1, all.streams[1], at, count, reduction::sum);
      CHECK_THAT(test::message_of([&] { all.engine.synchronize(1, all.streams[1]); }),
                 contains("rank 1 waited 0.3") && contains("s for rank 0"));
      all.engine.reset();
    }
    CHECK(all.run(5000, 0, 0, false, reduction::sum, 7) == "");
  }
}

TEST_CASE("without the others nothing is written to their outputs", "[comm]") {
  if (test::small()) { return; }
  constexpr std::size_t count = 50'000;
  for (auto const how : {algorithm::two_shot, algorithm::pull}) {
    INFO(std::string{comm::to_string(how)});
    test::world<float> all{2, count, impatient(how)};
    auto const at = all.buffers(0, 0, false);
    all.fill(at, count, 1);
    auto const before = std::pair{all.out.read(0), all.out.read(1)};
    all.engine.enqueue(1, all.streams[1], at, count, reduction::sum);
    CHECK_THROWS_AS(all.engine.synchronize(1, all.streams[1]), comm::all_reduce_error);
    CHECK((std::pair{all.out.read(0), all.out.read(1)} == before));
  }
}

TEST_CASE("ranks that are asked for different counts are told so", "[comm]") {
  if (test::small()) { return; }
  for (auto const how : test::all_algorithms) {
    INFO(std::string{comm::to_string(how)});
    test::world<float> all{2, 5000, impatient(how)};
    auto const at = all.buffers(0, 0, false);
    all.fill(at, 5000, 1);
    all.engine.enqueue(0, all.streams[0], at, 5000, reduction::sum);
    all.engine.enqueue(1, all.streams[1], at, 4999, reduction::sum);
    check(cudaStreamSynchronize(all.streams[0].get()));
    check(cudaStreamSynchronize(all.streams[1].get()));
    CHECK_THAT(test::message_of([&] { all.synchronize(); }), contains("different operations"));
    all.engine.reset();
    CHECK(all.run(5000, 0, 0, false, reduction::sum, 8) == "");
  }
}

TEST_CASE("a flag that no rank can have written is found", "[comm]") {
  if (test::small()) { return; }
  constexpr std::size_t count = 60'000;  // of several blocks
  for (auto const how : {algorithm::two_shot, algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    INFO(std::string{comm::to_string(how)});
    test::world<float> all{2, count, impatient(how)};
    auto const& layout = all.engine.layout();
    auto const at = all.buffers(0, 0, false);
    all.fill(at, count, 1);
    // In the memory of rank 0: the barrier or FIFO counters of rank 1.
    auto* const base = all.engine.workspace_of(0);
    if (how == algorithm::two_shot) {
      check(cudaMemset(base + layout.flags_at, 0x55, layout.agreement_at - layout.flags_at));
    } else {
      check(cudaMemset(base + layout.fifo_consumed_at, 0x55,
                       layout.fifo_block_consumed_at - layout.fifo_consumed_at));
    }
    check(cudaDeviceSynchronize());
    // Rank 1 does not run, and so cannot put its flags right: of rank 0 all blocks but the first,
    // which awaits what rank 1 was asked for, find them at once.
    all.engine.enqueue(0, all.streams[0], at, count, reduction::sum);
    check(cudaStreamSynchronize(all.streams[0].get()));
    auto const text = test::message_of([&] { all.engine.synchronize(0, all.streams[0]); });
    CHECK_THAT(text, contains("rank 0 found a flag of rank 1"));
    all.engine.reset();
    CHECK(all.run(count, 0, 0, false, reduction::sum, 9) == "");
  }
}

TEST_CASE("reducers' counts that are overwritten end with an error, not with a hang", "[comm]") {
  if (test::small()) { return; }
  // Counts so old that no block can have written them, and counts as if no item were consumed.
  struct overwriting {
    unsigned value;
    char const* error;
  };
  constexpr overwriting cases[] = {{0xAAAAAAAAU, "rank 0 found a flag of its own blocks"},
                                   {0, " waited "}};
  for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    for (auto const& each : cases) {
      INFO(std::string{comm::to_string(how)} << ", overwritten by " << each.value);
      auto options = impatient(how);
      options.blocks = 8;  // so that there are many periods
      test::world<float> few{2, 1, options};
      auto const count = std::size_t{4 * comm::fifo_tile_vecs} * 8 * few.engine.layout().fifo_slots;
      test::world<float> all{2, count, options};
      auto const& layout = all.engine.layout();
      auto const at = all.buffers(0, 0, false);
      CHECK(all.run(count, 0, 0, false, reduction::sum, 10) == "");
      all.engine.reset();
      {
        vandal const writing{all.engine.device(0),
                             all.engine.workspace_of(0) + layout.fifo_block_consumed_at,
                             layout.fifo_blocks, each.value};
        all.enqueue(at, count, reduction::sum);
        for (auto const& on : all.streams) { check(cudaStreamSynchronize(on.get())); }
      }
      CHECK_THAT(test::message_of([&] { all.synchronize(); }), contains(each.error));
      all.engine.reset();
      CHECK(all.run(count, 0, 0, false, reduction::sum, 11) == "");
    }
  }
}
