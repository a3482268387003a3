// SPDX-License-Identifier: Apache-2.0
/// @file
/// An all-reduce as a callable of each rank. Its inputs follow from a seed and the rank.
///
/// `workload/all_reduce.cuh` fills and checks larger arrays on devices.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/comm/concepts.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace assay::workloads {

/// The inputs and outputs of all ranks: whole numbers from 0 to `most`. All partial sums over eight
/// ranks are exact, in every order, in types from bfloat16 on.
struct reduction_inputs {
  std::uint64_t seed = 1;
  int ranks = 1;
  static constexpr unsigned most = 31;  ///< one less than a power of two
  static_assert(most * comm::max_ranks <= 256, "whole numbers of bfloat16 go to 256");

  __host__ __device__ double input(int rank, std::uint64_t index) const {
    auto const own = seed + 0xD1B54A32D192ED03U * static_cast<std::uint64_t>(rank);
    return static_cast<double>(random_draw{own, index}.bits & most);
  }

  /// The value of an element after the all-reduce, in float64.
  __host__ __device__ double output(comm::reduction what, std::uint64_t index) const {
    double result = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      double const each = input(rank, index);
      if (what != comm::reduction::max) { result += each; }
      if (what == comm::reduction::max && each > result) { result = each; }
    }
    return what == comm::reduction::average ? result / ranks : result;
  }

  /// Bounds the relative error of a correct element of `T`. The bound is 0 where `T` holds all sums
  /// exactly, as bfloat16 does up to 8 ranks, but for averages over a number of ranks that is not a
  /// power of two. Else each partial sum, the reciprocal and each product may be rounded, and all
  /// terms are positive.
  template <class T>
  double tolerance(comm::reduction what) const {
    bool const holds_sums = std::is_integral_v<T> || most * ranks * unit_roundoff<T>() <= 1;
    bool const divides_exactly = (ranks & (ranks - 1)) == 0 || std::is_integral_v<T>;
    bool const is_exact = what == comm::reduction::max ||
                          (holds_sums && (what == comm::reduction::sum || divides_exactly));
    return is_exact ? 0 : (ranks + 2) * unit_roundoff<T>();
  }

  /// Half the distance from 1 to the next number of a floating type of 16 bits or more.
  template <class T>
  static double unit_roundoff() {
    if (sizeof(T) == sizeof(double)) { return 0x1p-53; }
    if (sizeof(T) == sizeof(float)) { return 0x1p-24; }
    return static_cast<float>(static_cast<T>(1.0F + 0x1p-10F)) != 1.0F ? 0x1p-11 : 0x1p-8;
  }
};

/// One rank's part of an all-reduce, for `compare(ranks, ...)` and for `verify`. Its input follows
/// from `seed` and the rank. Each rank checks its own output. `by` has to outlive the callable.
template <arrays::numeric T, comm::collective<T> Collective>
auto all_reduce(Collective const& by, std::size_t count,
                comm::reduction what = comm::reduction::sum, std::uint64_t seed = 1) {
  static_assert(sizeof(T) > 1, "types of 8 bits do not hold the sums");
  reduction_inputs const of{seed, by.ranks()};
  auto const values = std::make_shared<std::vector<T>>(count);
  for (std::size_t i = 0; i < count; ++i) {
    (*values)[i] = static_cast<T>(static_cast<float>(of.input(by.rank(), i)));
  }
  return [&by, of, what, values = std::shared_ptr<std::vector<T> const>{values}](setup& make) {
    using wanted_type = std::conditional_t<std::is_integral_v<T>, T, double>;
    auto const x = make.from(*values);
    auto const y = make.output<T>(values->size());
    make.expect(
        y, [of, what](std::size_t first, std::span<wanted_type> wanted, std::span<double> errors) {
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            auto const right = of.output(what, first + i);
            wanted[i] = static_cast<wanted_type>(right);  // averages of integers round towards zero
            errors[i] = of.tolerance<T>(what) * right;
          }
        });
    return [&by, what, x, y, values](cudaStream_t on) {
      by.enqueue(::cuda::stream_ref{on}, x.data(), y.data(), values->size(), what);
    };
  };
}

}  // namespace assay::workloads
