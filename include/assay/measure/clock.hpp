// SPDX-License-Identifier: Apache-2.0
/// @file
/// The three clocks of a measurement.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <string_view>

namespace assay::measure {

/// `wall`: host time, first submit to drained. `gpu`: device time between events.
/// `submit`: host time per item as the submitting thread sees it.
enum class clock { wall, gpu, submit };

inline constexpr std::array all_clocks{clock::wall, clock::gpu, clock::submit};

constexpr std::string_view to_string(clock which) noexcept {
  constexpr std::array<std::string_view, 3> names{"wall", "gpu", "submit"};
  return names[static_cast<std::size_t>(which)];
}

}  // namespace assay::measure
