// SPDX-License-Identifier: Apache-2.0
/// @file
/// `launch_subject`: work that is enqueued on a stream.
#pragma once

#include <assay/arrays/device_arrays.cuh>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/measure/host_subject.hpp>
#include <assay/measure/launch_session.cuh>
#include <assay/measure/subject.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// Launches on the stream of the epoch, which all subjects of the epoch share.
///
/// - `gpu`: two events enclose the launches. They wait in the held stream until all are enqueued,
///   so the device never waits for the host. With a cold cache each launch has a pair of events of
///   its own, after a flush.
/// - `submit`: the host's time to enqueue one launch.
/// - `wall`: from the first launch, on an idle stream, until the stream has drained.
///
/// Every cell ends with a drain of the device. It finds work on other streams that outlasts the
/// given stream by 100 us or more.
class launch_subject final : public subject {
 public:
  launch_subject(epoch const& now, std::string const& label,
                 work_factory<void(CUstream_st*)> const& make,
                 std::shared_ptr<launch_session> session)
      : session_(std::move(session)),
        shared_stream_(session_->stream_of(now.number)),
        stream_(*shared_stream_),
        learns_(now.number == 0) {
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
    nvtx_range const scope{"warm", category::measurement};
    device_guard const guard{session_->place()};
    of(buffer_set).arrays->restore();
    call(of(buffer_set).work, launches);
    // A failure before the first cell belongs to this variant, and no cell of another variant may
    // begin beside these launches.
    if (!timed_) { stream_.synchronize(); }
  }

  cell time(int buffer_set, int launches) override {
    nvtx_range const scope{"cell", category::measurement};
    device_guard const guard{session_->place()};
    timed_ = true;
    bool const held = session_->held();
    if (session_->primary() == clock::wall) { stream_.synchronize(); }
    if (held) { session_->latch().hold(stream_); }
    session_->sm_clock().begin(stream_);
    auto const first = steady_clock::now();
    enqueue_timed(of(buffer_set).work, launches);
    auto const queued = steady_clock::now();
    session_->sm_clock().end(stream_);
    if (held) { session_->latch().open(); }
    stream_.synchronize();
    auto const drained = steady_clock::now();

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
    check_for_escaped_work();
    return mean;
  }

  std::optional<std::string> verify(int buffer_set) override {
    nvtx_range const scope{"verify", category::measurement};
    device_guard const guard{session_->place()};
    auto const& set = of(buffer_set);
    set.arrays->poison();
    set.arrays->restore();
    call(set.work, 1);
    stream_.synchronize();
    check_for_escaped_work();
    auto const wrong = set.arrays->verify();
    if (!wrong && learns_) { learn_how_it_enqueues(set.work); }
    return wrong;
  }

  double bytes() const override { return sets_[0].arrays->bytes(); }
  double flops() const override { return sets_[0].arrays->flops(); }
  checks checked() const override { return checks_of(*sets_[0].arrays); }
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
  using steady_clock = std::chrono::steady_clock;

  static double seconds(steady_clock::time_point begin, steady_clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  /// Checks for errors of launches that failed to start, which a later call would report.
  void call(work const& what, int times) {
    for (int i = 0; i < times; ++i) {
      nvtx_range const scope{"launch", category::gpu};
      what(stream_.get());
    }
    check(cudaGetLastError());
  }

  /// Records a pair of events for each launch with a cold cache, and else one pair.
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

  /// Runs one launch in a held stream. If the latch gave way, the callable waited for the device,
  /// and no stream of this comparison is held from then on. Else the device time shows whether the
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

  /// Throws where work still runs on other streams. After the stream has drained, the device is
  /// idle, unless work escaped to other streams: then the first drain of the device is long and the
  /// second is short. A host thread can lose its processor during the first, but not three times in
  /// turn.
  void check_for_escaped_work() {
    auto const begin = steady_clock::now();
    check(cudaDeviceSynchronize());
    auto const drained = steady_clock::now();
    check(cudaDeviceSynchronize());
    double const idle = seconds(drained, steady_clock::now());
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
  std::shared_ptr<stream const> shared_stream_;
  stream const& stream_;
  std::array<buffer_set<void(CUstream_st*)>, 2> sets_;
  std::vector<event> events_;
  bool timed_ = false;  ///< a cell has run
  bool learns_;         ///< in the first epoch, `verify` also calls `learn_how_it_enqueues`
  int escapes_ = 0;     ///< successive long first drains of the device
};

}  // namespace assay::measure
