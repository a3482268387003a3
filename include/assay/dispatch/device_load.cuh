// SPDX-License-Identifier: Apache-2.0
/// @file
/// `load::watched` on a device: NVML says whether others are there, and a short kernel how long
/// they make it wait.
#pragma once

#include <assay/core/nvml.hpp>
#include <assay/core/stream.hpp>
#include <assay/dispatch/device.hpp>
#include <assay/dispatch/load.hpp>
#include <assay/kernel/launch.cuh>

#include <chrono>
#include <memory>
#include <utility>

namespace assay::dispatch {

/// Does nothing: its time is the way to the device and back.
template <class Nothing>
__global__ void empty_kernel(Nothing) {}

/// Times short kernels on a stream of its own.
class short_kernel_probe {
 public:
  explicit short_kernel_probe(on::device place)
      : place_(place), stream_(place), done_(sleeping_event(place)) {
    (void)seconds();  // the first launch loads the kernel
  }

  /// Of two kernels, one after the other.
  std::pair<double, double> seconds() {
    device_guard const guard{place_};
    relaxed_capture_guard const relaxed;
    double const first = one();
    double const second = one();
    return {first, second};
  }

 private:
  double one() {
    auto const begin = std::chrono::steady_clock::now();
    kernel::launch(empty_kernel<int>, 1, 32, 0, stream_, 0);
    done_.record(stream_);
    auto const passed = [begin] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    // To wake up takes longer than a kernel on a free device. So the thread sleeps only where
    // others make it wait.
    constexpr double longest_alone = 50e-6;
    while (cudaEventQuery(done_.get()) == cudaErrorNotReady && passed() < longest_alone) {}
    (void)cudaGetLastError();  // a kernel that was not ready is no error
    done_.synchronize();
    return passed();
  }
  static event sleeping_event(on::device place) {
    device_guard const guard{place};
    return event{event::kind::sleeping};
  }

  on::device place_;
  stream stream_;
  event done_;
};

/// The sources of a device.
inline load_sources device_sources(on::device place) {
  return {
      .others_on_device = [library = nvml::load(),
                           bus = pci_bus_id(place)] { return others_use(library.ask_use(bus)); },
      .two_kernels =
          [probe = std::make_shared<short_kernel_probe>(place)] { return probe->seconds(); }};
}

template <>
struct device_watch<load::watched> {
  static watched_choice bound(on::device place, load::watched const& policy, costs const& of) {
    policy.require();
    return watched_choice{of, policy.period_seconds, device_sources(place)};
  }
};

}  // namespace assay::dispatch
