// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two ranks that launch, as threads of this process, on two GPUs or on one: what one rank enqueues
/// wrongly is told by all ranks with its number.
#include "catch.hpp"
#include "small_sizes.hpp"
#include "support/rank_processes.hpp"

#include <assay/compare.cuh>
#include <assay/compare/launch_session.cuh>
#include <assay/compare/ranks.hpp>
#include <assay/core/device.hpp>
#include <assay/core/stream.hpp>
#include <assay/host/poll_until.hpp>

#include <cuda/ptx>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
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
__global__ void spin_for(std::uint64_t nanoseconds) {
  auto const begin = ::cuda::ptx::get_sreg_globaltimer();
  while (::cuda::ptx::get_sreg_globaltimer() - begin < nanoseconds) {}
}
/// Ends when the other rank has come to it equally often.
__global__ void meet(int* came, int rank, float* out) {
  int const mine = atomicAdd_system(came + rank, 1) + 1;
  while (static_cast<int const volatile*>(came)[1 - rank] < mine) {}
  *out = 1;
}

on::device place_of(int rank) { return on::device{std::min(rank, device_count() - 1)}; }

/// What each of two ranks has to say. `make(rank)` is both variants.
template <class Make>
std::vector<std::string> told_of(Make const& make,
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
        auto const one = make(rank);
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

/// The same of `work(rank, stream)`.
std::vector<std::string> told(std::function<void(int rank, cudaStream_t)> const& work,
                              std::chrono::duration<double> limit = std::chrono::seconds{120}) {
  return told_of([&](int rank) { return [&, rank](cudaStream_t on) { work(rank, on); }; }, limit);
}

constexpr long long long_cycles = 1'000'000;  // 0.5 ms

/// Two numbers that the host and all devices reach.
class shared_numbers {
 public:
  shared_numbers() {
    check(cudaHostAlloc(&at_, 2 * sizeof *at_, cudaHostAllocPortable | cudaHostAllocMapped));
    set(0);
    for (int rank = 0; rank < 2; ++rank) {  // loads the kernels, in which nothing waits now
      check(cudaSetDevice(place_of(rank).id));
      set(1);
      wait_for<<<1, 1>>>(at_);
      check(cudaDeviceSynchronize());
    }
    set(0);
  }
  ~shared_numbers() {
    set(1 << 30);
    for (int rank = 0; rank < 2; ++rank) {
      check_noexcept(cudaSetDevice(place_of(rank).id));
      check_noexcept(cudaDeviceSynchronize());
    }
    check_noexcept(cudaFreeHost(at_));
  }
  shared_numbers(shared_numbers const&) = delete;
  shared_numbers& operator=(shared_numbers const&) = delete;

  int* get() const noexcept { return at_; }
  void set(int to) const noexcept {
    for (int i = 0; i < 2; ++i) { static_cast<int volatile*>(at_)[i] = to; }
  }

 private:
  int* at_ = nullptr;
};

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
  shared_numbers const numbers;
  int const* const flag = numbers.get();
  // A rank on the same GPU cannot free its memory before, and it does not depend on this limit.
  std::atomic<bool> ended{false};
  std::thread late{[&] {
    (void)poll_until([&] { return ended.load(); }, std::chrono::seconds{60});
    numbers.set(1);
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
  for (auto const& each : said) {
    CHECK_THAT(each, contains("rank 0: its stream has not drained within 5 s") &&
                         contains("rank 1: no launch") && contains("UNPROVEN"));
  }
}

TEST_CASE("work on other streams that waits for a failed rank ends with the limit", "[compare]") {
  if (test::small() || device_count() < 2) { return; }  // it is not looked for on one GPU
  shared_numbers const numbers;
  std::array<int, 2> calls{};
  check(cudaSetDevice(place_of(0).id));
  stream const other{place_of(0)};
  auto const said = told(
      [&](int rank, cudaStream_t on) {
        bool const fails = ++calls[static_cast<std::size_t>(rank)] == 60;
        if (fails && rank == 1) { throw std::runtime_error("no launch"); }
        if (fails) { wait_for<<<1, 1, 0, other.get()>>>(numbers.get()); }
        spin<<<1, 1, 0, on>>>(20'000);
      },
      std::chrono::seconds{10});
  numbers.set(1);
  for (auto const& each : said) {
    CHECK_THAT(each, contains("rank 1: no launch") && contains("UNPROVEN"));
  }
}

TEST_CASE("a drain of the device has a limit", "[compare]") {
  if (test::small()) { return; }
  shared_numbers const numbers;
  auto const place = place_of(0);
  check(cudaSetDevice(place.id));
  measure::launch_session session{place, measure::clock::gpu, false};
  stream const own{place}, other{place};
  CHECK(session.drained(own, std::chrono::seconds{60}));
  wait_for<<<1, 1, 0, other.get()>>>(numbers.get());
  CHECK(
      test::message_of([&] { (void)session.drain_is_long(std::chrono::milliseconds{200}); }) ==
      "work that it enqueued on other streams has not drained within 0.2 s: a launch may wait for "
      "a rank that failed");
  CHECK_FALSE(session.drained(own, std::chrono::seconds{60}));
  numbers.set(1);  // what the session frees waits for all kernels
}

TEST_CASE("a check of a result may take longer than a wait for a launch", "[compare]") {
  // Ranks on one GPU free memory while kernels of the other wait for them.
  if (test::small() || device_count() < 2) { return; }
  shared_numbers const numbers;
  bool sleeps = false;
  auto const make = [&](int rank) {
    return [&, rank](setup& arrays) {
      auto const y = arrays.output<float>(1);
      arrays.expect(y, [&, rank](std::size_t) {
        if (rank == 1 && std::exchange(sleeps, false)) {
          std::this_thread::sleep_for(std::chrono::seconds{4});
        }
        return 1.0;
      });
      return
          [&, rank, y](cudaStream_t on) { meet<<<1, 1, 0, on>>>(numbers.get(), rank, y.data()); };
    };
  };
  numbers.set(1 << 30);
  (void)told_of(make);  // loads all kernels, and nothing waits
  numbers.set(0);
  sleeps = true;
  auto const said = told_of(make, std::chrono::seconds{6});  // a wait for a launch has 3 s
  CHECK_FALSE(sleeps);
  for (auto const& each : said) {
    CHECK(each.front() == '|');  // no failure
  }
}

TEST_CASE("a drain with a limit finds work that is as short as without a limit", "[compare]") {
  if (test::small()) { return; }
  auto const place = place_of(0);
  check(cudaSetDevice(place.id));
  measure::launch_session session{place, measure::clock::gpu, false};
  stream const other{place};
  constexpr int drains = 50;
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  auto const found = [&](int microseconds, double limit) {
    int of = 0;
    for (int i = 0; i < drains; ++i) {
      spin_for<<<1, 1, 0, other.get()>>>(1000U * static_cast<unsigned>(microseconds));
      of += session.drain_is_long(std::chrono::duration<double>{limit}) ? 1 : 0;
    }
    return of;
  };
  int length = 100, without = 0;
  while ((without = found(length, no_limit)) < drains && length < 10'000) { length += 10; }
  int const within = found(length, 60);
  INFO(length << " us: " << without << " without a limit, " << within << " with one");
  if (std::getenv("ASSAY_FULL") != nullptr) {
    for (int us = 80; us <= 200; us += 10) {
      std::printf("%d us: of %d drains %d without a limit and %d with one are long\n", us, drains,
                  found(us, no_limit), found(us, 60));
    }
  }
  // A busy machine may start each thread late, but not all of them.
  CHECK(within > 0);
}
