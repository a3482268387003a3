// SPDX-License-Identifier: Apache-2.0
/// @file
/// A caller's own work on a stream as a thing to measure.
#pragma once

#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/clock_probe.cuh>
#include <assay/measure/subject.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// Work on a stream. `launch(stream, arena)` enqueues one launch, which may read and write what
/// belongs to that arena (0 or 1), and does not block. The others may be left out: `poison(stream,
/// arena)` overwrites the outputs, `verify(stream, arena)` says what is wrong with them or nothing,
/// and is called when the stream has drained.
struct stream_work {
  std::function<void(::cuda::stream_ref, int)> launch;
  std::function<void(::cuda::stream_ref, int)> poison = {};
  std::function<std::optional<std::string>(::cuda::stream_ref, int)> verify = {};
};

/// Work on a stream of its own, which is made with the subject, anew for each epoch.
///
/// A cell is one pair of events round its launches, queued behind the wash-out of `warm` without
/// waiting for it, so that the device is busy while the host queues them. `gpu` is the time between
/// the events, and `submit` the host's time in `launch`. `wall` is the host's time from the first
/// launch of the wash-out until the stream has drained, over all these launches, since the timed
/// ones have no beginning of their own on the host.
template <class Clock = std::chrono::steady_clock>
class stream_subject final : public subject {
 public:
  stream_subject(on::device place, stream_work work)
      : place_(place), work_(std::move(work)), stream_(place), clock_(place) {
    if (!work_.launch) {
      throw std::invalid_argument("stream_work.launch is empty, but must be callable");
    }
    device_guard const guard{place_};
    begin_.emplace(event::kind::timed);
    end_.emplace(event::kind::timed);
  }

  void warm(int arena, int launches) override {
    range const scope{"warm", category::measurement};
    device_guard const guard{place_};
    enqueue(arena, launches);
  }

  cell time(int arena, int launches) override {
    require_launches(launches);
    range const scope{"cell", category::measurement};
    device_guard const guard{place_};
    clock_.begin(stream_);
    begin_->record(stream_);
    auto const first = Clock::now();
    enqueue(arena, launches);
    auto const queued = Clock::now();
    end_->record(stream_);
    clock_.end(stream_);
    stream_.synchronize();
    auto const drained = Clock::now();

    cell mean;
    mean[clock::gpu] = end_->seconds_since(*begin_) / launches;
    mean[clock::submit] = seconds(first, queued) / launches;
    mean[clock::wall] = seconds(first_submit_, drained) / in_flight_;
    mean.sm_hertz = clock_.hertz();
    in_flight_ = 0;
    return mean;
  }

  std::optional<std::string> verify(int arena) override {
    range const scope{"verify", category::measurement};
    device_guard const guard{place_};
    if (work_.poison) { work_.poison(stream_, arena); }
    work_.launch(stream_, arena);
    stream_.synchronize();
    in_flight_ = 0;
    return work_.verify ? work_.verify(stream_, arena) : std::nullopt;
  }

 private:
  static double seconds(typename Clock::time_point begin, typename Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  static void require_launches(int launches) {
    if (launches >= 1) { return; }
    throw std::invalid_argument("a cell of " + std::to_string(launches) +
                                " launches, but it must have at least 1");
  }

  void enqueue(int arena, int launches) {
    if (in_flight_ == 0) { first_submit_ = Clock::now(); }
    for (int i = 0; i < launches; ++i) {
      range const scope{"launch", category::gpu};
      work_.launch(stream_, arena);
    }
    in_flight_ += launches;
  }

  on::device place_;
  stream_work work_;
  stream stream_;
  kernel::sm_clock_probe clock_;
  std::optional<event> begin_;
  std::optional<event> end_;
  typename Clock::time_point first_submit_;
  int in_flight_ = 0;  ///< launches since the stream was last known to be idle
};

/// A variant that measures `work` as it is: epochs renew its stream, the caller keeps its buffers.
/// For buffers that are made anew too, write `build` by hand.
template <class Clock = std::chrono::steady_clock>
variant stream_variant(std::string label, on::device place, stream_work work) {
  return {label, {{"work", label}}, [place, work = std::move(work)](epoch const&) {
            return std::make_unique<stream_subject<Clock>>(place, work);
          }};
}

}  // namespace assay::measure
