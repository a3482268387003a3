// SPDX-License-Identifier: Apache-2.0
/// @file
/// An engine may end while its operations run: no memory goes before all devices are idle, and no
/// capture of another thread ends.

#include "comm/world.cuh"

#include <assay/kernel/launch.cuh>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

using namespace assay;
using comm::algorithm;
using comm::reduction;

namespace {

/// Waits for a word of the host, at most ten seconds.
__global__ void await_word(unsigned const volatile* word) {
  auto const begun = ::cuda::ptx::get_sreg_globaltimer();
  while (*word == 0 && ::cuda::ptx::get_sreg_globaltimer() - begun < 10'000'000'000U) {}
}

/// Holds a stream until it is opened.
class gate {
 public:
  gate(on::device place, stream const& on) {
    *word() = 0;
    device_guard const guard{place};
    kernel::launch(await_word, 1, 1, 0, on, static_cast<unsigned const volatile*>(word()));
  }
  void open() { *static_cast<unsigned volatile*>(word()) = 1; }

 private:
  unsigned* word() { return static_cast<unsigned*>(words_.get()); }
  page_locked_block words_{sizeof(unsigned)};
};

bool is_device_memory(std::byte const* at) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, at));
  return found.type == cudaMemoryTypeDevice;
}

}  // namespace

TEST_CASE("an engine that ends while its operations run waits for all ranks", "[comm]") {
  if (test::small()) { return; }
  auto const seed = test::fresh_seed();
  constexpr std::size_t count = std::size_t{1} << 20U;
  for (auto const how : test::all_algorithms) {
    for (int const late : {0, 1}) {
      INFO(std::string{comm::to_string(how)} << ", rank " << late << " late, seed " << seed);
      auto options = test::checked_options(how);
      options.blocks =
          8;  // both ranks fit on one device, where the early one waits for the late one
      test::world<float> all{2, count, options};
      auto const at = all.buffers(0, 0, false);
      auto const& held = all.streams[static_cast<std::size_t>(late)];
      for (int round = 0; round < 10; ++round) {
        all.fill(at, count, seed + static_cast<unsigned>(round));
        std::optional<comm::all_reduce> ending{std::in_place, test::peers_of(2), options};
        ending->prepare<float>();
        gate door{ending->device(late), held};
        for (int rank = 0; rank < 2; ++rank) {
          auto const& on = all.streams[static_cast<std::size_t>(rank)];
          ending->enqueue(rank, on, at, count, reduction::sum);
        }
        std::atomic<bool> ended{false};
        std::thread end{[&] {
          ending.reset();
          ended = true;
        }};
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
        CHECK_FALSE(ended);
        door.open();
        end.join();
        for (auto const& on : all.streams) { CHECK(cudaStreamQuery(on.get()) == cudaSuccess); }
        CHECK(all.wrong(at, count, reduction::sum) == "");
      }
    }
  }
}

TEST_CASE("an engine that ends breaks no capture of another thread, and keeps no memory",
          "[comm]") {
  constexpr std::size_t count = 1000;
  test::world<float> all{2, count, test::checked_options()};
  auto const at = all.buffers(0, 0, false);
  std::optional<comm::all_reduce> ending{std::in_place, test::peers_of(2), test::checked_options()};
  ending->prepare<float>();
  if (!test::small()) {
    for (int rank = 0; rank < 2; ++rank) {
      auto const& on = all.streams[static_cast<std::size_t>(rank)];
      ending->enqueue(rank, on, at, count, reduction::sum);
    }
  }
  std::byte const* const workspaces[] = {ending->workspace_of(0), ending->workspace_of(1)};
  stream const captured{on::device{0}};
  device_guard const guard{on::device{0}};
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  std::thread{[&] { ending.reset(); }}.join();
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(captured.get(), &graph) == cudaSuccess);
  REQUIRE(graph != nullptr);
  check(cudaGraphDestroy(graph));
  for (auto const* each : workspaces) { CHECK_FALSE(is_device_memory(each)); }
}
