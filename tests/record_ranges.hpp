// SPDX-License-Identifier: Apache-2.0
/// @file
/// `record_ranges`: a trace of ranges alone, without CUDA.
#pragma once

#include <assay/core/range_log.hpp>
#include <assay/core/system_clock.hpp>
#include <assay/trace/ranges.hpp>

#include <cstddef>
#include <utility>

namespace assay::test {

/// The trace of all ranges while `work()` ran. Passes on what `work` throws, and the
/// `std::logic_error` of a recording that is on already.
template <class Work>
trace::model record_ranges(Work&& work, std::size_t most_bytes = std::size_t{256} << 20U) {
  trace::model made;
  range_log::start(most_bytes);
  made.epoch_ns = system_clock_ns();
  try {
    std::forward<Work>(work)();
  } catch (...) {
    range_log::stop();
    throw;
  }
  made.window.end = system_clock_ns() - made.epoch_ns;
  trace::add_ranges(made, range_log::stop());
  return made;
}

}  // namespace assay::test
