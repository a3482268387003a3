// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to launch_support.cuh: callables on streams, with whole engines behind them.
#pragma once

#include <assay/compare/launch_subject.cuh>
#include <assay/compare/launch_support.cuh>
#include <assay/measure/callable_variants.hpp>
#include <assay/measure/device_watch.hpp>

#include <cstdint>
#include <fstream>
#include <ios>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {
namespace detail {

/// The writable memory of this process at one moment, from `/proc/self/maps`.
class writable_memory {
 public:
  writable_memory() {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
      std::istringstream fields{line};
      range next{};
      char dash = 0;
      std::string rights;
      fields >> std::hex >> next.begin >> dash >> next.end >> rights;
      if (fields && rights.find('w') != std::string::npos) { ranges_.push_back(next); }
    }
  }

  bool contains(std::uintptr_t address) const noexcept {
    for (auto const& each : ranges_) {
      if (address >= each.begin && address < each.end) { return true; }
    }
    return false;
  }

 private:
  struct range {
    std::uintptr_t begin = 0, end = 0;
  };
  std::vector<range> ranges_;
};

/// Runs callables on streams of `options::place`.
class launch_support final : public callable_support {
 public:
  explicit launch_support(options const& chosen) : place_(place_of_options(chosen)) {
    auto const timed_by = chosen.clock.value_or(clock::gpu);
    if (chosen.cold_cache && timed_by != clock::gpu) {
      throw std::invalid_argument("cold_cache is timed by events: it needs the gpu clock, not " +
                                  std::string{to_string(timed_by)});
    }
    device_guard const guard{place_};
    session_ = std::make_shared<launch_session>(place_, timed_by, chosen.cold_cache);
  }
  std::unique_ptr<subject> build(epoch const& now, std::string const& label,
                                 callables::work_factory const& make) const override {
    return std::make_unique<launch_subject>(now, label, make, session_);
  }
  environment_watch watch() const override { return device_watch(place_); }
  std::vector<ceiling> ceilings() const override { return device_ceilings(place_); }

  /// True if all callables have captured the same pointers to memory that CUDA knows, and none to
  /// other writable memory, which may hold further pointers.
  bool same_buffers(std::vector<callables::captured_words> const& captured) const override {
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
  static on::device place_of_options(options const& chosen) {
    auto place = chosen.place.value_or(on::device{});
    require_device(place);
    if (!chosen.place) { check(cudaGetDevice(&place.id)); }
    return place;
  }

  on::device place_;
  std::shared_ptr<launch_session> session_;
};

ASSAY_INLINE std::shared_ptr<callable_support> launches_for(options const& chosen) {
  return make_support<launch_support>(chosen);
}

}  // namespace detail
}  // namespace assay::measure
