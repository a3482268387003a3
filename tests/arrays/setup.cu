// SPDX-License-Identifier: Apache-2.0
/// @file
/// A setup in the memory of a device does what it does in the memory of the host.
#include "catch.hpp"

#include <assay/arrays/device_arrays.cuh>
#include <assay/arrays/setup.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

template <class T>
__global__ void scale_elements(std::size_t n, T const* x, T* y) {
  for (auto const i : kernel::grid_stride(n)) { y[i] = 2 * x[i]; }
}

__global__ void scale_halves(std::size_t n, __half const* x, __half* y) {
  for (auto const i : kernel::grid_stride(n)) { y[i] = __hadd(x[i], x[i]); }
}

template <class T>
__global__ void add_to_elements(std::size_t n, T* z, T by) {
  for (auto const i : kernel::grid_stride(n)) { z[i] += by; }
}

constexpr on::device place{0};

setup on_device(stream const& where, std::uint64_t seed) {
  return setup{std::make_unique<arrays::device_array_store>(place, where, seed), seed};
}

template <class T>
std::vector<T> copied(array_view<T> array, stream const& where) {
  std::vector<T> held(array.size());
  check(cudaMemcpyAsync(held.data(), array.data(), held.size() * sizeof(T), cudaMemcpyDefault,
                        where.get()));
  where.synchronize();
  return held;
}

/// Elements of the device that differ in any bit from what the host computes.
template <class T>
std::size_t differing(array_view<T> array, stream const& where) {
  auto const held = copied(array, where);
  std::size_t count = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    T const seeded = array.seeded(i);
    count += std::memcmp(&seeded, &held[i], sizeof(T)) != 0;
  }
  return count;
}

}  // namespace

TEMPLATE_TEST_CASE("random integers of a device have the host's bits", "[arrays]", std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, int, unsigned, std::int64_t,
                   std::uint64_t, long long, char) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  auto make = on_device(where, seed);
  constexpr std::size_t n = 1'000'003;
  CHECK(differing(make.random<TestType>(n), where) == 0);
  CHECK(differing(make.random<TestType>(n, {.low = 3, .high = 101}), where) == 0);
  CHECK(differing(make.random<TestType>(1, {.low = 7, .high = 7}), where) == 0);
  auto const least = std::numeric_limits<TestType>::min();
  CHECK(differing(make.inout<TestType>(n, {.low = least, .high = 100}), where) == 0);
}

TEMPLATE_TEST_CASE("random floating numbers of a device have the host's bits", "[arrays]", float,
                   double) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  auto make = on_device(where, seed);
  constexpr std::size_t n = 1'000'003;
  CHECK(differing(make.random<TestType>(n), where) == 0);
  // Ranges whose width and products are not exact, so that each rounding shows.
  CHECK(differing(make.random<TestType>(n, {.low = TestType(0.1), .high = TestType(0.7)}), where) ==
        0);
  CHECK(differing(make.random<TestType>(n, {.low = TestType(-1.0 / 3), .high = TestType(1e6)}),
                  where) == 0);
  CHECK(differing(make.inout<TestType>(n, {.low = TestType(-1e-3), .high = TestType(3e-5)}),
                  where) == 0);
}

TEMPLATE_TEST_CASE("random small floats of a device have the host's bits", "[arrays]", __half,
                   __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  constexpr std::size_t n = 1'000'003;
  constexpr float tiny = 3e-8F;  // subnormal numbers and zeros of the smaller formats
  for (auto const range :
       {uniform<float>{}, uniform<float>{-400, 300}, uniform<float>{-tiny, 3 * tiny}}) {
    auto on_gpu = on_device(where, seed);
    setup on_cpu{std::make_unique<arrays::host_array_store>(1), seed};
    auto const got = copied(on_gpu.random<TestType>(n, range), where);
    auto const wanted = on_cpu.random<TestType>(n, range);
    CHECK(std::memcmp(got.data(), wanted.data(), n * sizeof(TestType)) == 0);
  }
}

TEMPLATE_TEST_CASE("special values of a device have the host's bits", "[arrays]", float, double,
                   std::uint8_t, std::int16_t, int, std::uint64_t, __half, __nv_fp8_e4m3) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  constexpr std::size_t n = 100'003;
  using enum special_values;
  for (auto const kind : {zeros, ones, extremes, denormals, nan, infinities}) {
    INFO(to_string(kind));
    auto on_gpu = on_device(where, seed);
    setup on_cpu{std::make_unique<arrays::host_array_store>(1), seed};
    auto const got = copied(on_gpu.with(kind).random<TestType>(n), where);
    auto const wanted = on_cpu.with(kind).random<TestType>(n);
    CHECK(std::memcmp(got.data(), wanted.data(), n * sizeof(TestType)) == 0);
  }
}

TEST_CASE("results of half precision are checked on a device", "[arrays]") {
  stream const where{place};
  auto make = on_device(where, test::fresh_seed());
  constexpr std::size_t n = 100'003;
  auto const x = make.random<__half>(n);
  auto const y = make.output<__half>(n);
  make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
  auto const run = [&](std::size_t written) {
    make.poison();
    kernel::launch(scale_halves, 8, 256, 0, where, written, x.data(), y.data());
  };
  run(n);
  CHECK(make.verify() == std::nullopt);
  run(n - 5);
  CHECK_THAT(make.verify().value_or("nothing"),
             contains("element 99998 of array 1 was never written"));
}

TEMPLATE_TEST_CASE("random multiples of a device have the host's bits", "[arrays]", float, double) {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  auto make = on_device(where, seed);
  constexpr std::size_t n = 1'000'003;
  CHECK(
      differing(make.random_multiples<TestType>(n, {-(1 << 17), (1 << 17) - 1}, TestType(0x1p-17)),
                where) == 0);
  CHECK(differing(make.random_multiples<TestType>(n, {}, TestType(0.1)), where) == 0);
}

TEST_CASE("zeros are zero, and other lanes share inputs alone, on a device", "[arrays]") {
  stream const where{place};
  auto make = on_device(where, 1);
  auto const x = make.random<float>(1000);
  auto const counts = make.zeros<unsigned>(1000);
  CHECK(copied(counts, where) == std::vector<unsigned>(1000));
  auto other = make.for_another_lane();
  CHECK(other.random<float>(1000).data() == x.data());
  CHECK(other.zeros<unsigned>(1000).data() != counts.data());
}

TEST_CASE("arrays of a device take the caller's elements", "[arrays]") {
  stream const where{place};
  auto make = on_device(where, 1);
  std::vector<short> const data{4, -5, 6};
  auto const changed = data;
  auto const a = make.from(data);
  auto const b = make.inout(changed);
  CHECK(copied(a, where) == data);
  CHECK(copied(b, where) == data);
  CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 256 == 0);
}

TEST_CASE("poison reaches outputs alone and restore inouts alone, on a device", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  auto make = on_device(where, seed);
  constexpr std::size_t n = 100'003;
  auto const x = make.random<float>(n);
  auto const y = make.output<int>(n);
  auto const z = make.inout<float>(n);
  CHECK(copied(y, where) == std::vector<int>(n, -1));
  kernel::launch(add_to_elements<int>, 8, 256, 0, where, n, y.data(), 7);
  kernel::launch(add_to_elements<float>, 8, 256, 0, where, n, z.data(), 3.0F);
  CHECK(copied(y, where) == std::vector<int>(n, 6));
  CHECK(differing(z, where) == n);
  make.poison();
  CHECK(copied(y, where) == std::vector<int>(n, -1));
  CHECK(differing(x, where) == 0);
  CHECK(differing(z, where) == n);
  make.restore();
  CHECK(differing(z, where) == 0);
}

TEST_CASE("pieces of an array come back one behind the other", "[arrays]") {
  stream const where{place};
  arrays::device_array_store store{place, where, 1};
  std::vector<unsigned char> content(100'000);
  for (std::size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<unsigned char>(random_bits(1, i));
  }
  auto* const in = store.allocate(content.size());
  store.copy_in(in, content.data(), content.size());
  constexpr std::size_t bytes = 901;
  for (std::size_t const count : {1U, 2U, 64U, 65U, 3U}) {
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i < count; ++i) { offsets.push_back(i * 1501 + count); }
    std::vector<unsigned char> got(count * bytes);
    store.copy_out_pieces(got.data(), in, bytes, offsets);
    for (std::size_t i = 0; i < count; ++i) {
      INFO("piece " << i << " of " << count);
      CHECK(std::memcmp(got.data() + i * bytes, content.data() + offsets[i], bytes) == 0);
    }
  }
}

TEST_CASE("verification finds a corrupted element on a device", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stream const where{place};
  auto make = on_device(where, seed);
  constexpr std::size_t n = 100'003;
  auto const x = make.random<float>(n);
  auto const y = make.output<float>(n);
  auto const z = make.inout<std::int64_t>(n, {.low = -1000, .high = 1000});
  make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
  make.expect(z, [z](std::size_t i) { return z.seeded(i) + 1; });
  auto const run = [&](std::size_t written) {
    make.poison();
    make.restore();
    kernel::launch(scale_elements<float>, 8, 256, 0, where, written, x.data(), y.data());
    kernel::launch(add_to_elements<std::int64_t>, 8, 256, 0, where, n, z.data(), 1);
  };
  run(n);
  CHECK(make.verify() == std::nullopt);
  auto const at = random_bits(seed, 99) % n;
  kernel::launch(add_to_elements<float>, 1, 1, 0, where, 1, y.data() + at, 1e-5F);
  CHECK_THAT(make.verify().value_or("nothing"),
             contains("element " + std::to_string(at) + " of array 1 is "));
  run(n);
  kernel::launch(add_to_elements<std::int64_t>, 1, 1, 0, where, 1, z.data() + at, 1);
  CHECK_THAT(make.verify().value_or("nothing"),
             contains("element " + std::to_string(at) + " of array 2 is "));
  run(n - 5);
  CHECK_THAT(
      make.verify().value_or("nothing"),
      contains("element 99998 of array 1 was never written") &&
          contains("; 5 of 100003 elements are wrong, the error at element 99998 is no number"));
  run(n);
  CHECK(make.verify() == std::nullopt);
}

TEST_CASE("an array that no device can hold is refused with its size and a remedy", "[arrays]") {
  stream const where{place};
  auto make = on_device(where, 1);
  auto const said = message_of([&] { (void)make.output<char>(std::size_t{1} << 50); });
  INFO(said);
  CHECK_THAT(said, contains("device 0: no room for 1024 TiB") && contains(" are free") &&
                       contains("smaller arrays"));
  CHECK_THROWS_AS(make.output<char>(std::size_t{1} << 50), mr::out_of_memory);
  auto const x = make.random<float>(1000);  // the failure leaves the device as it was
  CHECK(differing(x, where) == 0);
}
