// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "submit/capturable_fake.hpp"
#include "submit/host_lanes.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/memory/async.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/pool/pool.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::kernel {

/// Sums of fractions: their last bits tell whether the same operations ran in the same order.
template <class T>
__global__ void mix(T const* in, T* out, std::int64_t count, T scale) {
  for (std::int64_t const i : grid_stride(count)) { out[i] = out[i] * scale + in[i] / (scale + 3); }
}

template <class T>
__global__ void count_item(T* counts, int number) {
  atomicAdd(counts + number, T{1});
}

}  // namespace assay::kernel

using namespace assay;
using test::capturable_block;
using test::device_test_lane;
using test::hold_counts;

namespace {

static_assert(submits_to<submit::graph, device_test_lane<capturable_block>>);
static_assert(submits_to<submit::graph, device_test_lane<resource_of<mr::pool, on::device>>>);
static_assert(submits_to<submit::graph, device_test_lane<resource_of<mr::async, on::device>>>);
static_assert(!submits_to<submit::graph, device_test_lane<test::one_block>>);
static_assert(
    !submits_to<submit::graph, device_test_lane<resource_of<mr::cuda_malloc, on::device>>>);
static_assert(!submits_to<submit::graph, test::host_test_lane>);

/// Device memory that is freed at the end of a test.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, count * sizeof(T)));
    check(cudaMemset(data_, 0, count * sizeof(T)));
    check(cudaDeviceSynchronize());
  }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;
  ~device_array() { check_noexcept(cudaFree(data_)); }
  T* get() const noexcept { return data_; }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDefault));
    return host;
  }
  void write(std::vector<T> const& host) {
    check(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyDefault));
    check(cudaDeviceSynchronize());  // the copy may return before its bytes are on the device
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

template <class Memory>
struct device_lanes {
  device_lanes(int count, Memory memory) {
    for (int i = 0; i < count; ++i) {
      streams.emplace_back(on::device{0});
      lanes.push_back({on::device{0}, streams.back(), memory, i});
    }
  }
  bool any_capturing() const {
    for (auto const& one : streams) {
      auto status = cudaStreamCaptureStatusNone;
      check(cudaStreamIsCapturing(one.get(), &status));
      if (status != cudaStreamCaptureStatusNone) { return true; }
    }
    return false;
  }
  std::vector<stream> streams;
  std::vector<device_test_lane<Memory>> lanes;
};

/// Runs `batches` batches of a mode whose items fold a temporary from the lane's memory into the
/// lane's output; the outputs afterwards.
template <class Mode, class Memory>
std::vector<float> mixed_by(Mode const& mode, Memory memory, std::vector<float> const& input,
                            int batches) {
  auto const rows = input.size();
  auto const lanes_count = static_cast<std::size_t>(mode.lanes());
  device_array<float> in{rows};
  device_array<float> out{rows * lanes_count};
  in.write(input);
  check(cudaDeviceSynchronize());
  device_lanes<Memory> made{mode.lanes(), memory};
  auto runner = mode.open(made.lanes);
  auto const count = static_cast<std::int64_t>(rows);
  auto const kernel = kernel::mix<float>;
  auto const shape = kernel::stride_shape(kernel, on::device{0}, rows, 256);
  auto const item = [&](auto& where, int number) {
    auto const bytes = rows * sizeof(float);
    auto* const spare =
        static_cast<float*>(where.memory.allocate(where.stream, bytes, mr::default_alignment));
    auto* const result = out.get() + static_cast<std::size_t>(where.index) * rows;
    check(cudaMemsetAsync(spare, 0, bytes, where.stream.get()));
    kernel::launch(kernel, shape, 0, where.stream, in.get(), spare, count,
                   0.1F + static_cast<float>(number));
    kernel::launch(kernel, shape, 0, where.stream, spare, result, count, 0.7F);
    where.memory.deallocate(where.stream, spare, bytes, mr::default_alignment);
  };
  for (int batch = 0; batch < batches; ++batch) { runner.run(item, 0); }
  return out.read();
}

template <class Call>
std::optional<std::pair<int, std::string>> catch_item_error(Call&& call) {
  try {
    call();
  } catch (submit::item_error const& failed) {
    return std::pair{failed.item(), std::string{failed.what()}};
  }
  return std::nullopt;
}

}  // namespace

TEMPLATE_TEST_CASE("replay and direct submission agree bit for bit", "[submit]", mr::pool,
                   mr::async) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<float> draw{-1, 1};
  std::vector<float> input(10'007);
  for (auto& x : input) { x = draw(random); }
  TestType memory{};
  if constexpr (std::same_as<TestType, mr::pool>) {
    memory.mapped = !test::small();  // initcheck forgets what kernels wrote to mapped memory
  }
  on::device const place{0};
  auto const direct =
      mixed_by(submit::concurrent{.threads = 3, .items = 5}, memory.open(place), input, 3);
  auto const replayed =
      mixed_by(submit::graph{.threads = 3, .items = 5}, memory.open(place), input, 3);
  CHECK(direct[0] != 0.0F);
  CHECK(direct == replayed);
}

TEST_CASE("an item is recorded once for each key, and each batch runs it once", "[submit]") {
  submit::graph const mode{.threads = 2, .items = 6};
  hold_counts holds;
  device_lanes<capturable_block> made{2, capturable_block{{}, &holds}};
  device_array<int> first{12};
  device_array<int> second{12};
  std::atomic<int> recorded = 0;
  {
    auto runner = mode.open(made.lanes);
    auto const item_for = [&](int* counts) {
      return [&recorded, counts](auto& where, int number) {
        ++recorded;
        kernel::launch(kernel::count_item<int>, 1, 1, 0, where.stream, counts, number);
      };
    };
    for (int batch = 0; batch < 5; ++batch) {
      runner.run(item_for(first.get()), 0);
      if (batch < 2) { runner.run(item_for(second.get()), 1); }
    }
    CHECK(recorded == 2 * 12);
    CHECK(first.read() == std::vector<int>(12, 5));
    CHECK(second.read() == std::vector<int>(12, 2));
    CHECK(holds.begun == 4);  // two lanes, two keys
    CHECK(holds.ended == 4);
    CHECK(holds.alive == 4);

    auto moved = std::move(runner);
    auto const times = moved.run(item_for(first.get()), 0);
    CHECK(recorded == 2 * 12);
    CHECK(first.read() == std::vector<int>(12, 6));
    CHECK(times.wall > 0);
    CHECK(times.submit_per_item > 0);
  }
  CHECK(holds.alive == 0);
}

TEST_CASE("no two threads record at once", "[submit]") {
  submit::graph const mode{.threads = 4, .items = 8};
  device_lanes<resource_of<mr::async, on::device>> made{4, mr::async{}.open(on::device{0})};
  device_array<int> counts{32};
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  auto runner = mode.open(made.lanes);
  runner.run([&](auto& where, int number) {
    most = std::max(most.load(), ++inside);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    kernel::launch(kernel::count_item<int>, 1, 1, 0, where.stream, counts.get(), number);
    --inside;
  });
  CHECK(most == 1);
  CHECK(counts.read() == std::vector<int>(32, 1));
}

TEST_CASE("what a graph cannot hold is reported with its item, and leaves no capture open",
          "[submit]") {
  submit::graph const mode{.threads = 2, .items = 4};
  hold_counts holds;
  device_lanes<capturable_block> made{2, capturable_block{{}, &holds}};
  device_array<int> counts{8};
  auto runner = mode.open(made.lanes);
  auto const good = [&](auto& where, int number) {
    kernel::launch(kernel::count_item<int>, 1, 1, 0, where.stream, counts.get(), number);
  };
  for (int const bad : {0, 6, 7}) {
    auto const blocks = catch_item_error([&] {
      runner.run([&](auto& where, int number) {
        good(where, number);
        if (number == bad) { where.synchronize(); }
      });
    });
    REQUIRE(blocks.has_value());
    INFO(blocks->second);
    CHECK(blocks->first == bad);
    CHECK(blocks->second.find("cudaErrorStreamCapture") != std::string::npos);
    CHECK_FALSE(made.any_capturing());

    auto const throws = catch_item_error([&] {
      runner.run([&](auto& where, int number) {
        good(where, number);
        if (number == bad) { throw std::runtime_error("bad column"); }
      });
    });
    REQUIRE(throws.has_value());
    CHECK(throws->first == bad);
    CHECK_FALSE(made.any_capturing());
    CHECK(holds.alive == 0);
    CHECK(holds.begun == holds.ended);
  }
  CHECK(counts.read() == std::vector<int>(8, 0));  // recorded, never run
  runner.run(good);
  CHECK(counts.read() == std::vector<int>(8, 1));
}

TEST_CASE("memory that refuses a capture fails the batch", "[submit]") {
  hold_counts holds;
  device_lanes<capturable_block> made{1, capturable_block{{}, &holds, true}};
  auto runner = submit::graph{.threads = 1, .items = 2}.open(made.lanes);
  auto const refused = catch_item_error([&] { runner.run([](auto&, int) {}); });
  REQUIRE(refused.has_value());
  CHECK(refused->second.find("no room for a graph") != std::string::npos);
}
