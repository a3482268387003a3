// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two ranks that launch, as threads of this process, on two GPUs or on one: what one rank enqueues
/// wrongly is told by all ranks with its number.
#include "catch.hpp"
#include "small_sizes.hpp"
#include "support/rank_processes.hpp"

#include <assay/compare.cuh>
#include <assay/compare/ranks.hpp>
#include <assay/core/device.hpp>
#include <assay/host/poll_until.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using assay::test::contains;

namespace {

__global__ void spin(long long cycles) {
  for (auto const begin = clock64(); clock64() - begin < cycles;) {}
}
__global__ void wait_for(int const volatile* flag) {
  while (*flag == 0) {}
}

on::device place_of(int rank) { return on::device{std::min(rank, device_count() - 1)}; }

/// What each of two ranks has to say. `work(rank, stream)` is both variants.
std::vector<std::string> told(std::function<void(int rank, cudaStream_t)> const& work,
                              std::chrono::duration<double> limit = std::chrono::seconds{120}) {
  benchmark::reserved_port const port;
  std::vector<std::string> all(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    // A kernel that is loaded while another rank's stream is held would wait for it.
    check(cudaSetDevice(place_of(rank).id));
    spin<<<1, 1>>>(0);
    check(cudaDeviceSynchronize());
    threads.emplace_back([&, rank] {
      auto& text = all[static_cast<std::size_t>(rank)];
      try {
        check(cudaSetDevice(place_of(rank).id));
        auto const ranks = world::meet(
            {.rank = rank, .ranks = 2, .host = "127.0.0.1", .port = port.number(), .limit = limit});
        auto const one = [&](cudaStream_t on) { work(rank, on); };
        auto const found = compare(
            ranks, "old", one, "new", one,
            {.max_epochs = 8, .ranks_share_gpus = device_count() < 2, .warm_up_seconds = 0.05});
        text = found.failure;
        for (auto const& each : found.caveats) { text += '|' + each; }
        text += '|' + std::string{to_string(found.findings.at(0).outcome)};
      } catch (std::exception const& cause) { text = cause.what(); }
    });
  }
  for (auto& each : threads) { each.join(); }
  return all;
}

constexpr long long long_cycles = 1'000'000;  // 0.5 ms

}  // namespace

TEST_CASE("ranks that enqueue on their streams are told nothing of it", "[compare]") {
  if (test::small()) { return; }
  auto const said = told([](int, cudaStream_t on) { spin<<<1, 1, 0, on>>>(20'000); });
  INFO(said[0] << '\n' << said[1]);
  CHECK(said[0].front() == '|');  // no failure
  CHECK_THAT(said[0], !contains("UNPROVEN") && !contains("not looked for whether"));
}

TEST_CASE("the rank that enqueues nothing is named", "[compare]") {
  if (test::small()) { return; }
  auto const said = told([](int rank, cudaStream_t on) {
    if (rank == 0) { spin<<<1, 1, 0, on>>>(20'000); }
  });
  for (auto const& each : said) {
    CHECK_THAT(each, contains("rank 1: it enqueues nothing on the stream") && contains("UNPROVEN"));
  }
}

TEST_CASE("the rank with work on other streams is named where no other rank has its GPU",
          "[compare]") {
  if (test::small()) { return; }
  auto const said = told([](int rank, cudaStream_t on) {
    spin<<<1, 1, 0, on>>>(20'000);
    if (rank == 1) { spin<<<1, 1>>>(long_cycles); }  // nothing joins the default stream
  });
  if (device_count() < 2) {
    CHECK_THAT(said[0], contains("another rank, uses the device"));
    return;
  }
  for (auto const& each : said) {
    CHECK_THAT(each, contains("rank 1: work that it enqueued on other streams still ran") &&
                         contains("UNPROVEN"));
  }
}

TEST_CASE("a rank that fails between launches leaves no other one waiting", "[compare]") {
  if (test::small()) { return; }
  int* flag = nullptr;
  check(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocPortable | cudaHostAllocMapped));
  *flag = 1;
  for (int rank = 0; rank < 2; ++rank) {  // loads the kernel
    check(cudaSetDevice(place_of(rank).id));
    wait_for<<<1, 1>>>(flag);
    check(cudaDeviceSynchronize());
  }
  *flag = 0;
  // A rank on the same GPU cannot free its memory before, and it does not depend on this limit.
  std::atomic<bool> ended{false};
  std::thread late{[&] {
    (void)poll_until([&] { return ended.load(); }, std::chrono::seconds{60});
    *const_cast<int volatile*>(flag) = 1;
  }};
  std::array<int, 2> calls{};
  auto const said = told(
      [&](int rank, cudaStream_t on) {
        bool const fails = ++calls[static_cast<std::size_t>(rank)] == 60;
        if (fails && rank == 1) { throw std::runtime_error("no launch"); }
        if (fails) { return wait_for<<<1, 1, 0, on>>>(flag); }
        spin<<<1, 1, 0, on>>>(20'000);
      },
      std::chrono::seconds{10});
  ended = true;
  late.join();
  for (int rank = 0; rank < 2; ++rank) {
    check(cudaSetDevice(place_of(rank).id));
    check(cudaDeviceSynchronize());
  }
  check(cudaFreeHost(flag));
  for (auto const& each : said) {
    CHECK_THAT(each, contains("rank 0: its stream has not drained within 5 s") &&
                         contains("rank 1: no launch") && contains("UNPROVEN"));
  }
}
