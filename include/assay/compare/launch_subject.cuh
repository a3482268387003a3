// SPDX-License-Identifier: Apache-2.0
/// @file
/// `launch_subject`: work that is enqueued on a stream.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/compare/launch_session.cuh>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/measure/host_subject.hpp>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::measure {

/// Launches on the stream of the epoch, which all subjects of the epoch share.
///
/// - `gpu`: two events enclose the launches. They wait in the held stream until all are enqueued,
///   so the device never waits for the host.
/// - `submit`: the host's time to enqueue one launch.
/// - `wall`: from the first launch, on an idle stream, until the stream has drained.
///
/// Each launch is timed by itself in cells of few launches, with a cold cache, and where some work
/// of the comparison changes its input. A flush or a restored input before a launch is not timed.
///
/// Every cell ends with a drain of the device. It finds work on other streams that outlasts the
/// given stream by 100 us or more.
///
/// Over ranks, all ranks launch equally often, since a launch may wait for those of other ranks. So
/// what only one rank sees leads to further launches in `look` alone, which all ranks call.
/// Before a cell the ranks wait for each other, and a `device_barrier` aligns their streams.
class launch_subject final : public subject {
 public:
  /// Where the body throws, the destructor runs.
  launch_subject(epoch const& now, std::string const& label, callables::work_factory const& make,
                 std::shared_ptr<launch_session> session)
      : launch_subject(now, label, std::move(session)) {
    device_guard const guard{session_->place()};
    for (int i = 0; i < 2; ++i) {
      events_.emplace_back(event::kind::timed);
      auto& set = sets_[static_cast<std::size_t>(i)];
      set.arrays =
          std::make_unique<setup>(std::make_unique<arrays::device_array_store>(
                                      session_->place(), stream_, placement_seed(now, label, i)),
                                  value_seed(now));
      set.work = make(*set.arrays);
      if (set.arrays->has_state()) { session_->restore_inputs(); }
    }
    wait();
  }

  ~launch_subject() override {
    session_->latch().open();  // an exception may have left the stream held
    if (session_->drained(stream_, patience_)) { return; }
    (void)new std::shared_ptr<launch_session>(session_);  // these are never freed
    for (auto& each : sets_) { (void)each.arrays.release(); }
  }

  void warm(int buffer_set, int launches) override {
    nvtx_range const scope{"warm", category::measurement};
    device_guard const guard{session_->place()};
    session_->drop_persisting_lines();
    auto const& set = of(buffer_set);
    for (int i = 0; i < launches; ++i) {
      set.arrays->restore();
      call(set.work, 1);
    }
    // A failure before the first cell belongs to this variant, and no cell of another variant may
    // begin beside these launches.
    if (timed_) { return; }
    wait();
    count_long_drain();
  }

  cell time(int buffer_set, int launches) override {
    nvtx_range const scope{"cell", category::measurement};
    device_guard const guard{session_->place()};
    timed_ = true;
    auto const& set = of(buffer_set);
    auto mean = timed(set.work, set.arrays.get(), launches, static_cast<bool>(arrive_));
    count_long_drain();
    resolve_doubts(buffer_set);
    return mean;
  }

  /// Times launches of a kernel that does nothing.
  std::optional<cell> time_empty(int launches) override {
    nvtx_range const scope{"empty cell", category::measurement};
    device_guard const guard{session_->place()};
    callables::work const nothing{nullptr, [](void*, CUstream_st* on) {
                                    launch_session::enqueue_nothing(::cuda::stream_ref{on});
                                  }};
    call(nothing, 2);  // as before other cells
    return timed(nothing, nullptr, launches, false);
  }

  std::optional<std::string> verify(int buffer_set) override {
    nvtx_range const scope{"verify", category::measurement};
    device_guard const guard{session_->place()};
    auto const& set = of(buffer_set);
    set.arrays->poison();
    set.arrays->restore();
    call(set.work, 1);
    wait();
    auto const wrong = set.arrays->verify();
    count_long_drain();
    unseen_ = learns_ && !wrong && session_->held();
    if (!wrong) { resolve_doubts(buffer_set); }
    return wrong;
  }

  int doubts() const override { return maybe_empty_ ? many : unseen_ || escapes_ >= 3 ? 1 : 0; }

  void look(int buffer_set, int launches) override {
    nvtx_range const scope{"look", category::measurement};
    device_guard const guard{session_->place()};
    auto const& set = of(buffer_set);
    if (launches > 1) { return look_for_work(set, launches); }
    if (!std::exchange(unseen_, false)) { return look_beside(set); }
    maybe_empty_ = device_seconds(set.work, set, 1) <= 20e-6 && session_->held();
  }
  void share_gpu() override { session_->share(); }

  int at_once() const override {
    bool const alone =
        prepares() && (session_->primary() == clock::wall || session_->lines_persist());
    return alone ? 1 : prepares() ? most_prepared : std::numeric_limits<int>::max();
  }
  std::string gpu() const override { return session_->gpu(); }

  double bytes() const override { return sets_[0].arrays->bytes(); }
  double flops() const override { return sets_[0].arrays->flops(); }
  checks checked() const override { return checks_of(*sets_[0].arrays); }
  std::vector<std::string> caveats() const override {
    auto all = sample_notes(*sets_[0].arrays);
    if (session_->primary() != clock::wall && !session_->held()) {
      all.push_back("\"" + session_->blocking() +
                    "\" synchronises, or enqueues more than a held stream takes: all times contain "
                    "the host's part of a launch. Let a callable only enqueue");
    }
    if (session_->shared()) {
      all.emplace_back(
          "another thread of this process, or another rank, uses the device: times contain its "
          "part, and work of a callable on streams of its own is not looked for");
    }
    return all;
  }

 private:
  using buffers = buffer_set;
  using steady_clock = std::chrono::steady_clock;

  launch_subject(epoch const& now, std::string const& label,
                 std::shared_ptr<launch_session> session)
      : session_(std::move(session)),
        label_(label),
        shared_stream_(session_->stream_of(now.number)),
        stream_(*shared_stream_),
        arrive_(now.arrive),
        patience_(now.patience),
        learns_(now.number == 0) {}
  /// Launches of a cell, each of 0.25 ms or more: a pair of events takes less than 1 % of it.
  static constexpr int few = 4;
  /// Launches behind a closed latch, with what prepares each: a stream takes some 1000 operations.
  static constexpr int most_prepared = 50;
  static constexpr int many = 16;  ///< launches that tell work from no work

  static double seconds(steady_clock::time_point begin, steady_clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  void wait() const { session_->wait_for(stream_, patience_); }

  /// Checks for errors of launches that failed to start, which a later call would report.
  void call(callables::work const& what, int times) {
    for (int i = 0; i < times; ++i) {
      nvtx_range const scope{"launch", category::gpu};
      what(stream_.get());
    }
    check_launches();
  }

  /// True if something is done before each launch that does not belong to its time.
  bool prepares() const noexcept { return session_->cold_cache() || session_->restores(); }

  void prepare(setup* arrays) {
    if (arrays != nullptr) { arrays->restore(); }
    if (session_->cold_cache()) { session_->flush_cache(stream_); }
  }

  /// Times launches in batches of as many as can be enqueued at once; `arrays` may be null.
  /// `together`: the first batch of all ranks begins at once.
  cell timed(callables::work const& what, setup* arrays, int launches, bool together) {
    bool const one_by_one = prepares() || (launches <= few && session_->primary() == clock::gpu);
    int const most = at_once();
    auto mean = no_cell();
    for (int done = 0; done < launches;) {
      int const now = std::min(most, launches - done);
      add_part(mean, batch(what, arrays, now, one_by_one, together && done == 0), 1.0 / launches);
      done += now;
    }
    if (launches > few) { mean.launches.clear(); }
    return mean;
  }

  /// Enqueues launches, in a held stream where the comparison holds streams, and waits for them.
  /// Returns their summed seconds.
  cell batch(callables::work const& what, setup* arrays, int launches, bool one_by_one,
             bool together = false) {
    bool const held = session_->held();
    bool const by_wall = session_->primary() == clock::wall;
    if (together) { arrive_(); }
    if (by_wall) {
      if (prepares()) { prepare(arrays); }
      if (together) { session_->align(stream_); }
      wait();
    } else if (session_->cold_cache() && session_->lines_persist()) {
      wait();
      session_->drop_persisting_lines();
    }
    if (held) { session_->latch().hold(stream_); }
    if (together && !by_wall) { session_->align(stream_); }
    // By wall, the probes of the clock would be a part of each launch that is timed by itself.
    bool const probes = !(by_wall && prepares());
    if (probes) { session_->sm_clock().begin(stream_); }
    auto const first = steady_clock::now();
    double enqueueing = 0;
    auto const pairs = static_cast<std::size_t>(one_by_one ? launches : 1);
    while (events_.size() < 2 * pairs) { events_.emplace_back(event::kind::timed); }
    for (std::size_t i = 0; i < pairs; ++i) {
      if (prepares() && !by_wall) { prepare(arrays); }
      events_[2 * i].record(stream_);
      auto const begin = steady_clock::now();
      call(what, one_by_one ? 1 : launches);
      enqueueing += seconds(begin, steady_clock::now());
      events_[2 * i + 1].record(stream_);
    }
    if (probes) { session_->sm_clock().end(stream_); }
    if (held) { session_->latch().open(); }
    wait();
    auto const drained = steady_clock::now();

    cell sum;
    sum[clock::gpu] = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      double const taken = events_[2 * i + 1].seconds_since(events_[2 * i]);
      sum[clock::gpu] += taken;
      if (one_by_one) { sum.launches.push_back(taken); }
    }
    if (!session_->cold_cache()) { sum[clock::submit] = enqueueing; }
    if (by_wall) { sum[clock::wall] = seconds(first, drained); }
    if (probes) { sum.sm_hertz = session_->sm_clock().hertz(); }
    if (held && session_->latch().gave_way()) {
      session_->release_streams(label_);
      sum.disturbance = "its launches took more than 50 ms to enqueue";
    }
    return sum;
  }

  /// The device time of launches in a held stream. If the latch gave way, the callable waited for
  /// the device, and no stream of this comparison is held from then on.
  double device_seconds(callables::work const& what, buffers const& of, int launches) {
    return batch(what, of.arrays.get(), launches, true)[clock::gpu];
  }

  /// Throws if the callable enqueues nothing: an empty kernel takes more than 0.5 us on every
  /// device.
  void look_for_work(buffers const& of, int launches) {
    auto const taken = device_seconds(of.work, of, launches);
    if (!std::exchange(maybe_empty_, false) || !session_->held()) { return; }
    auto const nothing = device_seconds({nullptr, [](void*, CUstream_st*) {}}, of, launches);
    if (taken > nothing + launches * 0.5e-6) { return; }
    throw std::runtime_error(
        "it enqueues nothing on the stream that it is given: launch on that stream, or let its own "
        "streams wait for it and it for them by events");
  }

  /// Counts successive cells after which work ran on other streams.
  ///
  /// After the stream has drained, the device is idle, unless there is work on other streams. A
  /// host thread can lose its processor during a drain, but not three times in turn.
  void count_long_drain() {
    if (!session_->shared()) { escapes_ = session_->drain_is_long(patience_) ? escapes_ + 1 : 0; }
  }

  /// One look of some at work on other streams. The last one throws where the callable enqueued
  /// that work. Work of another thread goes on while the callable rests.
  void look_beside(buffers const& of) {
    constexpr int looks = 20;
    of.arrays->restore();
    call(of.work, 1);
    wait();
    if (escapes_ < 3) { return; }
    beside_ += session_->drain_is_long(patience_) ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::microseconds{500});
    without_ += session_->drain_is_long(patience_) ? 1 : 0;
    if (++looks_ < looks) { return; }
    looks_ = escapes_ = 0;
    int const beside = std::exchange(beside_, 0);
    int const without = std::exchange(without_, 0);
    if (10 * without <= looks && 2 * beside > looks) {
      throw std::runtime_error(
          "work that it enqueued on other streams still ran when its stream had drained: let the "
          "given stream wait for those streams by events");
    }
    if (2 * without > looks) { session_->share(); }
  }

  /// Over ranks all ranks look, when rank 0 says so.
  void resolve_doubts(int buffer_set) {
    for (int launches = 0; !arrive_ && (launches = doubts()) > 0;) { look(buffer_set, launches); }
  }

  buffers const& of(int number) const { return sets_[static_cast<std::size_t>(number)]; }

  std::shared_ptr<launch_session> session_;
  std::string label_;
  std::shared_ptr<stream const> shared_stream_;
  stream const& stream_;
  std::function<void()> arrive_;  ///< over ranks: see `epoch`
  std::chrono::duration<double> patience_;
  std::array<buffers, 2> sets_;
  std::vector<event> events_;
  bool timed_ = false;        ///< a cell has run
  bool learns_;               ///< in the first epoch, a launch is timed after `verify`
  bool unseen_ = false;       ///< it was not timed yet
  bool maybe_empty_ = false;  ///< it took so little that it may have been none
  int escapes_ = 0;           ///< successive long first drains of the device
  int looks_ = 0, beside_ = 0, without_ = 0;  ///< of `look_beside`
};

}  // namespace assay::measure
