// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a caller may say about how a comparison is run.
#pragma once

#include <assay/measure/clock.hpp>
#include <assay/measure/subject.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure {

/// When outputs are checked: before the first and after the last timed cell, or around every epoch.
enum class verification { at_ends, every_epoch };

/// How a comparison is run. The defaults are the procedure as calibrated.
struct options {
  clock primary = clock::wall;  ///< decides the stopping
  double margin = 0.01;         ///< differences inside it are immaterial, as a share
  double alpha = 0.05;          ///< false-alarm rate over all looks and contrasts together
  std::uint64_t seed = 0;       ///< of all that is random; 0 draws one, which the result records
  double cell_seconds = 1e-3;   ///< timed part of a cell, for launches shorter than that
  int super_blocks = 4;         ///< per epoch
  int max_epochs = 24;          ///< the looks come after 1/3, 1/2, 2/3 and all of them
  bool resolve = false;         ///< run on after EQUIVALENT until a sign is known
  bool hidden_control = true;   ///< run the first variant against a second instance of itself
  verification verify = verification::at_ends;
  double warm_up_seconds = 0.25;  ///< cap of the warm-up, which ends earlier when times are steady

  /// Resolution of the clocks in seconds. `gpu`: 0.5 us, as the CUDA runtime documents for events.
  /// `wall`: 100 ns, a few reads of a steady clock at 20 to 30 ns each. `submit`: 1 ns, the unit of
  /// that clock, as the time per item is already a mean over the many items of a batch.
  std::array<double, 3> tick_seconds{100e-9, 0.5e-6, 1e-9};

  int profiled_batches = 5;  ///< of each pipeline, after the timed ones; 0: no profile

  std::string title{};
  std::string changed{};  ///< empty: taken from the axes of the variants

  /// Told the epoch (from 1), the most there may be, and what is being done. Exceptions from this
  /// and the next three pass through to the caller.
  std::function<void(int epoch, int of, std::string_view what)> progress{};
  std::function<bool()> cancelled{};  ///< asked before every cell
  /// Called before an epoch's subjects are built, when those of the last are gone.
  std::function<void(epoch const&)> at_epoch_begin{};
  /// Asked at the end of every epoch; reasons why its times cannot be trusted (throttling) make all
  /// findings UNPROVEN.
  std::function<std::vector<std::string>(epoch const&)> at_epoch_end{};
};

}  // namespace assay::measure
