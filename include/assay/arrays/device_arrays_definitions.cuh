// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to device_arrays.cuh: the kernel that fills arrays with random elements.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace assay::arrays {

namespace detail {

template <class T>
__device__ T of_bits(std::uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);  // the low bytes: all GPUs are little endian
  return value;
}

/// The element that random bits select: a usual one, or a special one in its place.
template <class T>
__device__ T or_special(T usual, special_rule const& of, random_draw const& drawn) {
  if (!of.any) { return usual; }
  special_draw const instead{of, drawn.bits, drawn.index};
  return instead.is_special ? of_bits<T>(instead.bits) : usual;
}

template <class Range>
__device__ void fill_elements(void* to, std::uint64_t count, Range range, any_range const& of,
                              std::uint64_t seed) {
  using value = decltype(draw_of<Range>{}.value);
  for (auto const i : kernel::grid_stride(count)) {
    random_draw const drawn{seed, i};
    auto const usual = draw_of<Range>{range, drawn.bits}.value;
    static_cast<value*>(to)[i] = or_special(usual, of.special, drawn);
  }
}

template <class T>
__device__ void fill_integers(void* to, std::uint64_t count, any_range const& of,
                              std::uint64_t seed) {
  fill_elements(to, count, uniform<T>{of_bits<T>(of.low), of_bits<T>(of.high)}, of, seed);
}

template <class T>
__device__ void fill_floating(void* to, std::uint64_t count, any_range const& of,
                              std::uint64_t seed) {
  if (!of.is_multiples) { return fill_integers<T>(to, count, of, seed); }
  uniform<std::int32_t> const steps{of_bits<std::int32_t>(of.low), of_bits<std::int32_t>(of.high)};
  fill_elements(to, count, multiples<T>{steps, of_bits<T>(of.unit)}, of, seed);
}

template <class Bits>
__device__ void fill_narrowed(void* to, std::uint64_t count, any_range const& of,
                              std::uint64_t seed) {
  uniform<float> const range{of_bits<float>(of.low), of_bits<float>(of.high)};
  for (auto const i : kernel::grid_stride(count)) {
    random_draw const drawn{seed, i};
    double const value = uniform_draw<float>{range, drawn.bits}.value;
    auto const bits = static_cast<std::uint64_t>(__double_as_longlong(value));
    auto const usual = static_cast<Bits>(narrowing{of.format, bits}.result);
    static_cast<Bits*>(to)[i] = or_special(usual, of.special, drawn);
  }
}

/// One kernel for all types, because each kernel costs all programs time to compile. A template,
/// because a plain kernel in a header does not link from two units.
template <int = 0>
__global__ void fill_random_elements(void* to, std::uint64_t count, any_range of,
                                     std::uint64_t seed) {
  switch (of.type) {
    case element::u8:
    case element::i8:
      return fill_integers<std::uint8_t>(to, count, of, seed);
    case element::u16:
    case element::i16:
      return fill_integers<std::uint16_t>(to, count, of, seed);
    case element::u32:
    case element::i32:
      return fill_integers<std::uint32_t>(to, count, of, seed);
    case element::u64:
    case element::i64:
      return fill_integers<std::uint64_t>(to, count, of, seed);
    case element::f32:
      return fill_floating<float>(to, count, of, seed);
    case element::f64:
      return fill_floating<double>(to, count, of, seed);
    case element::f16:
    case element::bf16:
      return fill_narrowed<std::uint16_t>(to, count, of, seed);
    case element::e4m3:
    case element::e5m2:
      return fill_narrowed<std::uint8_t>(to, count, of, seed);
  }
}

constexpr unsigned most_pieces = 64;  // that one launch brings together

struct piece_offsets {
  std::uint64_t of[most_pieces];
};

/// A block for each piece.
template <int = 0>
__global__ void gather_pieces(std::byte const* from, piece_offsets at, std::uint64_t bytes,
                              std::byte* to) {
  for (std::uint64_t i = threadIdx.x; i < bytes; i += blockDim.x) {
    to[blockIdx.x * bytes + i] = from[at.of[blockIdx.x] + i];
  }
}

}  // namespace detail

ASSAY_INLINE void device_array_store::copy_out_pieces(void* host, void const* from,
                                                      std::size_t bytes,
                                                      std::span<std::size_t const> offsets) {
  if (offsets.size() < 2 || offsets.size() > detail::most_pieces) {
    return array_store::copy_out_pieces(host, from, bytes, offsets);
  }
  device_guard const guard{place_};
  if (room_ < offsets.size() * bytes) {
    room_ = offsets.size() * bytes;
    pieces_ = allocate_block(room_);
  }
  detail::piece_offsets at{};
  std::copy(offsets.begin(), offsets.end(), at.of);
  kernel::launch(detail::gather_pieces<>, dim3(static_cast<unsigned>(offsets.size())), dim3(256), 0,
                 stream_, static_cast<std::byte const*>(from), at, std::uint64_t{bytes}, pieces_);
  copy_out(host, pieces_, offsets.size() * bytes);
}

ASSAY_INLINE void device_array_store::fill_random(void* to, std::size_t count,
                                                  any_range const& range, std::uint64_t seed) {
  constexpr unsigned threads = 256;
  if (count == 0) { return; }
  device_guard const guard{place_};
  auto const run = detail::fill_random_elements<>;
  auto const shape = kernel::stride_shape(run, place_, count, threads);
  kernel::launch(run, shape, 0, stream_, to, std::uint64_t{count}, range, seed);
}

}  // namespace assay::arrays
