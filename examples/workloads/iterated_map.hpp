// SPDX-License-Identifier: Apache-2.0
/// @file
/// A map with a chosen number of FLOPs per byte: x -> a x + b, applied again and again.
///
/// This header is the workload and its host half; `iterated_map.cuh` adds the device.
#pragma once

#include <assay/host/parallel_for.hpp>
#include <assay/workload/element_wise.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::workloads {

/// One step x -> factor * x + offset.
template <class T>
struct affine_step {
  T factor = 0;
  T offset = 0;
  bool operator==(affine_step const&) const = default;
};

/// The step that halves the distance of any two values when it is applied `steps` times: values
/// stay bounded, and yet each result tells its input from all others. The factor is negative, so
/// that values swing round their limit of about offset / 2 instead of creeping to a distant one.
template <class T>
affine_step<T> step_for(int steps) {
  if (steps == 0) { return {T{1}, T{0}}; }
  return {static_cast<T>(-std::exp2(-1.0 / steps)), T{1}};
}

/// out[i] = x[i] after flops_per_element / 2 steps of `step_for`, each a multiplication and an
/// addition that depend on the step before.
///
/// Runs on the places of the included halves. Its arrays live in the same memory as the arrays of
/// `vector_add`.
template <std::floating_point T>
struct iterated_map {
  using value_type = T;
  static constexpr std::size_t inputs = 1;
  static constexpr std::string_view name = "iterated_map";
  static constexpr int max_flops = 1 << 24;

  std::int64_t elements = std::int64_t{1} << 24;
  int flops_per_element = 64;
  std::uint64_t seed = default_seed;
  /// A caller's own array instead of a generated one; see `vector_add::data`.
  std::optional<arrays_view<T, 1>> data{};

  bool operator==(iterated_map const&) const = default;

  std::int64_t count() const noexcept { return data ? data->elements : elements; }
  int steps() const noexcept { return flops_per_element / 2; }
  affine_step<T> step() const { return step_for<T>(steps()); }

  std::string describe() const {
    return describe_elements(
        *this, [&](auto& list) { list.show("flops_per_element", flops_per_element); });
  }
  /// Throws `std::invalid_argument` unless the FLOPs are a number of whole steps.
  void validate() const {
    require_elements(*this);
    if (flops_per_element >= 0 && flops_per_element <= max_flops && flops_per_element % 2 == 0) {
      return;
    }
    throw std::invalid_argument("flops_per_element = " + std::to_string(flops_per_element) +
                                " is not possible: an even number from 0 to " +
                                std::to_string(max_flops) +
                                " is, as each step multiplies and adds");
  }
  auto arrays(setup& make) const { return declare_elements(*this, make); }

  traffic item_traffic() const {
    auto const n = static_cast<double>(count());
    constexpr double s = sizeof(T);
    return {s * n, s * n, flops_per_element * n, s * n, s * n};
  }

  void reference(element_inputs<T, 1> const& in, std::span<double> wanted,
                 std::span<double> errors) const {
    reference(in, wanted, errors, step(), steps());
  }

  /// The results in float64 after any number of steps, and the largest error of a result in `T`.
  ///
  /// With |factor| <= 1 an error of one step does not grow in later ones. Each step errs by at most
  /// 2 u |v| in `T`, whether it rounds once (fused) or twice, and by as much in float64 here. All
  /// intermediate values v lie no farther from the limit p than x does, so |v| <= |x| + 2 |p|.
  /// Underflow adds less than the smallest normal number.
  static void reference(element_inputs<T, 1> const& in, std::span<double> wanted,
                        std::span<double> errors, affine_step<T> step, int steps) {
    constexpr double unit = std::numeric_limits<T>::epsilon() / 2.0;
    constexpr double own_unit = std::numeric_limits<double>::epsilon() / 2;
    auto const factor = static_cast<double>(step.factor);
    auto const offset = static_cast<double>(step.offset);
    auto const limit = steps == 0 ? 0.0 : std::abs(offset / (1 - factor));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = static_cast<double>(in[0][i]);
      auto const largest = 1.01 * (std::abs(wanted[i]) + 2 * limit);  // 1 %: second-order terms
      errors[i] = steps * (2 * (unit + own_unit) * largest +
                           static_cast<double>(std::numeric_limits<T>::min()));
    }
    for (int k = 0; k < steps; ++k) {
      for (double& each : wanted) { each = factor * each + offset; }
    }
  }
};

template <host_lane Lane, class T>
void run_on(Lane& where, iterated_map<T> const& work, element_arrays<T, 1> const& all) {
  // So many at once that the chains of one step hide each other's latency, and stay in registers.
  constexpr std::int64_t width = 64 / static_cast<std::int64_t>(sizeof(T));
  auto const steps = work.steps();
  auto const grain = std::max<std::int64_t>(width, (std::int64_t{1} << 16) / (1 + steps / 8));
  auto const body = [=, x = all.inputs[0], out = all.output, step = work.step()](std::int64_t begin,
                                                                                 std::int64_t end) {
    for (auto first = begin; first < end; first += width) {
      auto const length = std::min(width, end - first);
      std::array<T, static_cast<std::size_t>(width)> values{};
      std::copy_n(x + first, length, values.data());
      for (int k = 0; k < steps; ++k) {
        for (T& each : values) { each = step.factor * each + step.offset; }
      }
      std::copy_n(values.data(), length, out + first);
    }
  };
  host::parallel_for(where.place.threads, work.count(), grain, body);
}

}  // namespace assay::workloads
