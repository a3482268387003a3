// SPDX-License-Identifier: Apache-2.0
/// @file
/// `recorder`: a trace of what this process does, recorded in the process itself, by CUPTI.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/driver_call.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/cupti/nvtx_hook.hpp>
#include <assay/cupti/recorder_options.hpp>
#include <assay/cupti/session.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/ranges.hpp>

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace assay::trace {

/// Waits for every device on which this process has work, without making any device known to it
/// that was not. Gives what went wrong, or nothing.
inline std::string synchronize_used_devices() {
  // A thread that records a graph must not see its recording broken by this wait.
  relaxed_capture_guard const relaxed;
  try {
    // The driver tells which devices have a context; the runtime would make one to tell.
    auto* const state =
        driver_call<int (*)(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState", 12000);
    for (int device = 0; device < device_count(); ++device) {
      unsigned flags = 0;
      int active = 0;
      if (state(device, &flags, &active) != 0 || active == 0) { continue; }
      device_guard const guard{on::device{device}};
      check(cudaDeviceSynchronize());
    }
  } catch (std::exception const& error) { return error.what(); }
  return {};
}

/// Records a trace between `start` and `stop`, at any time and as often as wanted.
///
/// One recorder records at a time in a process. If another tool traces the process, or CUPTI or the
/// driver is missing, only ranges are recorded: `status()` and the trace's notes give the reason,
/// and nothing is thrown.
///
/// Start before the first CUDA call if possible. Otherwise the trace contains the loading and
/// allocating for the tracer, which may take seconds in large programs.
///
/// A row of a runtime call costs some 0.2 us, a row of a kernel some 0.4 us (on an H200 and its
/// host). The options bound the memory; `model::lost` counts rows without room.
class recorder {
 public:
  /// Loads CUPTI, but records nothing before `start`.
  explicit recorder(recorder_options options = {}, cupti_api const& api = cupti_api::load())
      : options_(std::move(options)), api_(api) {}
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;
  /// Discards a recording that was not stopped.
  ~recorder() {
    try {
      if (recording_) { (void)stop(); }
    } catch (...) {  // the trace is discarded, and so is its failure
    }
  }

  /// Begins a recording. Throws `std::logic_error` when one is on, here or elsewhere in the
  /// process.
  void start() {
    if (busy_.exchange(true)) {
      throw std::logic_error(recording_ ? "this recorder records already: stop it first"
                                        : "another trace::recorder records in this process: a "
                                          "process has one tracer, so stop that first");
    }
    try {
      if (options_.ranges) { hook_ = nvtx_hook::settle(); }
      epoch_ns_ = system_clock_ns();
      session_.emplace(options_, api_, epoch_ns_);
      status_ = session_->start();
      if (status_.what != recorder_status::kind::recording) { session_.reset(); }
      begin_ = system_clock_ns() - epoch_ns_;
      if (options_.ranges) { range_log::start(options_.range_bytes); }
    } catch (...) {
      session_.reset();
      status_ = {};
      busy_ = false;
      throw;
    }
    recording_ = true;
  }

  /// Ends the recording, waits for the devices in use, and gives the trace. Throws
  /// `std::logic_error` when none is on.
  model stop() {
    if (!recording_) { throw std::logic_error("this recorder records nothing: start it first"); }
    recording_ = false;
    struct ending {  // also where something is thrown below
      recorder& of;
      ~ending() {
        of.session_.reset();
        of.status_ = {};
        busy_ = false;
      }
    } const at_end{*this};
    span const window{begin_, system_clock_ns() - epoch_ns_};
    range_recording ranges;
    if (options_.ranges) { ranges = range_log::stop(); }
    model made;
    std::string problem;
    if (session_) {
      made = session_->stop(window, [&] { problem = synchronize_used_devices(); });
    } else {
      made.source = "assay recorder, ranges only";
      made.epoch_ns = epoch_ns_;
      made.window = window;
      made.notes.emplace_back("CUDA is not recorded", status_.text);
    }
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) { made.host = host.data(); }
    if (!problem.empty()) { made.notes.emplace_back("could not wait for all devices", problem); }
    if (options_.ranges) {
      add_ranges(made, ranges);
      note_hook(made);
    }
    return made;
  }

  /// The state now: `recording`, `idle` without a recording, or the reason for a recording without
  /// CUDA.
  recorder_status const& status() const noexcept { return status_; }

 private:
  void note_hook(model& made) const {
    auto const note = [&](char const* text) { made.notes.emplace_back("NVTX", text); };
    if (hook_ == nvtx_hook_state::other_tool) {
      note("another tool has the ranges of other code; assay's are here");
    } else if (hook_ == nvtx_hook_state::too_late) {
      note(
          "called before assay could listen, so that ranges of other code are missing: include "
          "<assay/cupti/nvtx_hook.hpp> where it is first used");
    } else if (hook_ == nvtx_hook_state::unsupported) {
      note("this NVTX cannot be listened to: ranges of other code are missing");
    }
  }

  static inline constinit std::atomic<bool> busy_{false};

  recorder_options options_;
  cupti_api api_;
  recorder_status status_;
  std::optional<cupti_session> session_;
  nvtx_hook_state hook_ = nvtx_hook_state::waiting;
  std::int64_t epoch_ns_ = 0;
  std::int64_t begin_ = 0;
  bool recording_ = false;
};

/// The trace of `work()` and of all operations that it launched. Passes on exceptions of `work` and
/// of `recorder::start`.
template <class Work>
model record(recorder_options const& options, Work&& work) {
  recorder tracer{options};
  tracer.start();
  std::forward<Work>(work)();
  return tracer.stop();
}

/// The trace of the second of two calls of `work()`.
///
/// The first call, in the same recording, bears one-time costs of the tracer: loading, and a wait
/// of 0.3 ms for the first copy of each recording (on an H200 and its host). Losses are counted for
/// both calls. Throws as `record` does.
template <class Work>
model record_warm(recorder_options const& options, Work&& work) {
  std::int64_t between_ns = 0;
  auto made = record(options, [&] {
    // Stamps of devices may be off by some microseconds, so nothing runs near the moment of the
    // cut.
    constexpr std::chrono::microseconds apart{100};
    work();
    (void)synchronize_used_devices();
    std::this_thread::sleep_for(apart);
    between_ns = system_clock_ns();
    std::this_thread::sleep_for(apart);
    work();
  });
  trim_before(made, between_ns - made.epoch_ns);
  return made;
}

}  // namespace assay::trace
