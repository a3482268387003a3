// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum of two arrays: the workload whose bytes cost more than its arithmetic, wherever it runs.
///
/// This header is the workload itself and its host half; `workload/vector_add.cuh` adds the device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/host/vector_add.hpp>
#include <assay/reference/vector_add.hpp>
#include <assay/workload/element_wise.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::workloads {

/// The types of elements that can be added here.
template <class T>
concept vector_add_value =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t>;

/// out[i] = x[i] + y[i]; integers wrap round.
///
/// Runs on lanes of any place whose half is included. With a transfer on its pipeline the arrays
/// live in host memory, and each item carries them to the device and back; without one they are
/// resident where it runs.
template <vector_add_value T>
struct vector_add {
  using value_type = T;
  static constexpr std::size_t inputs = 2;
  static constexpr std::string_view name = "vector_add";

  std::int64_t elements = std::int64_t{1} << 24;
  std::uint64_t seed = 0x5EED;
  /// A caller's own arrays instead of generated ones, whose number of elements counts instead of
  /// the field above. They are read by items, or by `prepare` where they become resident, and by
  /// `verify`, and must outlive every state.
  std::optional<arrays_view<T, 2>> data{};

  bool operator==(vector_add const&) const = default;

  std::int64_t count() const noexcept { return data ? data->elements : elements; }

  std::string describe() const {
    parameter_list all;
    all.show("elements", count());
    if (data) { all.show("caller's arrays"); }
    return all.show("seed", seed, vector_add{}.seed).after(detail::name_with_element<vector_add>());
  }

  /// An integer addition counts as an operation, as a floating-point one does.
  traffic item_traffic() const {
    auto const n = static_cast<double>(count());
    constexpr double s = sizeof(T);
    return {2 * s * n, s * n, n, 2 * s * n, s * n};
  }

  void reference(std::array<T const*, 2> const& from, std::int64_t many, double* expected,
                 double* allowed) const {
    assay::reference::vector_add(many, from[0], from[1], expected);
    std::fill_n(allowed, many, 0.0);
  }

  template <any_lane Lane>
  requires requires(Lane& where, vector_add const& work) { prepare_on(where, work, 1); }
  auto prepare(Lane& where, int lanes) const {
    detail::require_elements(*this, lanes);
    return prepare_on(where, *this, lanes);
  }
  template <any_lane Lane, class State>
  void enqueue(Lane& where, State& state) const {
    enqueue_on(where, *this, state);
  }
  /// Fills every byte of every output; see `element_poison_byte`.
  template <class State>
  void poison(State& state) const {
    state.poison();
  }
  /// Compares every element of every output with the reference: bit for bit, but any NaN may stand
  /// for any other.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }
};

template <host_lane Lane, class T>
void enqueue_on(Lane& where, vector_add<T> const& work, host_element_state<vector_add<T>>& state) {
  range const here{"vector_add", category::cpu, static_cast<std::uint64_t>(work.count())};
  host::vector_add(where.place.threads, work.count(), state.input(0), state.input(1),
                   state.outputs.at(static_cast<std::size_t>(where.index)).get());
}

}  // namespace assay::workloads
