// SPDX-License-Identifier: Apache-2.0
/// @file
/// Work that is enqueued on a stream, as a thing to measure.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>
#include <assay/measure/host_subject.hpp>
#include <assay/measure/launch_session.cuh>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// Launches on a stream of their own, which is made with the subject, anew for each epoch.
///
/// A cell on the `gpu` clock: the launches wait in the held stream until all are enqueued, so the
/// device never waits for the host; two events enclose them. `submit` is the host's time to enqueue
/// one. A cell on the `wall` clock: from the first launch, on an idle stream, until the stream has
/// drained. With a cold cache each launch has a pair of events of its own, after a flush.
///
/// Every cell ends with a drain of the device, which finds work on other streams that outlasts the
/// given one by 100 us or more.
template <class Clock = std::chrono::steady_clock>
class launch_subject final : public subject {
 public:
  launch_subject(epoch const& now, std::string const& label,
                 work_factory<void(CUstream_st*)> const& make,
                 std::shared_ptr<launch_session> session)
      : session_(std::move(session)), stream_(session_->place()), learns_(now.number == 0) {
    device_guard const guard{session_->place()};
    for (int i = 0; i < 2; ++i) {
      events_.emplace_back(event::kind::timed);
      auto& set = sets_[static_cast<std::size_t>(i)];
      set.arrays =
          std::make_unique<setup>(std::make_unique<arrays::device_array_store>(
                                      session_->place(), stream_, placement_seed(now, label, i)),
                                  value_seed(now));
      set.work = make(*set.arrays);
    }
    stream_.synchronize();
  }

  ~launch_subject() override {
    session_->latch().open();  // an exception may have left the stream held
    (void)check_noexcept(cudaStreamSynchronize(stream_.get()));
  }

  void warm(int buffer_set, int launches) override {
    range const scope{"warm", category::measurement};
    device_guard const guard{session_->place()};
    of(buffer_set).arrays->restore();
    call(of(buffer_set).work, launches);
    // Before the first cell: what fails here is this variant's, and no cell of another one begins
    // beside these launches.
    if (!timed_) { stream_.synchronize(); }
  }

  cell time(int buffer_set, int launches) override {
    range const scope{"cell", category::measurement};
    device_guard const guard{session_->place()};
    timed_ = true;
    bool const held = session_->held();
    if (session_->primary() == clock::wall) { stream_.synchronize(); }
    if (held) { session_->latch().hold(stream_); }
    session_->sm_clock().begin(stream_);
    auto const first = Clock::now();
    enqueue_timed(of(buffer_set).work, launches);
    auto const queued = Clock::now();
    session_->sm_clock().end(stream_);
    if (held) { session_->latch().open(); }
    stream_.synchronize();
    auto const drained = Clock::now();

    cell mean;
    mean[clock::gpu] = gpu_seconds(launches) / launches;
    if (!session_->cold_cache()) { mean[clock::submit] = seconds(first, queued) / launches; }
    if (session_->primary() == clock::wall) {
      mean[clock::wall] = seconds(first, drained) / launches;
    }
    mean.sm_hertz = session_->sm_clock().hertz();
    if (held && session_->latch().gave_way()) {
      session_->release_streams();
      mean.disturbance = "its launches took more than 50 ms to enqueue";
    }
    look_for_escaped_work();
    return mean;
  }

  std::optional<std::string> verify(int buffer_set) override {
    range const scope{"verify", category::measurement};
    device_guard const guard{session_->place()};
    auto const& set = of(buffer_set);
    set.arrays->poison();
    set.arrays->restore();
    call(set.work, 1);
    stream_.synchronize();
    look_for_escaped_work();
    auto const wrong = set.arrays->verify();
    if (!wrong && learns_) { learn_how_it_enqueues(set.work); }
    return wrong;
  }

  double bytes() const override { return sets_[0].arrays->bytes(); }
  double flops() const override { return sets_[0].arrays->flops(); }
  std::vector<std::string> caveats() const override {
    std::vector<std::string> all;
    if (session_->primary() != clock::wall && !session_->held()) {
      all.emplace_back(
          "a callable blocks, or enqueues more than a held stream takes: all times contain the "
          "host's part of a launch");
    }
    return all;
  }

 private:
  using work = std::function<void(CUstream_st*)>;

  static double seconds(typename Clock::time_point begin, typename Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  /// Launches that failed to start leave an error that only a later call would report.
  void call(work const& what, int times) {
    for (int i = 0; i < times; ++i) {
      range const scope{"launch", category::gpu};
      what(stream_.get());
    }
    check(cudaGetLastError());
  }

  /// With a cold cache, a pair of events for each launch; else one pair.
  void enqueue_timed(work const& what, int launches) {
    bool const cold = session_->cold_cache();
    auto const pairs = static_cast<std::size_t>(cold ? launches : 1);
    while (events_.size() < 2 * pairs) { events_.emplace_back(event::kind::timed); }
    for (std::size_t i = 0; i < pairs; ++i) {
      if (cold) { session_->flush_cache(stream_); }
      events_[2 * i].record(stream_);
      call(what, cold ? 1 : launches);
      events_[2 * i + 1].record(stream_);
    }
  }

  double gpu_seconds(int launches) const {
    auto const pairs = static_cast<std::size_t>(session_->cold_cache() ? launches : 1);
    double sum = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      sum += events_[2 * i + 1].seconds_since(events_[2 * i]);
    }
    return sum;
  }

  /// One launch in a held stream: if the stream gave way, the callable waited for the device, and
  /// no stream of this comparison is held from then on. Else, device time tells whether the
  /// callable enqueued anything: an empty kernel takes more than 0.5 us on every device.
  void learn_how_it_enqueues(work const& what) {
    if (!session_->held()) { return; }
    if (double const once = held_seconds(what, 1); once > 20e-6 || !session_->held()) { return; }
    constexpr int many = 16;
    if (held_seconds(what, many) > held_seconds(what, 0) + many * 0.5e-6) { return; }
    throw std::runtime_error(
        "it enqueues nothing on the stream that it is given: launch on that stream, or let its own "
        "streams wait for it and it for them by events");
  }

  double held_seconds(work const& what, int launches) {
    while (events_.size() < 2) { events_.emplace_back(event::kind::timed); }
    session_->latch().hold(stream_);
    events_[0].record(stream_);
    call(what, launches);
    events_[1].record(stream_);
    session_->latch().open();
    stream_.synchronize();
    if (session_->latch().gave_way()) { session_->release_streams(); }
    return events_[1].seconds_since(events_[0]);
  }

  /// After the stream has drained the device is idle, unless work escaped to other streams: then
  /// the first drain of the device takes long and the second does not. A host thread can lose its
  /// processor in the first, but not three times in turn.
  void look_for_escaped_work() {
    auto const begin = Clock::now();
    check(cudaDeviceSynchronize());
    auto const drained = Clock::now();
    check(cudaDeviceSynchronize());
    double const idle = seconds(drained, Clock::now());
    escapes_ = seconds(begin, drained) > 100e-6 + 10 * idle ? escapes_ + 1 : 0;
    if (escapes_ < 3) { return; }
    throw std::runtime_error(
        "work that it enqueued on other streams still ran when its stream had drained: let the "
        "given stream wait for those streams by events");
  }

  buffer_set<void(CUstream_st*)> const& of(int number) const {
    return sets_[static_cast<std::size_t>(number)];
  }

  std::shared_ptr<launch_session> session_;
  stream stream_;
  std::array<buffer_set<void(CUstream_st*)>, 2> sets_;
  std::vector<event> events_;
  bool timed_ = false;  ///< it has run a cell
  bool learns_;         ///< in the first epoch, verification also learns how the callable enqueues
  int escapes_ = 0;     ///< first drains of the device in turn that took long
};

}  // namespace assay::measure
