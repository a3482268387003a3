// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to clock_probe.cuh: the kernel that samples, and how samples become a clock.
#pragma once

#include <assay/core/ptx.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/machine/clock_probe.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace assay::machine {

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

ASSAY_INLINE sm_clock_probe::sm_clock_probe(on::device place)
    : place_(place),
      slots_(static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount))),
      block_(2 * std::size_t{slots_} * sizeof(clock_sample)),
      samples_(static_cast<clock_sample*>(block_.get())) {
  device_guard const guard{place_};
  done_ = std::make_unique<event>();
}

ASSAY_INLINE void sm_clock_probe::begin(::cuda::stream_ref on) {
  nvtx_range const scope{"sample clocks", category::measurement};
  device_guard const guard{place_};
  done_->synchronize();
  std::fill_n(samples_, 2 * std::size_t{slots_}, clock_sample{});
  kernel::launch(sample_clocks<clock_sample>, slots_, 32, 0, on, samples_, slots_);
}

ASSAY_INLINE void sm_clock_probe::end(::cuda::stream_ref on) {
  nvtx_range const scope{"sample clocks", category::measurement};
  device_guard const guard{place_};
  kernel::launch(sample_clocks<clock_sample>, slots_, 32, 0, on, samples_ + slots_, slots_);
  done_->record(on);
}

ASSAY_INLINE double sm_clock_probe::hertz() const {
  done_->synchronize();
  double sum = 0;
  int sampled = 0;
  for (unsigned sm = 0; sm < slots_; ++sm) {
    auto const& first = samples_[sm];
    auto const& second = samples_[slots_ + sm];
    if (first.nanoseconds == 0 || second.nanoseconds <= first.nanoseconds) { continue; }
    auto const span = second.nanoseconds - first.nanoseconds;
    if (span < 100'000) { continue; }
    sum += static_cast<double>(second.cycles - first.cycles) / static_cast<double>(span) * 1e9;
    ++sampled;
  }
  return sampled == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / sampled;
}

}  // namespace assay::machine
