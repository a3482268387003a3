// SPDX-License-Identifier: Apache-2.0
/// @file
/// A scaled sum of two arrays: bytes that no thread shares, so that a copy strategy has nothing to
/// win where all SMs are full.
///
/// This header is the workload itself and its host half; `workload/scale_add.cuh` adds the device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/reference/scale_add.hpp>
#include <assay/workload/capped_grid.hpp>
#include <assay/workload/element_wise.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::workloads {

/// out[i] = scale * x[i] + y[i], rounded once.
///
/// On the device it takes a copy strategy. `max_sms` blocks, one on each SM, do all the work; 0: as
/// many as are resident. Arrays, a caller's own and transfers are as with `vector_add`; with a
/// transfer, chunks are computed by `copy::regular<>`.
template <class T>
requires std::same_as<T, float> || std::same_as<T, double>
struct scale_add {
  using value_type = T;
  static constexpr std::size_t inputs = 2;
  static constexpr std::string_view name = "scale_add";
  static constexpr bool takes_copy = true;

  std::int64_t elements = std::int64_t{1} << 26;
  T scale = static_cast<T>(1.25);
  int max_sms = 0;
  int threads = 256;  ///< in a block: 128, 256 or 512
  std::uint64_t seed = 0x5EED;
  /// A caller's own arrays instead of generated ones; see `vector_add::data`.
  std::optional<arrays_view<T, 2>> data{};

  bool operator==(scale_add const&) const = default;

  std::int64_t count() const noexcept { return data ? data->elements : elements; }

  std::string describe() const {
    scale_add const usual{};
    parameter_list all;
    all.show("elements", count()).show("scale", scale, usual.scale);
    show_caps(all, max_sms, threads);
    if (data) { all.show("caller's arrays"); }
    return all.show("seed", seed, usual.seed).after(detail::name_with_element<scale_add>());
  }

  traffic item_traffic() const {
    auto const n = static_cast<double>(count());
    constexpr double s = sizeof(T);
    return {2 * s * n, s * n, 2 * n, 2 * s * n, s * n};
  }

  void reference(std::array<T const*, 2> const& from, std::int64_t many, double* expected,
                 double* allowed) const {
    assay::reference::scale_add(many, scale, from[0], from[1], expected, allowed);
  }

  template <any_lane Lane>
  requires requires(Lane& where, scale_add const& work) { prepare_on(where, work, 1); }
  auto prepare(Lane& where, int lanes) const {
    detail::require_elements(*this, lanes);
    require_caps(name, max_sms, threads);
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
  /// Compares every element of every output with the reference, within its bound.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }
};

template <host_lane Lane, class T>
void enqueue_on(Lane& where, scale_add<T> const& work, host_element_state<scale_add<T>>& state) {
  range const here{"scale_add", category::cpu, static_cast<std::uint64_t>(work.count())};
  constexpr std::int64_t grain = std::int64_t{1} << 16;
  auto const* const x = state.input(0);
  auto const* const y = state.input(1);
  auto* const out = state.outputs.at(static_cast<std::size_t>(where.index)).get();
  host::parallel_for(where.place.threads, work.count(), grain, [&](auto begin, auto end) {
    for (auto i = begin; i < end; ++i) { out[i] = std::fma(work.scale, x[i], y[i]); }
  });
}

}  // namespace assay::workloads
