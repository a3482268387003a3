// SPDX-License-Identifier: Apache-2.0
/// @file
/// Samples one device's clocks during a comparison, and says when its times cannot be trusted.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/core/nvml.hpp>
#include <assay/machine/environment.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::machine {

/// A cause of lowered clocks, and its consequence for a verdict.
struct throttle_reason {
  std::uint64_t bit;
  std::string_view name;
  bool vetoes;
};

/// The reasons that matter, by NVML's bits; an idle device (bit 0x1) is not throttled.
///
/// Heat and the board's hardware slowdowns veto. They depend on the room, the neighbours and the
/// minutes before, and halve the clocks within a cell, so the times would measure the cooling.
///
/// The power cap and fixed clock settings are reported and do not veto. An H200 under load is at
/// its power cap for most of the time. The cap regulates smoothly over milliseconds, so alternating
/// cells see the same clocks. A variant that draws more power is slower by its own nature.
inline constexpr std::array<throttle_reason, 8> throttle_reasons{
    throttle_reason{0x2, "application clocks", false},
    throttle_reason{0x4, "software power cap", false},
    throttle_reason{0x8, "hardware slowdown", true},
    throttle_reason{0x10, "sync boost", false},
    throttle_reason{0x20, "software thermal slowdown", true},
    throttle_reason{0x40, "hardware thermal slowdown", true},
    throttle_reason{0x80, "hardware power brake", true},
    throttle_reason{0x100, "display clocks", false}};

/// Samples a device at the ends of epochs. One thread uses it. A sample takes microseconds to
/// milliseconds of host time and no device time.
class nvml_watch {
 public:
  /// Takes a bus id from `cudaDeviceGetPCIBusId`. Nothing throws where NVML is missing.
  explicit nvml_watch(std::string pci_bus_id, nvml library = nvml::load())
      : bus_id_(std::move(pci_bus_id)), library_(std::move(library)) {}

  /// Samples now; returns the reasons that forbid a verdict, as `options::at_epoch_end` does.
  std::vector<std::string> sample() {
    std::vector<std::string> vetoes;
    auto const state = library_.ask(bus_id_, problems_);
    for (std::size_t i = 0; i < medians_of.size(); ++i) {
      values_[i].push_back(state.*medians_of[i]);
    }
    throttle_ = state.throttle.value_or(0);
    most_processes_ = std::max(most_processes_, state.processes.value_or(0));
    for (auto const& reason : throttle_reasons) {
      if ((throttle_ & reason.bit) == 0) { continue; }
      std::string const name{reason.name};
      add_distinct(seen_, name);
      if (reason.vetoes) { vetoes.push_back("throttled: " + name); }
    }
    return vetoes;
  }

  /// NVML's throttle bits at the last sample; 0 where they are not known.
  std::uint64_t throttle_bits() const noexcept { return throttle_; }

  /// All reasons seen so far, vetoing or not.
  std::vector<std::string> const& seen() const noexcept { return seen_; }

  /// Fills driver version, throttle reasons, and the medians over the samples.
  void describe(environment& where) const {
    if (auto const version = library_.driver_version(); !version.empty()) {
      where.driver = version;
    }
    where.sm_clock_mhz = stats::summarise(values_[0]).median;
    where.memory_clock_mhz = stats::summarise(values_[1]).median;
    where.power_watts = stats::summarise(values_[2]).median;
    where.temperature_celsius = stats::summarise(values_[3]).median;
    where.throttle_reasons = seen_;
  }

  /// One note on the questions that NVML did not answer; empty where it answered all.
  std::string note() const {
    std::vector<std::string> told;
    for (auto const& problem : problems_) { add_distinct(told, problem); }
    std::string text;
    for (auto const& problem : told) { text += (text.empty() ? "" : "; ") + problem; }
    return text.empty() ? text
                        : concat({"the state of the GPU is not fully known (NVML: ", text, ")"});
  }

  /// One note where a sample saw more than one process on the device; else empty.
  ///
  /// The note counts processes and does not compare their ids: in a container, NVML gives ids of
  /// another namespace. One process is taken for the caller's own. Another process may be idle, so
  /// the note is no veto.
  std::string sharing_note() const {
    if (most_processes_ <= 1) { return {}; }
    return concat({"another process uses this GPU: ", std::to_string(most_processes_),
                   " processes had a context on it"});
  }

 private:
  static constexpr std::array medians_of{
      &device_state::sm_clock_mhz, &device_state::memory_clock_mhz, &device_state::power_watts,
      &device_state::temperature_celsius};

  std::string bus_id_;
  nvml library_;
  std::array<std::vector<double>, medians_of.size()> values_;  // by sample
  std::uint64_t throttle_ = 0;                                 // at the last sample
  std::vector<std::string> seen_, problems_;
  int most_processes_ = 0;
};

}  // namespace assay::machine
