// SPDX-License-Identifier: Apache-2.0
/// @file
/// `sm_clock_probe`: how fast the SMs ran between two points of a stream.
#pragma once

#include <assay/core/owned_memory.hpp>
#include <assay/core/ptx.cuh>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

namespace assay::kernel {

/// One SM's cycle counter and the device's nanosecond timer, read together.
struct alignas(16) clock_sample {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};

/// Each block writes a sample to the slot of its SM.
template <class Sample>
__global__ void sample_clocks(Sample* samples, unsigned slots) {
  auto const sm = ::cuda::ptx::get_sreg_smid();
  if (threadIdx.x != 0 || sm >= slots) { return; }
  auto const cycles = static_cast<std::uint64_t>(clock64());
  samples[sm] = Sample{cycles, ::cuda::ptx::get_sreg_globaltimer()};
}

/// Writes the least step of the nanosecond timer among `steps`, or 0 if the timer stands still.
template <class Word>
__global__ void measure_timer_step(Word* least, int steps) {
  // A step is microseconds at most, a look some 20 ns: the limit only guards against a dead timer.
  constexpr int most_looks = 1 << 20;
  Word before = ::cuda::ptx::get_sreg_globaltimer();
  Word smallest = 0;
  for (int step = 0; step < steps; ++step) {
    Word now = before;
    for (int look = 0; look < most_looks && now == before; ++look) {
      now = ::cuda::ptx::get_sreg_globaltimer();
    }
    if (now == before) { break; }
    smallest = smallest == 0 ? now - before : min(smallest, now - before);
    before = now;
  }
  *least = smallest;
}

/// Samples the clock of every SM before and after a piece of work, with two small kernels and no
/// synchronisation. The mean SM clock tells a slower program from a slower card. The samples are in
/// pinned memory, which `hertz` reads.
class sm_clock_probe {
 public:
  explicit sm_clock_probe(on::device place)
      : place_(place),
        slots_(static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount))),
        step_nanoseconds_(timer_step(place)),
        block_(2 * std::size_t{slots_} * sizeof(clock_sample)),
        samples_(static_cast<clock_sample*>(block_.get())) {
    device_guard const guard{place_};
    done_ = std::make_unique<event>();
  }

  /// Enqueues the first sample; waits for the last `end` first, if its samples are still to come.
  void begin(::cuda::stream_ref on) {
    nvtx_range const scope{"sample clocks", category::measurement};
    device_guard const guard{place_};
    done_->synchronize();
    std::fill_n(samples_, 2 * std::size_t{slots_}, clock_sample{});
    launch(sample_clocks<clock_sample>, slots_, 32, 0, on, samples_, slots_);
  }

  /// Enqueues the second sample.
  void end(::cuda::stream_ref on) {
    nvtx_range const scope{"sample clocks", category::measurement};
    device_guard const guard{place_};
    launch(sample_clocks<clock_sample>, slots_, 32, 0, on, samples_ + slots_, slots_);
    done_->record(on);
  }

  /// Cycles per second between the samples, the mean over the SMs that have both; waits for the
  /// second. NaN if the span is shorter than 100 steps of the timer, since the error could exceed 1
  /// %.
  double hertz() const {
    done_->synchronize();
    double sum = 0;
    int sampled = 0;
    for (unsigned sm = 0; sm < slots_; ++sm) {
      auto const& first = samples_[sm];
      auto const& second = samples_[slots_ + sm];
      if (first.nanoseconds == 0 || second.nanoseconds <= first.nanoseconds) { continue; }
      auto const span = second.nanoseconds - first.nanoseconds;
      if (step_nanoseconds_ == 0 || span < 100 * step_nanoseconds_) { continue; }
      sum += static_cast<double>(second.cycles - first.cycles) / static_cast<double>(span) * 1e9;
      ++sampled;
    }
    return sampled == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / sampled;
  }

  /// The least step of the device's nanosecond timer.
  std::uint64_t step_nanoseconds() const noexcept { return step_nanoseconds_; }

 private:
  /// Measured once for each device and process.
  static std::uint64_t timer_step(on::device place) {
    static std::mutex lock;
    static std::map<int, std::uint64_t> known;
    nvtx_range const scope{"step of the device timer", category::measurement};
    std::scoped_lock const held{lock};
    if (auto const at = known.find(place.id); at != known.end()) { return at->second; }
    device_guard const guard{place};
    stream const on{place};
    page_locked_block const block{sizeof(std::uint64_t)};
    auto* const least = static_cast<std::uint64_t*>(block.get());
    launch(measure_timer_step<std::uint64_t>, 1, 1, 0, on, least, 64);
    on.synchronize();
    return known[place.id] = *least;
  }

  on::device place_;
  unsigned slots_;
  std::uint64_t step_nanoseconds_;
  page_locked_block block_;
  clock_sample* samples_;  ///< a sample for each SM, then those after
  std::unique_ptr<event> done_;
};

}  // namespace assay::kernel
