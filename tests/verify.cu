// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verify` on a device: what only streams, graphs and devices can show.

#include "catch.hpp"

#include <assay/arrays/mdspan.hpp>
#include <assay/core/stream.hpp>
#include <assay/verify.cuh>

#include <cuda/std/mdspan>
#include <cuda/std/span>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace assay;
using assay::test::contains;

namespace {

constexpr unsigned block = 128;

__global__ void scale_and_add(std::size_t n, float const* x, float beta, float* y) {
  auto const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = 2 * x[i] + beta * y[i]; }
}

__global__ void scale(std::size_t n, float const* x, float* y) {
  auto const i = blockIdx.x * std::size_t{block} + threadIdx.x;
  if (i < n) { y[i] = 2 * x[i]; }
}
__global__ void scale_without_tail(std::size_t n, float const* x, float* y) {
  auto const i = blockIdx.x * std::size_t{block} + threadIdx.x;
  y[i] = i < n ? 2 * x[i] : 0;
}
__global__ void scale_at_bytes(std::size_t n, float const* x, float* y) {
  auto const i = blockIdx.x * std::size_t{block} + threadIdx.x;
  auto const bytes = static_cast<int>(i * sizeof(float));
  if (i < n && bytes >= 0) { y[static_cast<unsigned>(bytes) / sizeof(float)] = 2 * x[i]; }
}
/// A vector of four from any element on, which the hardware refuses.
__global__ void scale_in_fours(std::size_t n, float const* x, float* y) {
  auto const i = threadIdx.x;
  if (i + 5 > n) { return; }
  auto const four = *reinterpret_cast<float4 const*>(x + 1);
  y[i] = four.x + four.y + four.z + four.w;
}
__device__ float kept[1 << 21];
__global__ void keep(std::size_t n, float const* x) {
  auto const i = blockIdx.x * std::size_t{block} + threadIdx.x;
  if (i < n) { kept[i] = 2 * x[i]; }
}
__global__ void bring(std::size_t n, float* y) {
  auto const i = blockIdx.x * std::size_t{block} + threadIdx.x;
  if (i < n) { y[i] = kept[i]; }
}
/// A warp for each row.
__global__ void scale_rows(std::size_t rows, std::size_t columns, float const* x, std::size_t ldx,
                           float* y, std::size_t ldy) {
  auto const row = blockIdx.x * std::size_t{block / 32} + threadIdx.x / 32;
  for (std::size_t i = threadIdx.x % 32; row < rows && i < columns; i += 32) {
    y[row * ldy + i] = 2 * x[row * ldx + i];
  }
}
template <class T, class Layout>
using int_matrix = ::cuda::std::mdspan<T, ::cuda::std::dextents<int, 2>, Layout>;

template <class In, class Out>
__global__ void scale_views(In x, Out y) {
  int const row = static_cast<int>(blockIdx.x * (block / 32) + threadIdx.x / 32);
  for (int i = threadIdx.x % 32; row < x.extent(0) && i < x.extent(1); i += 32) {
    y(row, i) = 2 * x(row, i);
  }
}
__global__ void scale_spans(::cuda::std::span<float const> x, ::cuda::std::span<float> y) {
  auto const i = blockIdx.x * std::size_t{block} + threadIdx.x;
  if (i < x.size()) { y[i] = 2 * x[i]; }
}
__global__ void wait_for(long long cycles) {
  auto const begin = clock64();
  while (clock64() - begin < cycles) {}
}

unsigned blocks(std::size_t n) { return static_cast<unsigned>((n + block - 1) / block); }

template <class Launch>
verification of_scale(Launch launch, verify_options const& chosen = {}) {
  return verify(
      [launch](setup& make, std::size_t n) {
        auto const x = make.random<float>(n);
        auto const y = make.output<float>(n);
        make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
        return [=](cudaStream_t on) {
          if (n > 0) { launch(on, n, x.data(), y.data()); }
        };
      },
      chosen);
}

/// The same by `launch(stream, x, y)` over rows.
template <class Launch>
verification of_rows(Launch launch) {
  return verify(
      [launch](setup& make, std::size_t rows, std::size_t columns) {
        auto const x = make.random<float>(matrix{rows, columns});
        auto const y = make.output<float>(matrix{rows, columns});
        make.expect(y, [x](std::size_t row, std::size_t i) { return 2.0 * x.seeded(row, i); });
        return [=](cudaStream_t on) { launch(on, x, y); };
      },
      {.only = test::small() ? sizes{{1, 1}, {2, 1}, {5, 33}} : sizes{}.at_least(1)});
}

verify_options fewer() {
  return test::small() ? verify_options{.only = {0, 1, 129}} : verify_options{};
}

}  // namespace

TEST_CASE("a right kernel passes at all sizes and values", "[verify]") {
  auto const seen = of_scale([](cudaStream_t on, std::size_t n, float const* x,
                                float* y) { scale<<<blocks(n), block, 0, on>>>(n, x, y); },
                             fewer());
  INFO(seen);
  CHECK(seen);
  CHECK(seen.left_out.empty());
}

TEST_CASE("a write behind the end is seen beside right results", "[verify]") {
  auto const seen =
      of_scale([](cudaStream_t on, std::size_t n, float const* x,
                  float* y) { scale_without_tail<<<blocks(n), block, 0, on>>>(n, x, y); },
               fewer());
  CHECK_THAT(
      seen.failure,
      contains("n = 1, zeros: it wrote behind array 1, at indices 1 to 127, where the last one is "
               "0;"));
}

TEST_CASE("a beta of 0 that poison goes through is told as a read of the output", "[verify]") {
  auto const seen = of_scale(
      [](cudaStream_t on, std::size_t n, float const* x, float* y) {
        if (n > 0) { scale_and_add<<<blocks(n), block, 0, on>>>(n, x, 0.0F, y); }
      },
      fewer());
  CHECK_THAT(seen.failure, contains("n = 1, zeros: element 0 of array 1 ") &&
                               contains(" was computed from what array 1 held before the call") &&
                               contains("; where calls read array 1, declare it by make.inout"));
}

TEST_CASE("a launch that the device refuses is an error of that size", "[verify]") {
  auto const seen = of_scale(
      [](cudaStream_t on, std::size_t n, float const* x, float* y) {
        auto const threads = n <= 64 ? block : 4096;
        scale<<<blocks(n), threads, 0, on>>>(n, x, y);
      },
      fewer());
  CHECK_THAT(seen.failure, contains("the call threw") && contains("cudaErrorInvalid"));
}

TEST_CASE("work outside the given stream is found while a graph records the call", "[verify]") {
  // A call that waits cannot be recorded, and is right without its stream, too.
  auto const synchronous = of_scale(
      [](cudaStream_t on, std::size_t n, float const* x, float* y) {
        check(cudaStreamSynchronize(on));
        scale<<<blocks(n), block>>>(n, x, y);
        check(cudaDeviceSynchronize());
      },
      fewer());
  CHECK(synchronous);
  auto const own = std::make_shared<stream>(on::device{0});
  auto const seen = of_scale(
      [own](cudaStream_t, std::size_t n, float const* x, float* y) {
        scale<<<blocks(n), block, 0, own->get()>>>(n, x, y);
        while (cudaStreamQuery(own->get()) == cudaErrorNotReady) {}
      },
      fewer());
  CHECK_THAT(seen.failure, contains("works outside the stream that it is given"));
}

TEST_CASE("an offset in bytes that overflows is found at the size beyond 2^31 bytes", "[verify]") {
  if (test::small()) { return; }
  auto const seen = of_scale([](cudaStream_t on, std::size_t n, float const* x,
                                float* y) { scale_at_bytes<<<blocks(n), block, 0, on>>>(n, x, y); },
                             {.only = {5}, .huge = true});
  INFO(seen);
  CHECK_THAT(seen.failure, contains("n = 536870913, random values: element 536870912 of array 1"));
}

TEST_CASE("calls that share memory are found on two streams at once", "[verify]") {
  auto const seen = of_scale(
      [](cudaStream_t on, std::size_t n, float const* x, float* y) {
        keep<<<blocks(n), block, 0, on>>>(n, x);
        wait_for<<<1, 1, 0, on>>>(2'000'000);  // a millisecond
        bring<<<blocks(n), block, 0, on>>>(n, y);
      },
      fewer());
  CHECK_THAT(seen.failure, contains("two calls at once, on two streams"));
}

TEST_CASE("a call that synchronises is verified, though no graph can record it", "[verify]") {
  auto const seen = of_scale(
      [](cudaStream_t on, std::size_t n, float const* x, float* y) {
        scale<<<blocks(n), block, 0, on>>>(n, x, y);
        check(cudaStreamSynchronize(on));
      },
      fewer());
  INFO(seen);
  CHECK(seen);
}

TEST_CASE("rows of all leading dimensions are right, or their mistakes are found", "[verify]") {
  using rows = matrix_view<float>;
  auto const warps = [](std::size_t n) { return blocks(32 * n); };
  auto const right = of_rows([=](cudaStream_t on, rows x, rows y) {
    scale_rows<<<warps(x.rows()), block, 0, on>>>(
        x.rows(), x.columns(), x.data(), x.leading_dimension(), y.data(), y.leading_dimension());
  });
  INFO(right);
  CHECK(right);
  CHECK_THAT(of_rows([=](cudaStream_t on, rows x, rows y) {
               scale_rows<<<warps(x.rows()), block, 0, on>>>(
                   x.rows(), x.columns(), x.data(), x.columns(), y.data(), y.leading_dimension());
             }).failure,
             contains("{2, 1}, ones, leading dimension of array 0 = 2, leading dimension of array "
                      "1 = 16: row 1, column 0 of array 1 (leading dimension 16) is nan"));
  CHECK_THAT(of_rows([=](cudaStream_t on, rows x, rows y) {
               auto const all = std::min(x.leading_dimension(), y.leading_dimension());
               scale_rows<<<warps(x.rows()), block, 0, on>>>(
                   x.rows(), all, x.data(), x.leading_dimension(), y.data(), y.leading_dimension());
             }).failure,
             contains("{1, 1}, ones, leading dimension of array 0 = 2, leading dimension of array "
                      "1 = 16: it wrote into the padding behind row 0 of array 1"));
}

TEST_CASE("kernels read rows of the caller's data, and samples of two results are checked",
          "[verify]") {
  std::vector<float> data(300 * 70);
  for (std::size_t i = 0; i < data.size(); ++i) { data[i] = static_cast<float>(i % 1001) - 500; }
  auto const of_data = [&](float error) {
    return verify([&, error](setup& make) {
      matrix const shape{300, 70};
      auto const x = make.from(data, shape);
      auto const y = make.output<float>(shape), z = make.output<float>(shape);
      make.expect(
          std::tie(y, z),
          [x](std::size_t row, std::size_t i) {
            auto const right = 2.0 * x.seeded(row, i);
            return std::pair{right, 2 * right};
          },
          sampled{512});
      return [=](cudaStream_t on) {
        auto const launch = [&](matrix_view<float> from, matrix_view<float> to) {
          scale_rows<<<blocks(32 * 300), block, 0, on>>>(
              300, 70, from.data(), from.leading_dimension(), to.data(), to.leading_dimension());
        };
        launch(x, y);
        launch(y, z);
        if (error != 0) {  // the last element is always in the sample
          check(cudaMemcpyAsync(z.data() + 299 * z.leading_dimension() + 69, &error, sizeof error,
                                cudaMemcpyHostToDevice, on));
        }
      };
    });
  };
  auto const right = of_data(0);
  INFO(right);
  CHECK(right);
  CHECK(right.notes.size() == 2);
  CHECK_THAT(of_data(1e9F).failure, contains("row 299, column 69 of array 2"));
}

TEST_CASE("kernels take arrays as views of CCCL", "[verify]") {
  auto const seen = verify(
      [](setup& make, std::size_t rows, std::size_t columns) {
        auto const x = make.random<float>(matrix{rows, columns});
        auto const y = make.output<float>(rows * columns);
        auto const z = make.output<float>(rows * columns);
        make.expect(y, [=](std::size_t i) { return 2.0 * x.seeded(i / columns, i % columns); });
        make.expect(z, [=](std::size_t i) { return 4.0 * x.seeded(i / columns, i % columns); });
        return [=](cudaStream_t on) {
          int_matrix<float const, ::cuda::std::layout_stride> const in = mdspan_of<int>(x);
          auto const out = mdspan_of<int>(y, rows, columns);
          scale_views<<<blocks(32 * rows), block, 0, on>>>(in, out);
          scale_spans<<<blocks(y.size()), block, 0, on>>>(y, z);
        };
      },
      {.only = test::small() ? sizes{{1, 1}, {5, 33}} : sizes{{1, 1}, {2, 1}, {5, 33}, {64, 64}}});
  INFO(seen);
  CHECK(seen);
}

// Hidden: it leaves the device without work of this process, so that it has a process of its own.
TEST_CASE("a misaligned load", "[.misaligned]") {
  std::puts(of_scale(
                [](cudaStream_t on, std::size_t n, float const* x, float* y) {
                  scale<<<blocks(n), block, 0, on>>>(n, x, y);
                  scale_in_fours<<<1, 1, 0, on>>>(n, x, y);
                },
                {.only = {0, 1, 257, 513}})
                .failure.c_str());
}

// Hidden: each ends its process. The kernels end by themselves, in case nothing ends them.
constexpr long long half_a_minute = 60'000'000'000;
TEST_CASE("a kernel that does not end", "[.endless]") {
  (void)of_scale(
      [](cudaStream_t on, std::size_t n, float const* x, float* y) {
        scale<<<blocks(n), block, 0, on>>>(n, x, y);
        if (n == 257) { wait_for<<<1, 1, 0, on>>>(half_a_minute); }
      },
      {.only = {1, 257}, .max_call_seconds = 2});
}
TEST_CASE("a kernel that a call leaves behind", "[.left_behind]") {
  stream const own{on::device{0}};
  (void)of_scale(
      [&own](cudaStream_t on, std::size_t n, float const* x, float* y) {
        scale<<<blocks(n), block, 0, on>>>(n, x, y);
        if (n == 257) { wait_for<<<1, 1, 0, own.get()>>>(half_a_minute); }
      },
      {.only = {1, 257}, .max_call_seconds = 2});
}

namespace {

/// What the hidden test with a tag prints in a process of its own.
std::string told_by(std::string const& tag) {
  auto* const child = popen(("/proc/$PPID/exe '" + tag + "' 2>&1").c_str(), "r");
  REQUIRE(child != nullptr);
  std::string told;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), child) != nullptr) { told += part.data(); }
  pclose(child);
  return told;
}

}  // namespace

TEST_CASE("an error that ends the device's work names its size and what did not run", "[verify]") {
  if (test::small()) { return; }  // a sanitizer follows the process, and does not end with it
  CHECK_THAT(told_by("[.misaligned]"), contains("n = 257, zeros: the call threw") &&
                                           contains("cudaErrorMisalignedAddress") &&
                                           contains("later cases did not run"));
}

TEST_CASE("a kernel that does not end is named, and so is one that a call leaves behind",
          "[verify]") {
  if (test::small()) { return; }
  CHECK_THAT(told_by("[.endless]"),
             contains("assay::verify: n = 257, zeros: a call did not end within 2 s"));
  // The driver decides which of its calls waits for it.
  CHECK_THAT(told_by("[.left_behind]"),
             contains("assay::verify: n = 257, ") && contains(" did not end within 2 s"));
}

TEST_CASE("an array without room on the device leaves its size out", "[verify]") {
  auto const seen = of_scale([](cudaStream_t on, std::size_t n, float const* x,
                                float* y) { scale<<<blocks(n), block, 0, on>>>(n, x, y); },
                             {.only = {std::size_t{1} << 45U, 5}});
  INFO(seen);
  CHECK(seen);
  REQUIRE(seen.left_out.size() == 1);
  CHECK_THAT(seen.left_out[0], contains("size 35184372088832: "));
  // An allocation of the caller, which CUDA refuses.
  auto const workspace = verify(
      [](setup& make, std::size_t n) {
        void* own = nullptr;
        check(cudaMalloc(&own, n == 7 ? std::size_t{1} << 50U : 256));
        check(cudaFree(own));
        auto const y = make.named("y").output<float>(n);
        make.expect(y, [](std::size_t) { return 0; });
        return [=](cudaStream_t on) { check(cudaMemsetAsync(y.data(), 0, 4 * n, on)); };
      },
      {.only = {7, 5}});
  CHECK(workspace);
  REQUIRE(workspace.left_out.size() == 1);
  CHECK_THAT(workspace.left_out[0], contains("size 7: ") && contains("cudaErrorMemoryAllocation"));
}
