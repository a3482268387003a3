// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare(name, callable, name, callable)` for work on streams.
#pragma once

#include <assay/compare.hpp>
#include <assay/measure/device_watch.hpp>
#include <assay/measure/launch_subject.cuh>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// Runs callables on streams of `options::place`.
template <>
struct callable_support<true> {
  using signature = void(CUstream_st*);
  static constexpr clock default_clock = clock::gpu;
  static constexpr int most_launches = 200;
  /// The share of a launch's time that the placement of its buffers may be worth: equal kernels
  /// over buffers of 8 MiB, within L2, differed by up to 4.4 % on an H100.
  static constexpr double placement = 0.05;

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

  /// True if all callables have captured the same pointers to memory that CUDA knows, and none to
  /// other writable memory, which may hold further pointers.
  bool same_buffers(std::vector<captured_words> const& captured) const {
    writable_memory const host;
    std::optional<std::set<std::uintptr_t>> common;
    for (auto const& words : captured) {
      if (!words) { return false; }
      std::set<std::uintptr_t> buffers;
      for (auto const word : *words) {
        cudaPointerAttributes of{};
        check(cudaPointerGetAttributes(&of, reinterpret_cast<void const*>(word)));
        if (of.type != cudaMemoryTypeUnregistered) {
          buffers.insert(word);
        } else if (host.contains(word)) {
          return false;
        }
      }
      if (buffers.empty() || (common && *common != buffers)) { return false; }
      common = std::move(buffers);
    }
    return common.has_value();
  }

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
