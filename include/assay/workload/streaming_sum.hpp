// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum of an array: the workload that only reads, so that what is in flight decides its speed.
///
/// This header is the workload itself and its host half; `workload/streaming_sum.cuh` adds the
/// device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/reference/streaming_sum.hpp>
#include <assay/workload/capped_grid.hpp>
#include <assay/workload/columns.hpp>
#include <assay/workload/concepts.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::workloads {

/// Element `index` of what is summed: random multiples of 2^-17 in [-1, 1). 64 of them add up in a
/// float without rounding, and 2^35 of them in a double; so the sum is the same in every order, and
/// one element too many or too few shows.
template <class T>
constexpr T summed_element(std::uint64_t seed, std::int64_t index) noexcept {
  auto const random = static_cast<std::int64_t>(random_at(seed, static_cast<std::uint64_t>(index)));
  return static_cast<T>(random >> 46U) * static_cast<T>(0x1p-17);
}

/// out = x[0] + ... + x[elements - 1], as a double.
///
/// On the device it takes a copy strategy. `max_sms` blocks, one on each SM, do all the work; 0: as
/// many as are resident.
template <class T>
requires std::same_as<T, float> || std::same_as<T, double>
struct streaming_sum {
  using value_type = T;
  static constexpr std::string_view name = "streaming_sum";
  static constexpr bool takes_copy = true;

  std::int64_t elements = std::int64_t{1} << 28;
  int max_sms = 0;
  int threads = 256;  ///< in a block: 128, 256 or 512
  std::uint64_t seed = 0x5EED;

  bool operator==(streaming_sum const&) const = default;

  std::string describe() const {
    parameter_list all;
    all.show("elements", elements);
    show_caps(all, max_sms, threads);
    return all.show("seed", seed, streaming_sum{}.seed)
        .after(std::string{name} + (std::same_as<T, float> ? "<float>" : "<double>"));
  }

  traffic item_traffic() const {
    auto const n = static_cast<double>(elements);
    return {sizeof(T) * n, sizeof(double), n, 0, 0};
  }

  /// Throws `std::invalid_argument` that names the field, its value and what is allowed.
  void require() const {
    constexpr auto most = std::int64_t{1} << 35;
    if (elements < 0 || elements > most) {
      throw std::invalid_argument("streaming_sum: elements = " + std::to_string(elements) +
                                  " is not possible: 0 to 2^35 are");
    }
    require_caps(name, max_sms, threads);
  }

  template <any_lane Lane>
  requires requires(Lane& where, streaming_sum const& work) { prepare_on(where, work, 1); }
  auto prepare(Lane& where, int lanes) const {
    require();
    return prepare_on(where, *this, lanes);
  }
  template <any_lane Lane, class State>
  void enqueue(Lane& where, State& state) const {
    enqueue_on(where, *this, state);
  }
  template <class State>
  void poison(State& state) const {
    state.poison();
  }
  /// The sum must be exact.
  template <class State>
  mismatch verify(State& state) const {
    auto const expected = reference_sum();
    auto const sums = state.sums();
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      if (sums[lane] == expected) { continue; }
      std::array<char, 120> text{};
      std::snprintf(text.data(), text.size(), ": got %.17g, expected %.17g", sums[lane], expected);
      return "lane " + std::to_string(lane) + text.data();
    }
    return {};
  }

  /// The exact sum of the generated elements; parts by all threads, as no order rounds.
  double reference_sum() const {
    constexpr std::int64_t part = std::int64_t{1} << 20;
    std::vector<double> sums(static_cast<std::size_t>((elements + part - 1) / part));
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(sums.size()), 1,
                       [&](auto begin, auto end) {
                         for (auto p = begin; p < end; ++p) {
                           double& sum = sums[static_cast<std::size_t>(p)];
                           for (auto i = p * part; i < elements && i < (p + 1) * part; ++i) {
                             auto const x = summed_element<T>(seed, i);
                             sum = reference::streaming_sum(1, &x, sum);
                           }
                         }
                       });
    return reference::streaming_sum(static_cast<std::int64_t>(sums.size()), sums.data());
  }
};

/// The array in host memory, and a sum for each lane.
template <class T>
class host_sum_state {
 public:
  host_sum_state(streaming_sum<T> const& work, int lanes)
      : input(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(work.elements))),
        outputs(static_cast<std::size_t>(lanes)) {
    constexpr std::int64_t grain = std::int64_t{1} << 16;
    host::parallel_for(host::all_threads(), work.elements, grain, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) { input[i] = summed_element<T>(work.seed, i); }
    });
    poison();
  }

  void poison() {
    for (double& each : outputs) { each = std::numeric_limits<double>::quiet_NaN(); }
  }
  std::vector<double> sums() const { return outputs; }

  std::unique_ptr<T[]> input;
  std::vector<double> outputs;
};

template <host_lane Lane, class T>
auto prepare_on(Lane&, streaming_sum<T> const& work, int lanes) {
  return host_sum_state<T>{work, lanes};
}

template <host_lane Lane, class T>
void enqueue_on(Lane& where, streaming_sum<T> const& work, host_sum_state<T>& state) {
  range const here{"streaming_sum", category::cpu, static_cast<std::uint64_t>(work.elements)};
  constexpr std::int64_t part = std::int64_t{1} << 18;
  std::vector<double> sums(static_cast<std::size_t>((work.elements + part - 1) / part));
  host::parallel_for(where.place.threads, work.elements, part, [&](auto begin, auto end) {
    for (auto first = begin; first < end; first += part) {
      auto const count = end - first < part ? end - first : part;
      sums[static_cast<std::size_t>(first / part)] =
          reference::streaming_sum(count, state.input.get() + first);
    }
  });
  state.outputs.at(static_cast<std::size_t>(where.index)) =
      reference::streaming_sum(static_cast<std::int64_t>(sums.size()), sums.data());
}

}  // namespace assay::workloads
