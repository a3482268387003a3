// SPDX-License-Identifier: Apache-2.0
/// @file
/// A map with a knob for its arithmetic per byte: x -> a x + b, applied again and again.
///
/// This header is the workload itself and its host half; `workload/iterated_map.cuh` adds the
/// device.
#pragma once

#include <assay/core/range.hpp>
#include <assay/host/iterated_map.hpp>
#include <assay/reference/iterated_map.hpp>
#include <assay/workload/element_wise.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::workloads {

/// out[i] = x[i] after flops_per_element / 2 steps of `reference::step_for`, each a multiplication
/// and an addition that depend on the step before.
///
/// Runs on lanes of any place whose half is included; where its arrays live is as in `vector_add`.
template <std::floating_point T>
struct iterated_map {
  using value_type = T;
  static constexpr std::size_t inputs = 1;
  static constexpr std::string_view name = "iterated_map";
  static constexpr int max_flops = 1 << 24;

  std::int64_t elements = std::int64_t{1} << 24;
  int flops_per_element = 64;
  std::uint64_t seed = 0x5EED;
  /// A caller's own array instead of a generated one; see `vector_add::data`.
  std::optional<arrays_view<T, 1>> data{};

  bool operator==(iterated_map const&) const = default;

  std::int64_t count() const noexcept { return data ? data->elements : elements; }
  int steps() const noexcept { return flops_per_element / 2; }
  assay::reference::affine_step<T> step() const { return assay::reference::step_for<T>(steps()); }

  std::string describe() const {
    parameter_list all;
    all.show("elements", count()).show("flops_per_element", flops_per_element);
    if (data) { all.show("caller's array"); }
    return all.show("seed", seed, iterated_map{}.seed)
        .after(detail::name_with_element<iterated_map>());
  }

  /// Throws `std::invalid_argument` unless the FLOPs are a number of whole steps.
  void validate() const {
    if (flops_per_element >= 0 && flops_per_element <= max_flops && flops_per_element % 2 == 0) {
      return;
    }
    throw std::invalid_argument("flops_per_element = " + std::to_string(flops_per_element) +
                                " is not possible: an even number from 0 to " +
                                std::to_string(max_flops) +
                                " is, as each step multiplies and adds");
  }

  traffic item_traffic() const {
    auto const n = static_cast<double>(count());
    constexpr double s = sizeof(T);
    return {s * n, s * n, flops_per_element * n, s * n, s * n};
  }

  void reference(std::array<T const*, 1> const& from, std::int64_t many, double* expected,
                 double* allowed) const {
    assay::reference::iterated_map(many, from[0], step(), steps(), expected, allowed);
  }

  template <any_lane Lane>
  requires requires(Lane& where, iterated_map const& work) { prepare_on(where, work, 1); }
  auto prepare(Lane& where, int lanes) const {
    validate();
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
  /// Compares every element of every output with the reference, within what `T` may round.
  template <class State>
  mismatch verify(State& state) const {
    return state.verify();
  }
};

template <host_lane Lane, class T>
void enqueue_on(Lane& where, iterated_map<T> const& work,
                host_element_state<iterated_map<T>>& state) {
  range const here{"iterated_map", category::cpu, static_cast<std::uint64_t>(work.count())};
  host::iterated_map(where.place.threads, work.count(), state.input(0), work.step(), work.steps(),
                     state.outputs.at(static_cast<std::size_t>(where.index)).get());
}

}  // namespace assay::workloads
