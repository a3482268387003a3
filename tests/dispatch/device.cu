// SPDX-License-Identifier: Apache-2.0
/// @file
/// Device paths on a GPU: the results of every path, the file, the refusals, and predicted times
/// beside measured ones.

#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "folder.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/dispatch/device.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/measure/calibrate.hpp>
#include <assay/measure/regret.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pool/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::kernel {

/// y += a x, but for the first elements.
template <class T>
__global__ void test_saxpy(T a, T const* x, T* y, std::size_t left_out, std::size_t count) {
  for (auto const i : grid_stride(static_cast<std::uint64_t>(count))) {
    if (i >= left_out) { y[i] += a * x[i]; }
  }
}

}  // namespace assay::kernel

using namespace assay;
namespace choose = dispatch::choose;
using dispatch::path;
using test::contains;
using test::message_of;

namespace {

constexpr on::device gpu{0};

struct device_saxpy : test::saxpy {
  std::size_t left_out = 0;
  unsigned threads = 256;
  using saxpy::run;
  void run(cudaStream_t stream, float const* from, float* to) const {
    auto const shape = kernel::stride_shape(kernel::test_saxpy<float>, gpu, x.size(), 256);
    kernel::test_saxpy<float>
        <<<shape.blocks, threads, 0, stream>>>(a, from, to, left_out, x.size());
  }
};
auto make(std::size_t left_out = 0) {
  return [=](setup& arrays, std::size_t size) -> device_saxpy {
    return {test::make_saxpy(arrays, size), left_out};
  };
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<path> const paths{on::host{1}, on::device{0}};

/// One calibration for all tests.
dispatch::costs const& the_costs() {
  static auto const costs = [] {
    auto const begin = now();
    auto found = measure::calibrate<device_saxpy>(paths, {.sizes = {1, 1 << 22}, .make = make()});
    std::cout << "calibration: " << now() - begin << " s\n";
    return found;
  }();
  return costs;
}

/// Floats in memory of a type, which the host reads and writes by copies.
class typed_array {
 public:
  typed_array(memory_type type, std::vector<float> const& values)
      : type_(type), size_(values.size()) {
    auto const bytes = size_ * sizeof(float);
    if (type == memory_type::pageable) {
      own_.resize(size_);
      data_ = own_.data();
    } else if (type == memory_type::managed) {
      check(cudaMallocManaged(&data_, bytes + 1));
    } else if (type == memory_type::page_locked) {
      check(cudaMallocHost(&data_, bytes + 1));
    } else {
      check(cudaMalloc(&data_, bytes + 1));
    }
    check(cudaMemcpy(data_, values.data(), bytes, cudaMemcpyDefault));
  }
  typed_array(typed_array const&) = delete;
  typed_array& operator=(typed_array const&) = delete;
  ~typed_array() {
    if (type_ == memory_type::page_locked) {
      check_noexcept(cudaFreeHost(data_));
    } else if (type_ != memory_type::pageable) {
      check_noexcept(cudaFree(data_));
    }
  }
  std::span<float> span() const { return {data_, size_}; }
  std::vector<float> values() const {
    std::vector<float> all(size_);
    check(cudaMemcpy(all.data(), data_, size_ * sizeof(float), cudaMemcpyDefault));
    return all;
  }

 private:
  memory_type type_;
  std::size_t size_;
  std::vector<float> own_;
  float* data_ = nullptr;
};

std::vector<float> random_floats(std::size_t size, std::uint64_t seed) {
  std::vector<float> all(size);
  for (std::size_t i = 0; i < size; ++i) { all[i] = random_value(uniform<float>{-1, 1}, seed, i); }
  return all;
}

/// The first wrong element of y, against arithmetic in double; -1 for none.
std::ptrdiff_t first_wrong(std::vector<float> const& x, std::vector<float> const& y,
                           std::vector<float> const& got) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const product = 2.0 * double{x[i]};
    double const wanted = product + double{y[i]};
    // A rounding of the product and one of the sum; a fused operation has one of both.
    double const allowed = 0x1p-24 * (std::abs(product) + std::abs(wanted)) * 1.0001;
    if (!(std::abs(double{got[i]} - wanted) <= allowed)) { return static_cast<std::ptrdiff_t>(i); }
  }
  return -1;
}

std::size_t const held_out[] = {1, 2, 31, 997, 65'537, 1'000'003};

}  // namespace

TEST_CASE("every path is right for every memory and size", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const memory = mr::pool{}.open(gpu);
  stream const where{gpu};
  constexpr memory_type kinds[] = {memory_type::pageable, memory_type::page_locked,
                                   memory_type::managed, memory_type::device};
  for (auto const& each : paths) {
    dispatch::engine const run{the_costs(), memory, choose::always{each}};
    for (auto const size : held_out) {
      auto const x = random_floats(size, seed);
      auto const y = random_floats(size, seed + 1);
      for (auto const from : kinds) {
        for (auto const to : kinds) {
          INFO(each.describe() << ", " << size << " elements from " << in_words(from) << " to "
                               << in_words(to));
          bool const resident = from == memory_type::device || to == memory_type::device;
          if (each.host() != nullptr && resident) { continue; }
          typed_array const in{from, x};
          typed_array const out{to, y};
          run(where, device_saxpy{{2.0F, in.span(), out.span()}});
          where.synchronize();
          CHECK(first_wrong(x, y, out.values()) == -1);
          CHECK(run.last().where() == each);
        }
      }
    }
    CHECK(message_of([&] { run(where, device_saxpy{}); }) == "nothing was thrown");  // size 0
  }
  where.synchronize();
}

TEST_CASE("a wrong result of a device path is found before the path is timed", "[dispatch]") {
  auto const costs =
      measure::calibrate<device_saxpy>({on::host{1}, gpu}, {.sizes = {1, 5000}, .make = make(1)});
  CHECK(costs.paths()[0].wrong.empty());
  CHECK_THAT(costs.paths()[1].wrong, contains("element 0 of array 1 differs from that of host{1}"));
  // And the verifier of this file finds it too.
  CHECK(first_wrong({1, 1}, {1, 1}, {1, 3}) == 0);
  CHECK(first_wrong({1, 1}, {1, 1}, {3, 3}) == -1);
}

TEST_CASE("calls on one stream follow each other, and a device path does not wait", "[dispatch]") {
  constexpr std::size_t size = std::size_t{1} << 24;
  auto const memory = mr::pool{}.open(gpu);
  stream const where{gpu};
  dispatch::engine const on_device{the_costs(), memory, choose::always{gpu}};
  dispatch::engine const on_host{the_costs(), memory, choose::always{on::host{1}}};
  typed_array const x{memory_type::page_locked, std::vector<float>(size, 1.0F)};
  typed_array const y{memory_type::page_locked, std::vector<float>(size, 1.0F)};
  device_saxpy const call{{2.0F, x.span(), y.span()}};
  on_device(where, call);  // the pool and the kernel are ready after it
  where.synchronize();
  auto const begin = now();
  on_device(where, call);
  auto const returned = now() - begin;
  on_device(where, call);
  on_host(where, call);
  auto const complete = now() - begin;
  std::cout << "a call over page-locked data returned after " << 1e6 * returned
            << " us, three took " << 1e3 * complete << " ms\n";
  CHECK(returned < 0.2 * complete);  // three copies of 64 MiB take 3.6 ms
  CHECK(y.values() == std::vector<float>(size, 9.0F));
}

TEST_CASE("what a path cannot use is refused in a line", "[dispatch]") {
  auto const memory = mr::pool{}.open(gpu);
  stream const where{gpu};
  dispatch::engine const on_host{the_costs(), memory, choose::always{on::host{1}}};
  typed_array const x{memory_type::device, {1, 2, 3}};
  std::vector<float> y(3);
  CHECK(message_of([&] { on_host(where, device_saxpy{{2.0F, x.span(), y}}); }) ==
        "saxpy on host{1}: array 0 is in the memory of device 0, which this path cannot use: copy "
        "it, or name another path");
  dispatch::engine const free{the_costs(), memory};
  free(where, device_saxpy{{2.0F, x.span(), y}});
  CHECK(free.last().where().device() != nullptr);
  CHECK_THAT(free.last().describe(), contains("host{1} impossible"));
  where.synchronize();
  CHECK(y == std::vector<float>{2, 4, 6});
  // A kernel that could not be launched, which only the runtime's last error tells.
  device_saxpy const unlaunchable{{2.0F, x.span(), y}, 0, 4096};
  unlaunchable.run(where.get(), x.span().data(), nullptr);
  auto const refused = cudaGetLastError();
  REQUIRE(refused != cudaSuccess);
  CHECK_THAT(message_of([&] { free(where, unlaunchable); }), contains(cudaGetErrorName(refused)));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("the file keeps the device, and another device is refused", "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  dispatch::save(file, the_costs());
  auto const read = dispatch::load(file, gpu);
  CHECK(dispatch::to_text(read) == dispatch::to_text(the_costs()));
  auto const text = dispatch::to_text(the_costs());
  auto edited = text;
  edited[edited.find("\ndevice ") + 8] = '#';
  write_atomically(file, edited);
  CHECK_THAT(message_of([&] { dispatch::load(file, gpu); }), contains("its checksum is wrong"));
  auto foreign = the_costs().measured();
  foreign.device = "another GPU";
  dispatch::save(file, dispatch::costs{foreign});
  CHECK_THAT(message_of([&] { dispatch::load(file, gpu); }),
             contains("its device is 'another GPU', and this machine's is '"));
  foreign = the_costs().measured();
  for (auto& each : foreign.paths) {
    if (each.where.device() != nullptr) { each.where.place = on::device{7}; }
  }
  dispatch::save(file, dispatch::costs{foreign});
  CHECK_THAT(message_of([&] { dispatch::load(file, gpu); }),
             contains("its paths are on device{7}, and the device asked for is device{0}"));
  CHECK_THAT(message_of([&] { dispatch::engine{the_costs()}; }), contains("runs host paths"));
}

TEST_CASE("predicted times beside measured ones", "[dispatch]") {
  REQUIRE(the_costs().measured().links.size() == 2);
  for (auto const& each : the_costs().measured().links) {
    std::cout << in_words(each.memory) << ": " << 1e6 * each.latency_seconds << " us, "
              << 1e9 * each.seconds_per_byte_in << " and " << 1e9 * each.seconds_per_byte_back
              << " ns a byte in and back\n";
    CHECK((test::small() || each.seconds_per_byte_in + each.seconds_per_byte_back > 0));
  }
  for (auto const memory : {memory_type::device, memory_type::page_locked, memory_type::pageable}) {
    auto const timed = measure::time_calls<device_saxpy>(
        the_costs(), {.sizes = {1, 1 << 22}, .count = 12, .make = make(), .memory = memory});
    for (auto const& call : timed.calls) {
      for (std::size_t p = 0; p < paths.size(); ++p) {
        auto const said = the_costs().predict(p, call.known);
        double const is = 0.5 * (call.halves[0][p] + call.halves[1][p]);
        std::cout << in_words(memory) << ' ' << call.known.amount.size << ": " << said.describe()
                  << "; measured " << dispatch::short_text(is) << ", error "
                  << std::round(100 * (said.total.seconds / is - 1)) << " %\n";
        CHECK(std::isfinite(is) == std::isfinite(said.total.seconds));
      }
    }
    std::cout << measure::judge(timed, the_costs(), choose::by_model{}).describe() << '\n';
  }
}

TEST_CASE("mixed calls use each array where it lies", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::optional<device_saxpy> task;
  auto const kept = [&](setup& arrays, std::size_t size) {
    return task.emplace(device_saxpy{test::make_saxpy(arrays, size)});
  };
  dispatch::task_bench<device_saxpy> bench{{on::host{1}, gpu}, kept, seed};
  bench.mix();
  for (int i = 0; i < (test::small() ? 5 : 40); ++i) {
    bench.open(1'009);
    auto const& arrays = bench.known().arrays;
    for (int k = 0; k < 2; ++k) {
      auto const memory = arrays[k].memory;
      auto const* const data = k == 0 ? task->x.data() : task->y.data();
      CHECK((memory == memory_type::device || memory_place_of(data).type == memory));
    }
    std::vector<float> const x{task->x.begin(), task->x.end()};
    std::vector<float> const y{task->y.begin(), task->y.end()};
    (void)bench.seconds(1, 1);
    std::vector<float> const got{task->y.begin(), task->y.end()};
    if (arrays[1].memory == memory_type::device) {
      CHECK(got == y);  // the result stays on the device
    } else {
      CHECK(first_wrong(x, y, got) == -1);
    }
  }
}

TEST_CASE("what an engine adds to a call", "[dispatch]") {
  auto const memory = mr::pool{}.open(gpu);
  stream const where{gpu};
  dispatch::engine const run{the_costs(), memory, choose::always{gpu}};
  typed_array const x{memory_type::device, {1, 2, 3}};
  typed_array const y{memory_type::device, {1, 2, 3}};
  device_saxpy const call{{2.0F, x.span(), y.span()}};
  constexpr int calls = 200;  // fewer than a stream can queue
  auto const ns = [&](auto const& once) {
    once();
    where.synchronize();
    auto const begin = now();
    for (int i = 0; i < calls; ++i) { once(); }
    auto const taken = now() - begin;
    where.synchronize();
    return 1e9 * taken / calls;
  };
  std::cout << "ns a call: " << ns([&] { run(where, call); }) << " by the engine, "
            << ns([&] { call.run(where.get(), x.span().data(), y.span().data()); })
            << " by run alone, " << ns([&] { (void)memory_place_of(x.span().data()); })
            << " cudaPointerGetAttributes of device memory\n";
  CHECK(run.last().where() == path{gpu});
}
