// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of a comparison, and the watch over a place, which adds its hooks to them.
#pragma once

#include <assay/core/place.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/world/device_barrier.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure {

struct epoch;

/// The times of verification: before the first and after the last timed cell, or around every
/// epoch.
enum class verification { at_ends, every_epoch };

/// Options of a comparison. The defaults are the procedure as calibrated.
struct options {
  double margin = 0.01;    ///< differences inside it do not matter, a share below 1
  double alpha = 0.05;     ///< false-alarm rate over all interim analyses and contrasts together
  std::uint64_t seed = 0;  ///< 0: draws a seed, which the result records
  int max_epochs = 96;     ///< analyses come after 8 (one contrast), 12, 16, 24, 48 and 96
  /// After the first analysis, no epoch begins unless the next analysis, and the verification after
  /// it, are expected before this.
  double max_seconds = 10;
  /// Decides the verdict; if not given: `gpu` for launches, `wall` for host calls and pipelines.
  std::optional<measure::clock> clock{};
  std::optional<on::device> place{};  ///< for launches; if not given: the current device
  bool cold_cache = false;            ///< clear the L2 cache before each timed launch
  /// Callables that bring buffers bring the same ones, so no effect can be that of their placement.
  bool same_buffers = false;
  bool require_checks = false;  ///< UNPROVEN, and nothing is timed, unless all results are checked
  std::string title{};
  /// Over ranks: aligns their streams before each cell, and waits for them with a limit.
  device_barrier barrier{};
  bool ranks_share_gpus = false;  ///< over ranks: two of them may have one GPU

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

/// Watches the state of a place from the start of a comparison to its end.
struct environment_watch {
  std::function<void()> settle;  ///< waits for work that the last epoch left behind
  /// Called at the end of an epoch, before its subjects end; returns why its times are not trusted.
  std::function<std::vector<std::string>()> vetoes;
  std::function<void(comparison&)> describe;  ///< adds the description of the place
  std::function<std::uint64_t()> throttle_bits = [] { return std::uint64_t{0}; };
};

/// Adds the hooks of a watch to options. They run before the caller's own hooks, and the throttle
/// bits of both count. So several places can be watched.
options watched(options chosen, environment_watch const& place);

/// The watch over the host, which only describes it.
environment_watch host_watch();

/// The host's limits, measured once in a process.
std::vector<ceiling> host_ceilings();

}  // namespace assay::measure

namespace assay {

using measure::options;

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/measure/options_definitions.hpp>
#endif
