// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare(name, callable, name, callable)` for work on streams.
#pragma once

#include <assay/compare.hpp>
#include <assay/measure/device_watch.hpp>
#include <assay/measure/launch_subject.cuh>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::measure {

/// Runs callables on streams of `options::place`.
template <>
struct callable_support<true> {
  using signature = void(CUstream_st*);
  static constexpr clock default_clock = clock::gpu;
  static constexpr int most_launches = 200;

  explicit callable_support(options const& chosen) : place_(place_of(chosen)) {
    if (chosen.cold_cache && chosen.clock.value_or(default_clock) != clock::gpu) {
      throw std::invalid_argument("cold_cache is timed by events: it needs the gpu clock, not " +
                                  std::string{to_string(*chosen.clock)});
    }
    device_guard const guard{place_};
    session_ = std::make_shared<launch_session>(place_, chosen.clock.value_or(default_clock),
                                                chosen.cold_cache);
  }
  std::unique_ptr<subject> build(epoch const& now, std::string const& label,
                                 work_factory<signature> const& make) const {
    return std::make_unique<launch_subject>(now, label, make, session_);
  }
  environment_watch watch() const { return device_watch(place_); }
  std::vector<ceiling> ceilings() const { return device_ceilings(place_); }

 private:
  /// The device of the options, else the current device, which has the caller's buffers.
  static on::device place_of(options const& chosen) {
    auto place = chosen.place.value_or(on::device{});
    require_device(place);
    if (!chosen.place) { check(cudaGetDevice(&place.id)); }
    return place;
  }

  on::device place_;
  std::shared_ptr<launch_session> session_;
};

}  // namespace assay::measure
