// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum of two arrays: its bytes cost more than its arithmetic, wherever it runs.
///
/// This header is the workload and its host half; `workload/vector_add.cuh` adds the device.
#pragma once

#include <assay/host/parallel_for.hpp>
#include <assay/workload/element_wise.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay::workloads {

/// The types of elements that can be added here.
template <class T>
concept vector_add_value =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t>;

/// out[i] = x[i] + y[i]; integers wrap round.
///
/// Runs on the places of the included halves. With a transfer on its pipeline the arrays live in
/// host memory, and each item carries them to the device and back. Without one they are resident
/// where the workload runs.
template <vector_add_value T>
struct vector_add {
  using value_type = T;
  static constexpr std::size_t inputs = 2;
  static constexpr std::string_view name = "vector_add";

  std::int64_t elements = std::int64_t{1} << 24;
  std::uint64_t seed = default_seed;
  /// A caller's own arrays instead of generated ones. Their number of elements replaces the field
  /// above. Items read them, or `prepare` where they become resident, and `verify`. They must
  /// outlive every state.
  std::optional<arrays_view<T, 2>> data{};

  bool operator==(vector_add const&) const = default;

  std::int64_t count() const noexcept { return data ? data->elements : elements; }
  std::string describe() const {
    return describe_elements(*this, [](auto&) {});
  }
  void validate() const { require_elements(*this); }
  auto arrays(setup& make) const { return declare_elements(*this, make); }

  /// An integer addition counts as an operation, as a floating-point one does.
  traffic item_traffic() const {
    auto const n = static_cast<double>(count());
    constexpr double s = sizeof(T);
    return {2 * s * n, s * n, n, 2 * s * n, s * n};
  }

  /// Results need no tolerance. The sum of two floats rounds to the same float through float64 as
  /// directly, since 53 bits are at least 2 * 24 + 2 (Figueroa 1995). The sum of two int32 is exact
  /// in float64.
  template <class Wanted>
  void reference(element_inputs<T, 2> const& in, std::span<Wanted> wanted,
                 std::span<double> errors) const {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto const sum = static_cast<double>(in[0][i]) + static_cast<double>(in[1][i]);
      if constexpr (std::is_integral_v<T>) {
        wanted[i] = static_cast<T>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
      } else {
        wanted[i] = static_cast<Wanted>(static_cast<T>(sum));
      }
      errors[i] = 0;
    }
  }
};

template <host_lane Lane, class T>
void run_on(Lane& where, vector_add<T> const& work, element_arrays<T, 2> const& all) {
  constexpr std::int64_t grain = std::int64_t{1} << 16;  // 30 us of work
  auto const body = [=, x = all.inputs[0], y = all.inputs[1], out = all.output](std::int64_t begin,
                                                                                std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      if constexpr (std::is_integral_v<T>) {
        using bits = std::make_unsigned_t<T>;  // signed overflow would be undefined
        out[i] = static_cast<T>(static_cast<bits>(x[i]) + static_cast<bits>(y[i]));
      } else {
        out[i] = x[i] + y[i];
      }
    }
  };
  host::parallel_for(where.place.threads, work.count(), grain, body);
}

}  // namespace assay::workloads
