// SPDX-License-Identifier: Apache-2.0
/// @file
/// The instruments of a device: events, the SM clock, NVML, the rate of a device copy.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/machine/clock_probe.cuh>
#include <assay/measure/device_watch.hpp>
#include <assay/measure/pipeline_subject.hpp>
#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <vector>

namespace assay {

/// The default memory of a device: the driver's own stream-ordered allocator.
template <>
struct default_memory<on::device> {
  using type = mr::async;
};

namespace measure {

template <std::same_as<on::device> Place>
struct instruments<Place> {
  /// Two timed events for each lane, recorded before its first item and after its last.
  class batch_timer {
   public:
    /// Records on the thread that submits to the lane.
    struct lane_events : submit::no_probe {
      std::vector<event> begin, end;
      template <class Lane>
      void lane_begin(Lane& where) {
        begin[static_cast<std::size_t>(where.index)].record(where.stream);
      }
      template <class Lane>
      void lane_end(Lane& where) {
        end[static_cast<std::size_t>(where.index)].record(where.stream);
      }
    };

    batch_timer(on::device place, int lanes) : clock_(place), stream_(place) {
      device_guard const guard{place};
      for (int i = 0; i < lanes; ++i) {
        events_.begin.emplace_back(event::kind::timed);
        events_.end.emplace_back(event::kind::timed);
      }
    }

    lane_events& probe() noexcept { return events_; }

    /// From the first lane's beginning to the last lane's end.
    double gpu_seconds() const {
      auto const& origin = events_.begin.front();
      double first = 0;
      double last = 0;
      for (auto const& each : events_.begin) {
        first = std::min(first, &each == &origin ? 0 : each.seconds_since(origin));
      }
      for (auto const& each : events_.end) { last = std::max(last, each.seconds_since(origin)); }
      return last - first;
    }

    void cell_begin() { clock_.begin(stream_); }
    void cell_end() { clock_.end(stream_); }
    double sm_hertz() { return clock_.hertz(); }

   private:
    machine::sm_clock_probe clock_;
    stream stream_;
    lane_events events_;
  };

  static environment_watch watch(on::device place) { return device_watch(place); }
  static std::vector<ceiling> ceilings(on::device place) { return device_ceilings(place); }
};

}  // namespace measure
}  // namespace assay
