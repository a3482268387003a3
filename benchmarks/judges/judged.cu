// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas

#include "judged.h"

#include <cub/device/device_reduce.cuh>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;
constexpr double most_extra = 0.03;

template <class Vector>
__global__ void copy(Vector const* from, Vector* to, std::size_t count) {
  auto const i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) { to[i] = from[i]; }
}

/// One multiply-add waits for the one before, so a step more costs each thread as much as another.
template <class T>
__global__ void multiply_add(T factor, int steps, T* out) {
  T x = static_cast<T>(threadIdx.x);
  for (int step = 0; step < steps; ++step) { x = x * factor + factor; }
  if (x == static_cast<T>(-1)) { *out = x; }  // never, which the compiler cannot know
}

template <class Word>
__global__ void fill(Word* to, std::size_t count) {
  auto const i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i >= count) { return; }
  auto bits = static_cast<Word>(i) * 2654435761U;
  bits ^= bits >> 15U;
  to[i] = (bits & 0x00FF00FFU) | 0x3F003F00U;  // two bfloat16 from 0.5 to 2
}

unsigned blocks_for(std::size_t threads, unsigned block) {
  return static_cast<unsigned>((threads + block - 1) / block);
}

std::size_t more(std::size_t count, double extra) {
  return static_cast<std::size_t>(std::llround(static_cast<double>(count) * (1 + extra)));
}

struct arguments {
  double extra;
  void const* input;
  void *output, *temporary;
  cudaStream_t on;
};

/// So many bytes read and as many written.
template <std::size_t Bytes>
int launch_copy(arguments const& of) {
  auto const count = more(Bytes / sizeof(uint4), of.extra);
  copy<<<blocks_for(count, 256), 256, 0, of.on>>>(static_cast<uint4 const*>(of.input),
                                                  static_cast<uint4*>(of.output), count);
  return cudaGetLastError();
}

template <int Steps>
int launch_arithmetic(arguments const& of) {
  static int const sms = [] {
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
  }();
  // 512 threads are four warps for each scheduler: with the four cycles of a multiply-add it is
  // full.
  multiply_add<<<sms, 512, 0, of.on>>>(0.5F, static_cast<int>(more(Steps, of.extra)),
                                       static_cast<float*>(of.output));
  return cudaGetLastError();
}

constexpr int summed = 1 << 25;

cudaError_t sum(void* temporary, std::size_t& bytes, arguments const& of) {
  return cub::DeviceReduce::Sum(temporary, bytes, static_cast<float const*>(of.input),
                                static_cast<float*>(of.output),
                                static_cast<int>(more(summed, of.extra)), of.on);
}

/// Asks CUB, which does not need a device's memory for it.
std::size_t sum_bytes() {
  std::size_t bytes = 0;
  sum(nullptr, bytes, {most_extra, nullptr, nullptr, nullptr, nullptr});
  return std::max(bytes, mib);
}

int launch_sum(arguments const& of) {
  static std::size_t const room = sum_bytes();
  auto bytes = room;
  return sum(of.temporary, bytes, of);
}

constexpr int product_rows = 2048, product_depth = 16384;

/// Tensor cores take depths that are multiples of 8.
int deeper(double extra) { return static_cast<int>((more(product_depth, extra) + 4) / 8 * 8); }

/// A product of bfloat16 matrices. Its sums get longer: a row more could cost a tile, or nothing.
int launch_product(arguments const& of) {
  static cublasHandle_t const handle = [] {
    cublasHandle_t made = nullptr;
    cublasCreate(&made);
    return made;
  }();
  int const deep = deeper(most_extra);
  auto const* const left = static_cast<std::uint16_t const*>(of.input);
  auto const* const right = left + std::size_t{product_rows} * static_cast<std::size_t>(deep);
  float const one = 1, zero = 0;
  bool const done = cublasSetStream(handle, of.on) == CUBLAS_STATUS_SUCCESS &&
                    cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, product_rows, product_rows,
                                 deeper(of.extra), &one, left, CUDA_R_16BF, deep, right,
                                 CUDA_R_16BF, deep, &zero, of.output, CUDA_R_16BF, product_rows,
                                 CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
  return done ? cudaSuccess : -1;
}

struct kind {
  char const* name;
  std::size_t input, output;
  int (*launch)(arguments const&);
  bool sums = false;
};

std::size_t const product_bytes = 2 * sizeof(std::uint16_t) * product_rows * 16888UL;

std::array<kind, 7> const kinds{{
    {"arithmetic_short", 16, 16, launch_arithmetic<1000>},
    {"copy_within_l2", more(4 * mib, most_extra), more(4 * mib, most_extra), launch_copy<4 * mib>},
    {"arithmetic", 16, 16, launch_arithmetic<20000>},
    {"cub_sum", sizeof(float) * more(summed, most_extra), 16, launch_sum, true},
    {"copy_beyond_l2", more(192 * mib, most_extra), more(192 * mib, most_extra),
     launch_copy<192 * mib>},
    {"cublas_product", product_bytes, sizeof(std::uint16_t) * product_rows* product_rows,
     launch_product},
    {"copy_long", more(768 * mib, most_extra), more(768 * mib, most_extra), launch_copy<768 * mib>},
}};

kind const& at(int which) { return kinds.at(static_cast<std::size_t>(which)); }

}  // namespace

int judged_count(void) { return static_cast<int>(kinds.size()); }
char const* judged_name(int which) { return at(which).name; }

size_t judged_bytes(int which, int array) {
  constexpr std::size_t line = 256;  // arrays end at a multiple of it, so that whole vectors fit
  auto const& of = at(which);
  auto const bytes = array == 0 ? of.input : array == 1 ? of.output : of.sums ? sum_bytes() : 16;
  return (bytes + line - 1) / line * line;
}

int judged_fill(void* memory, size_t bytes, cudaStream_t on) {
  auto const words = bytes / sizeof(std::uint32_t);
  fill<<<blocks_for(words, 256), 256, 0, on>>>(static_cast<std::uint32_t*>(memory), words);
  return cudaGetLastError();
}

int judged_launch(int which, double extra, void const* input, void* output, void* temporary,
                  cudaStream_t on) {
  return at(which).launch({extra, input, output, temporary, on});
}
