// SPDX-License-Identifier: Apache-2.0
/// @file
/// A failure while ranks wait for each other ends with an error that names it, and the engine can
/// be used again. Not under a sanitizer, where ranks do not run side by side.

#include "comm/world.cuh"

#include <assay/kernel/launch.cuh>

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

}  // namespace

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
