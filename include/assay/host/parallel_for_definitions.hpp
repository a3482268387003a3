// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to parallel_for.hpp: the definitions of its functions.
#pragma once

#include <assay/core/place.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/host/worker_team.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>

namespace assay::host {

ASSAY_INLINE void parallel_for(int threads, std::int64_t count, std::int64_t grain,
                               std::function<void(std::int64_t, std::int64_t)> const& body) {
  if (grain < 1) {
    throw std::invalid_argument("parallel_for: the grain is " + std::to_string(grain) +
                                ", and at least 1 is needed");
  }
  if (count <= 0) { return; }
  auto const grains = (count - 1) / grain + 1;
  auto const parts = std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(count / grain, 1));
  if (parts == 1) { return body(std::int64_t{0}, count); }

  std::mutex failing;
  std::exception_ptr failure;
  worker_team::of_this_thread().run(static_cast<int>(parts), [&](int part) noexcept {
    try {
      body(grains * part / parts * grain, std::min(grains * (part + 1) / parts * grain, count));
    } catch (...) {
      std::lock_guard const lock{failing};
      if (!failure) { failure = std::current_exception(); }
    }
  });
  if (failure) { std::rethrow_exception(failure); }
}

ASSAY_INLINE int all_threads() noexcept {
  static int const all = usable_cores();  // asked once: it is a call of the system
  return all;
}

}  // namespace assay::host
