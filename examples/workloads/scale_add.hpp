// SPDX-License-Identifier: Apache-2.0
/// @file
/// A scaled sum of two arrays. Threads share no bytes, so a copy strategy has nothing to win where
/// all SMs are full.
///
/// This header is the workload and its host half; `scale_add.cuh` adds the device.
#pragma once

#include "capped_grid.hpp"

#include <assay/host/parallel_for.hpp>
#include <assay/workload/element_wise.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
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
  static constexpr T usual_scale = static_cast<T>(1.25);

  std::int64_t elements = std::int64_t{1} << 26;
  T scale = usual_scale;
  int max_sms = 0;
  int threads = 256;  ///< in a block: 128, 256 or 512
  std::uint64_t seed = default_seed;
  /// A caller's own arrays instead of generated ones; see `vector_add::data`.
  std::optional<arrays_view<T, 2>> data{};

  bool operator==(scale_add const&) const = default;

  std::int64_t count() const noexcept { return data ? data->elements : elements; }

  std::string describe() const {
    return describe_elements(*this, [&](auto& list) {
      list.show("scale", scale, usual_scale);
      show_caps(list, max_sms, threads);
    });
  }
  void validate() const {
    require_elements(*this);
    require_caps(name, max_sms, threads);
  }
  auto arrays(setup& make) const { return declare_elements(*this, make); }

  traffic item_traffic() const {
    auto const n = static_cast<double>(count());
    constexpr double s = sizeof(T);
    return {2 * s * n, s * n, 2 * n, 2 * s * n, s * n};
  }

  /// In double this is the same operation, and results have no error. In float the sum is rounded
  /// to float64 first, and that can move a tie to the neighbouring float. The distance is 2 u,
  /// where u is the unit roundoff, or the least subnormal.
  void reference(element_inputs<T, 2> const& in, std::span<double> wanted,
                 std::span<double> errors) const {
    using limits = std::numeric_limits<T>;
    constexpr bool same = sizeof(T) == sizeof(double);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = static_cast<double>(
          static_cast<T>(std::fma(static_cast<double>(scale), static_cast<double>(in[0][i]),
                                  static_cast<double>(in[1][i]))));
      errors[i] = same ? 0
                       : static_cast<double>(limits::epsilon()) * std::abs(wanted[i]) +
                             static_cast<double>(limits::denorm_min());
    }
  }
};

template <host_lane Lane, class T>
void run_on(Lane& where, scale_add<T> const& work, element_arrays<T, 2> const& all) {
  constexpr std::int64_t grain = std::int64_t{1} << 16;
  auto const body = [=, x = all.inputs[0], y = all.inputs[1], out = all.output, scale = work.scale](
                        std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) { out[i] = std::fma(scale, x[i], y[i]); }
  };
  host::parallel_for(where.place.threads, work.count(), grain, body);
}

}  // namespace assay::workloads
