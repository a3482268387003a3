// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to launch_support.cuh: callables on streams, with whole engines behind them.
#pragma once

#include <assay/compare/launch_subject.cuh>
#include <assay/compare/launch_support.cuh>
#include <assay/machine/file_lines.hpp>
#include <assay/measure/callable_variants.hpp>
#include <assay/measure/device_watch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure {
namespace detail {

/// The writable memory of this process at one moment, from `/proc/self/maps`.
class writable_memory {
 public:
  writable_memory() {
    for (auto const& line : machine::file_lines("/proc/self/maps")) {  // "begin-end rwxp ..."
      char* at = nullptr;
      auto const begin = std::strtoull(line.c_str(), &at, 16);
      if (*at != '-') { continue; }
      auto const end = std::strtoull(at + 1, &at, 16);
      if (std::string_view{at}.substr(0, 5).find('w') == std::string_view::npos) { continue; }
      bounds_.push_back(begin);
      bounds_.push_back(end);
    }
  }

  bool contains(std::uintptr_t address) const noexcept {
    for (std::size_t i = 0; i < bounds_.size(); i += 2) {
      if (address >= bounds_[i] && address < bounds_[i + 1]) { return true; }
    }
    return false;
  }

 private:
  std::vector<std::uintptr_t> bounds_;  ///< begin and end of each range
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
    session_.reset(new launch_session{place_, timed_by, chosen.cold_cache, chosen.barrier});
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
    callables::captured_words common;
    for (auto const& words : captured) {
      callables::captured_words buffers;
      for (auto const word : words) {
        cudaPointerAttributes of{};
        check(cudaPointerGetAttributes(&of, reinterpret_cast<void const*>(word)));
        if (of.type != cudaMemoryTypeUnregistered) {
          buffers.push_back(word);
        } else if (host.contains(word)) {
          return false;
        }
      }
      if (buffers.empty()) { return false; }
      if (common.empty()) { common = buffers; }
      if (!contains_all(common, buffers) || !contains_all(buffers, common)) { return false; }
    }
    return !common.empty();
  }

 private:
  static bool contains_all(callables::captured_words const& all,
                           callables::captured_words const& some) {
    for (auto const each : some) {
      bool contained = false;
      for (auto const other : all) { contained = contained || other == each; }
      if (!contained) { return false; }
    }
    return true;
  }

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

ASSAY_INLINE std::shared_ptr<callable_support const> launches_for(options const& chosen) {
  return make_support<launch_support>(chosen);
}

}  // namespace detail
}  // namespace assay::measure
