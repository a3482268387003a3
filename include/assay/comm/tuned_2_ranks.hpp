// SPDX-License-Identifier: Apache-2.0
/// @file
/// The algorithm of an all-reduce over 2 ranks by size. benchmarks/all_reduce_tune wrote it.
// Found by races of assay that ended on 2026-11-30T00:10:27Z, on NVIDIA H200, 132 SMs, 143155 MiB,
// compute capability 9.0.
//   1024: lamport_push, against which fifo_one_shot takes +33.72 % [+33.39 %, +34.96 %]
//   4096: lamport_push, against which fifo_one_shot takes +39.27 % [+38.52 %, +39.77 %]
//   16384: lamport_push, against which fifo_one_shot takes +87.24 % [+85.83 %, +88.15 %]
//   65536: lamport_push, against which fifo_one_shot takes +61.41 % [+59.55 %, +63.34 %]
//   262144: lamport_push, against which fifo_one_shot takes +37.55 % [+37.21 %, +38.02 %]
//   524288: lamport_push, against which fifo_one_shot takes +18.94 % [+18.78 %, +19.27 %]
//   1048576: lamport_push, against which fifo_one_shot takes +10.45 % [+9.40 %, +11.45 %]
//   2097152: lamport_push, against which fifo_one_shot takes +5.34 % [+5.01 %, +5.75 %]
//   3145728: lamport_push, against which fifo_one_shot takes +2.97 % [+2.28 %, +3.66 %]
//   4194304: fifo_one_shot, against which lamport_push takes +3.17 % [+2.67 %, +3.52 %]
//   8388608: fifo_one_shot, against which lamport_push takes +3.93 % [+3.63 %, +4.25 %]
//   16777216: fifo_one_shot, against which lamport_push takes +6.71 % [+6.29 %, +6.83 %]
//   67108864: fifo_one_shot, against which two_shot takes +9.06 % [+8.64 %, +9.25 %]
//   268435456: fifo_one_shot, against which two_shot takes +8.32 % [+7.94 %, +8.50 %]
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>

namespace assay::comm::tuned_2_ranks {

/// An algorithm, and the largest size that it is for.
struct row {
  std::size_t up_to;
  char const* choice;
};
/// By rising sizes.
inline constexpr row by_size[] = {
    {3632373, "lamport_push"},
    {SIZE_MAX, "fifo_one_shot"},
};

}  // namespace assay::comm::tuned_2_ranks
