// SPDX-License-Identifier: Apache-2.0
/// @file
/// Measuring what the link of this machine costs: the terms of the overlap model.
#pragma once

#include <assay/core/range.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/overlap_terms.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::transfer {

namespace detail {

/// Device memory outside of any resource: the terms are the machine's, whatever a pipeline uses.
class device_block {
 public:
  explicit device_block(std::size_t bytes) { check(cudaMalloc(&data_, bytes)); }
  device_block(device_block const&) = delete;
  device_block& operator=(device_block const&) = delete;
  ~device_block() { check_noexcept(cudaFree(data_)); }
  void* get() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

/// Measures the link of the current device by events round copies of page-locked memory.
class link_gauge {
 public:
  explicit link_gauge(on::device place)
      : link_(place),
        host_in_(bytes),
        host_out_(bytes),
        device_in_(bytes),
        device_out_(bytes),
        caller_(place),
        in_(place),
        run_(place),
        out_(place) {
    for (auto* each : {&begin_, &end_}) { *each = link_.make_event(cuda_link::timed); }
    copy_in(bytes);  // both engines awake
    copy_out(bytes);
    synchronize();
  }

  overlap_terms measure() {
    overlap_terms found;
    found.to_device_bytes_per_second = bytes / alone(in_, [&] { copy_in(bytes); });
    found.to_host_bytes_per_second = bytes / alone(out_, [&] { copy_out(bytes); });
    auto const [in, out] = duplex();
    found.to_device_duplex_bytes_per_second = bytes / in;
    found.to_host_duplex_bytes_per_second = bytes / out;
    chunk_costs(found);
    found.kernel_overhead_seconds = launch_cost();
    found.start_seconds =
        std::max(0.0, least_job() - found.submit_seconds - 2 * found.copy_overhead_seconds -
                          found.kernel_overhead_seconds);
    return found;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{32} << 20U;  ///< 0.6 ms at 55 GB/s
  static constexpr int repeats = 3;  ///< of which the fastest counts: all that disturbs only slows

  void copy_in(std::size_t count) { link_.copy(in_, device_in_.get(), host_in_.get(), count); }
  void copy_out(std::size_t count) { link_.copy(out_, host_out_.get(), device_out_.get(), count); }
  /// The least work for the compute engine.
  void launch() { check(cudaMemsetAsync(device_out_.get(), 0, sizeof(int), run_.get())); }
  void synchronize() {
    for (auto const* each : {&in_, &run_, &out_, &caller_}) { each->synchronize(); }
  }

  template <class Copy>
  double alone(stream const& where, Copy const& copy) {
    double fastest = 1e9;
    for (int i = 0; i < repeats; ++i) {
      begin_.record(where);
      copy();
      end_.record(where);
      synchronize();
      fastest = std::min(fastest, end_.seconds_since(begin_));
    }
    return fastest;
  }

  /// Seconds of a copy each way while the other direction is busy: the second of four, which the
  /// other's four cover even if one direction is half as fast.
  std::pair<double, double> duplex() {
    std::array<event, 4> marks{
        link_.make_event(cuda_link::timed), link_.make_event(cuda_link::timed),
        link_.make_event(cuda_link::timed), link_.make_event(cuda_link::timed)};
    double in = 0;
    double out = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (int i = 0; i < 4; ++i) {
        copy_in(bytes);
        copy_out(bytes);
        if (i > 1) { continue; }
        marks[static_cast<std::size_t>(i)].record(in_);
        marks[static_cast<std::size_t>(i) + 2].record(out_);
      }
      synchronize();
      in += marks[1].seconds_since(marks[0]) / repeats;
      out += marks[3].seconds_since(marks[2]) / repeats;
    }
    return {in, out};
  }

  /// What a copy engine loses between the copies of a pipeline, and what its enqueueing costs the
  /// host. A long copy goes first, so that all is enqueued before the engine comes to it; copies
  /// out are tiny, so that those in run at their rate alone.
  void chunk_costs(overlap_terms& into) {
    constexpr int chunks = 40;
    constexpr std::size_t slots = 4;
    constexpr std::size_t chunk = bytes / 64;
    struct marks {
      event in, run, out;
    };
    std::vector<marks> of;
    for (std::size_t i = 0; i < slots; ++i) {
      of.push_back({link_.make_event(), link_.make_event(), link_.make_event()});
    }
    double seconds = 1e9;
    into.submit_seconds = 1e9;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      copy_in(bytes);
      begin_.record(in_);
      auto const asked = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < chunks; ++i) {
        auto& mine = of[i % slots];
        if (i >= slots) { link_.wait(in_, mine.run); }
        copy_in(chunk);
        mine.in.record(in_);
        link_.wait(run_, mine.in);
        if (i >= slots) { link_.wait(run_, mine.out); }
        launch();
        mine.run.record(run_);
        link_.wait(out_, mine.run);
        copy_out(64);
        mine.out.record(out_);
      }
      std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - asked;
      end_.record(in_);
      synchronize();
      seconds = std::min(seconds, end_.seconds_since(begin_));
      into.submit_seconds = std::min(into.submit_seconds, spent.count() / chunks);
    }
    into.copy_overhead_seconds =
        std::max(0.0, seconds / chunks - chunk / into.to_device_bytes_per_second);
  }

  /// Seconds from one launch in a queue to the next.
  double launch_cost() {
    constexpr int launches = 64;
    auto const gate = link_.make_event();
    auto mark = link_.make_event();
    double fastest = 1e9;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      copy_in(bytes);
      check(cudaEventRecord(gate.get(), in_.get()));
      link_.wait(run_, gate);
      begin_.record(run_);
      for (int i = 0; i < launches; ++i) {
        launch();
        mark.record(run_);
      }
      end_.record(run_);
      synchronize();
      fastest = std::min(fastest, end_.seconds_since(begin_) / launches);
    }
    return fastest;
  }

  /// Seconds of a job of next to nothing, from its caller's stream and back to it.
  double least_job() {
    std::array<event, 4> steps{link_.make_event(), link_.make_event(), link_.make_event(),
                               link_.make_event()};
    double fastest = 1e9;
    for (int repeat = 0; repeat < 2 * repeats; ++repeat) {
      begin_.record(caller_);
      steps[0].record(caller_);
      link_.wait(in_, steps[0]);
      copy_in(64);
      steps[1].record(in_);
      link_.wait(run_, steps[1]);
      launch();
      steps[2].record(run_);
      link_.wait(out_, steps[2]);
      copy_out(64);
      steps[3].record(out_);
      link_.wait(caller_, steps[3]);
      end_.record(caller_);
      synchronize();
      fastest = std::min(fastest, end_.seconds_since(begin_));
    }
    return fastest;
  }

  cuda_link link_;
  page_locked_block host_in_, host_out_;
  device_block device_in_, device_out_;
  stream caller_, in_, run_, out_;
  event begin_, end_;
};

}  // namespace detail

/// Measures the terms of a device's link anew, but for the kernel's, which are a job's own. Takes
/// some 50 ms, most of it to page-lock 64 MiB; the device should be idle.
inline overlap_terms measure_link(on::device place) {
  range const scope{"measure link", category::measurement};
  device_guard const current{place};
  return detail::link_gauge{place}.measure();
}

/// The same, measured once per process and device by the first who asks; others wait for him.
inline overlap_terms const& link_terms_of(on::device place) {
  static std::mutex measuring;
  static std::map<int, overlap_terms> known;
  std::lock_guard const lock{measuring};
  auto found = known.find(place.id);
  if (found == known.end()) { found = known.emplace(place.id, measure_link(place)).first; }
  return found->second;
}

}  // namespace assay::transfer
