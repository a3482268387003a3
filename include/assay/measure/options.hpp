// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of a comparison, and their preconditions.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/place.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure {

/// The times of verification: before the first and after the last timed cell, or around every
/// epoch.
enum class verification { at_ends, every_epoch };

/// Options of a comparison. The defaults are the procedure as calibrated.
struct options {
  double margin = 0.01;    ///< differences inside it do not matter, as a share
  double alpha = 0.05;     ///< false-alarm rate over all interim analyses and contrasts together
  std::uint64_t seed = 0;  ///< 0: draws a seed, which the result records
  int max_epochs = 96;     ///< analyses come after 8 (one contrast), 12, 16, 24, 48 and 96
  /// After the first analysis, no epoch begins unless the next analysis is expected before this.
  double max_seconds = 10;
  /// Decides the verdict; if not given: `gpu` for launches, `wall` for host calls and pipelines.
  std::optional<measure::clock> clock{};
  std::optional<on::device> place{};  ///< for launches; if not given: the current device
  bool cold_cache = false;            ///< clear the L2 cache before each timed launch
  /// Callables that bring buffers bring the same ones, so no effect can be that of their placement.
  bool same_buffers = false;
  bool require_checks = false;  ///< UNPROVEN, and nothing is timed, unless all results are checked
  std::string title{};

  /// Called with the epoch (from 1), the largest number of epochs, and the current step. Exceptions
  /// from this function and from the hooks below pass through to the caller.
  std::function<void(int epoch, int of, std::string_view what)> progress{};

  bool run_until_sign = false;  ///< run on after EQUIVALENT until a sign is known
  /// Run on after FASTER and SLOWER until the interval lies in the margin or beyond it. A
  /// difference near the margin then takes all of `max_seconds`. `--fail-if slower` sets this.
  bool run_until_margin = false;
  bool hidden_control = true;  ///< run the first variant also as a second, independent instance
  verification verify = verification::at_ends;
  double cell_seconds = 1e-3;  ///< timed part of a cell, for launches shorter than that
  /// The most launches in a cell; if not given: 1,000,000 for host calls, else 200, as a stream
  /// takes some 1000 before enqueueing blocks.
  std::optional<int> most_launches{};
  double warm_up_seconds = 0.25;  ///< cap of the warm-up, which ends earlier when times are steady
  /// Resolution of the clocks in seconds. `gpu`: 0.5 us, as the CUDA runtime documents for events.
  /// `wall`: 100 ns, a few reads of a steady clock at 20 to 30 ns each. `submit`: 1 ns, the unit of
  /// that clock, as the time per item is already a mean over the many items of a batch.
  std::array<double, 3> tick_seconds{100e-9, 0.5e-6, 1e-9};
  int profiled_batches = 5;  ///< batches of each pipeline, after the timed ones; 0: no profile
  std::string changed{};     ///< the axes that differ; empty: found from the variants

  std::function<bool()> cancelled{};  ///< asked before every cell
  /// Called between the end of one epoch's subjects and the building of the next. Where
  /// subjects run one at a time, each of them is an epoch to this hook and to the next one.
  std::function<void(epoch const&)> at_epoch_begin{};
  /// Called at the end of every epoch; returns why its times cannot be trusted (throttling). The
  /// epoch is then dropped and repeated. A hook that looks at the times would bias the verdict.
  std::function<std::vector<std::string>(epoch const&)> at_epoch_end{};
  /// NVML's throttle bits at the end of an epoch, for the record.
  std::function<std::uint64_t()> throttle_bits{};
};

namespace detail {

inline void require(bool holds, std::string const& otherwise) {
  if (!holds) { throw std::invalid_argument(otherwise); }
}

inline void require_contrast(contrast const& asked, std::size_t variants) {
  require(asked.weights.size() == variants,
          "contrast \"" + asked.name + "\" has " + std::to_string(asked.weights.size()) +
              " weights for " + std::to_string(variants) + " variants");
  double sum = 0;
  double size = 0;
  for (double const weight : asked.weights) {
    sum += weight;
    size += std::abs(weight);
  }
  require(std::isfinite(size) && size > 0,
          "contrast \"" + asked.name + "\" needs finite weights, not all zero");
  // 1e-12: the rounding of sums of weights such as 1/3.
  require(std::abs(sum) <= 1e-12 * size, "the weights of contrast \"" + asked.name +
                                             "\" must sum to 0, not " + stats::number_text(sum));
}

}  // namespace detail

/// Throws `std::invalid_argument` with the value and the allowed range, unless this can be run.
inline void validate(std::vector<variant> const& variants, std::vector<contrast> const& contrasts,
                     options const& chosen) {
  using detail::require;
  require(variants.size() >= 2,
          "a comparison needs 2 variants or more, not " + std::to_string(variants.size()));
  std::vector<std::string> labels;
  for (auto const& each : variants) {
    require(add_distinct(labels, each.label), "two variants are labelled \"" + each.label + "\"");
    require(static_cast<bool>(each.build), "variant \"" + each.label + "\" has no build function");
  }
  require(!contrasts.empty(), "a comparison needs 1 contrast or more, not 0");
  for (auto const& each : contrasts) { detail::require_contrast(each, variants.size()); }
  auto const positive = [](char const* what, double value) {
    require(value > 0 && std::isfinite(value),
            std::string{what} + " is positive, not " + stats::number_text(value));
  };
  (void)stats::alpha_schedule(chosen.max_epochs, chosen.alpha, contrasts.size());
  positive("margin", chosen.margin);
  positive("cell_seconds", chosen.cell_seconds);
  positive("max_seconds", chosen.max_seconds);
  int const most = chosen.most_launches.value_or(200);
  require(most >= 5, "most_launches is 5 or more, not " + std::to_string(most));
  require(chosen.warm_up_seconds >= 0,
          "warm_up_seconds is 0 or more, not " + stats::number_text(chosen.warm_up_seconds));
  for (double const tick : chosen.tick_seconds) {
    require(tick >= 0, "a clock's tick is 0 s or more, not " + stats::number_text(tick));
  }
}

/// The one axis on which variants differ, "confounded" for several axes, and "" for none. Axes that
/// were crossed on purpose are listed: "a x b".
inline std::string changed_text(std::vector<std::string> const& axes, bool crossed) {
  if (axes.size() > 1 && !crossed) { return "confounded"; }
  std::string text;
  for (auto const& name : axes) { text += (text.empty() ? "" : " x ") + name; }
  return text;
}

/// The changed axes of variants by the texts of their choices. A main effect or an interaction
/// among the contrasts shows that axes were crossed.
inline std::string changed_axes(std::vector<variant> const& variants,
                                std::vector<contrast> const& contrasts) {
  std::vector<std::string> changed;
  for (auto const& each : variants) {
    for (auto const& choice : each.axes) {
      bool const shared = std::all_of(variants.begin(), variants.end(), [&](auto const& other) {
        return std::find(other.axes.begin(), other.axes.end(), choice) != other.axes.end();
      });
      if (!shared) { add_distinct(changed, choice.first); }
    }
  }
  bool const crossed = std::any_of(contrasts.begin(), contrasts.end(), [](auto const& each) {
    return each.what != contrast::kind::difference;
  });
  return changed_text(changed, crossed);
}

}  // namespace assay::measure

namespace assay {

using measure::options;

}  // namespace assay
