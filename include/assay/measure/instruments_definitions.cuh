// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to instruments.cuh: the events and the SM clock of batches.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/machine/clock_probe.cuh>
#include <assay/measure/instruments.cuh>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace assay::measure {
namespace detail {

class event_timer final : public batch_timer {
 public:
  event_timer(on::device place, int lanes) : clock_(place), stream_(place) {
    device_guard const guard{place};
    for (int i = 0; i < lanes; ++i) {
      begin_.emplace_back(event::kind::timed);
      end_.emplace_back(event::kind::timed);
    }
  }

  void lane_begin(int lane, void* stream) override { record(begin_, lane, stream); }
  void lane_end(int lane, void* stream) override { record(end_, lane, stream); }

  /// From the first lane's beginning to the last lane's end.
  double gpu_seconds() const override {
    auto const& origin = begin_.front();
    double first = 0;
    double last = 0;
    for (auto const& each : begin_) {
      first = std::min(first, &each == &origin ? 0 : each.seconds_since(origin));
    }
    for (auto const& each : end_) { last = std::max(last, each.seconds_since(origin)); }
    return last - first;
  }

  void cell_begin() override { clock_.begin(stream_); }
  void cell_end() override { clock_.end(stream_); }
  double sm_hertz() override { return clock_.hertz(); }

 private:
  static void record(std::vector<event>& of, int lane, void* on) {
    of[static_cast<std::size_t>(lane)].record(::cuda::stream_ref{static_cast<cudaStream_t>(on)});
  }

  machine::sm_clock_probe clock_;
  stream stream_;
  std::vector<event> begin_, end_;
};

}  // namespace detail

ASSAY_INLINE std::unique_ptr<batch_timer> device_batch_timer(on::device place, int lanes) {
  return std::make_unique<detail::event_timer>(place, lanes);
}

}  // namespace assay::measure
