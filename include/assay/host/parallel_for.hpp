// SPDX-License-Identifier: Apache-2.0
/// @file
/// `parallel_for`: a range of indices, split over threads.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstdint>
#include <functional>

namespace assay::host {

/// Calls `body(begin, end)` for disjoint parts that together are [0, count), on the calling thread
/// and on at most `threads - 1` threads of its `worker_team`; returns when all are done.
///
/// Parts begin at multiples of `grain` and have at least that length, except for the last. A range
/// of less than two grains wakes no thread. The first exception is rethrown when all parts have
/// ended. Throws `std::runtime_error` before any part begins where a thread cannot be started, and
/// `std::invalid_argument` for a grain below 1.
void parallel_for(int threads, std::int64_t count, std::int64_t grain,
                  std::function<void(std::int64_t, std::int64_t)> const& body);

/// The number of hardware threads that this process may use.
int all_threads() noexcept;

}  // namespace assay::host

#ifndef ASSAY_DECLARED
#include <assay/host/parallel_for_definitions.hpp>
#endif
