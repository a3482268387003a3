// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum of an array: the workload only reads, so that the bytes in flight decide its speed.
///
/// This header is the workload and its host half; `streaming_sum.cuh` adds the device.
#pragma once

#include "capped_grid.hpp"

#include <assay/host/parallel_for.hpp>
#include <assay/workload/array_workload.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

/// The arrays of a lane. Blocks leave their sums in `of_block`; `arrived` counts blocks, and is 0
/// between kernels.
template <class T>
struct sum_arrays {
  T const* x = nullptr;
  double* of_block = nullptr;
  unsigned* arrived = nullptr;
  double* sum = nullptr;
};

namespace detail {

/// The sum of `count` elements in float64, by `threads` threads: `sum_of(begin, end)` returns the
/// sum of a part.
template <class Sum>
double sum_by_parts(int threads, std::int64_t count, Sum const& sum_of) {
  constexpr std::int64_t part = std::int64_t{1} << 18;
  std::vector<double> sums(size_of((count + part - 1) / part));
  host::parallel_for(threads, count, part, [&](std::int64_t begin, std::int64_t end) {
    for (auto first = begin; first < end; first += part) {
      sums[size_of(first / part)] = sum_of(first, std::min(first + part, end));
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace detail

/// out = x[0] + ... + x[elements - 1], as a double.
///
/// Elements are random multiples of 2^-17 in [-1, 1). A float holds the sum of 64 such elements
/// exactly, and a double the sum of 2^35. So the sum is the same in every order, and one element
/// too many or too few shows.
///
/// On the device it takes a copy strategy. `max_sms` blocks, one on each SM, do all the work; 0: as
/// many as are resident.
template <class T>
requires std::same_as<T, float> || std::same_as<T, double>
struct streaming_sum {
  using value_type = T;
  static constexpr std::string_view name = "streaming_sum";
  static constexpr bool takes_copy = true;
  /// More blocks than any device keeps resident: each leaves one sum.
  static constexpr std::size_t most_blocks = 1 << 16;

  std::int64_t elements = std::int64_t{1} << 28;
  int max_sms = 0;
  int threads = 256;  ///< in a block: 128, 256 or 512
  std::uint64_t seed = default_seed;

  bool operator==(streaming_sum const&) const = default;

  std::int64_t count() const noexcept { return elements; }

  std::string describe() const {
    parameter_list all;
    all.show("elements", elements);
    show_caps(all, max_sms, threads);
    return all.show("seed", seed, default_seed)
        .after(std::string{name} + (std::same_as<T, float> ? "<float>" : "<double>"));
  }
  /// Throws `std::invalid_argument` with the field, its value and the permitted values.
  void validate() const {
    constexpr auto most = std::int64_t{1} << 35;
    if (elements < 0 || elements > most) {
      throw std::invalid_argument("streaming_sum: elements = " + std::to_string(elements) +
                                  " is not possible: 0 to 2^35 are");
    }
    require_caps(name, max_sms, threads);
  }

  traffic item_traffic() const {
    auto const n = static_cast<double>(elements);
    return {sizeof(T) * n, sizeof(double), n, 0, 0};
  }

  sum_arrays<T> arrays(setup& make) const {
    constexpr std::int32_t steps = 1 << 17;
    auto const x =
        make.random_multiples<T>(size_of(elements), {-steps, steps - 1}, static_cast<T>(0x1p-17));
    auto const of_block = make.scratch<double>(most_blocks);
    auto const arrived = make.zeros<unsigned>(1);
    auto const sum = make.output<double>(1);
    make.expect(sum,
                [x, n = elements](std::span<double> wanted) {
                  wanted[0] =
                      detail::sum_by_parts(host::all_threads(), n, [&](auto begin, auto end) {
                        double of_part = 0;
                        for (auto i = begin; i < end; ++i) {
                          of_part += static_cast<double>(x.seeded(size_of(i)));
                        }
                        return of_part;
                      });
                },
                {});  // exact
    return {x.data(), of_block.data(), arrived.data(), sum.data()};
  }
};

template <host_lane Lane, class T>
void run_on(Lane& where, streaming_sum<T> const& work, sum_arrays<T> const& all) {
  *all.sum = detail::sum_by_parts(where.place.threads, work.elements, [&](auto begin, auto end) {
    double of_part = 0;
    for (auto i = begin; i < end; ++i) { of_part += static_cast<double>(all.x[i]); }
    return of_part;
  });
}

}  // namespace assay::workloads
