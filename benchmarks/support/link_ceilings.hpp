// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rates of the link between host and device, and the costs of pinning and staging on the host.
#pragma once

#include "../../examples/overlap/link_rates.hpp"
#include "transfer_trial.hpp"

#include <assay/core/nvml.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/machine/device_environment.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace assay::benchmark {

/// The measured rates of a link, in bytes per second where no other unit is given. Each is the
/// median of the repetitions.
struct link_ceilings {
  /// A copy on the host by several threads; each byte is counted once.
  struct host_copy {
    int threads = 1;
    double bytes_per_second = 0;
  };

  double to_device = 0, to_host = 0;                    ///< page-locked, one way alone
  double to_device_duplex = 0, to_host_duplex = 0;      ///< page-locked, both at once: each way
  double pageable_to_device = 0, pageable_to_host = 0;  ///< `cudaMemcpy`
  std::vector<host_copy> host_copies;                   ///< from pageable into page-locked memory
  double register_seconds_per_gib = 0, unregister_seconds_per_gib = 0;  ///< of touched memory
  double allocate_seconds_per_gib = 0, free_seconds_per_gib = 0;        ///< `cudaMallocHost`
  pcie_link link;
  std::size_t bytes = 0;              ///< of each copy
  std::vector<std::string> problems;  ///< questions that NVML did not answer

  double duplex() const noexcept { return to_device_duplex + to_host_duplex; }
};

/// Settings of the measurement of a link.
struct link_options {
  std::size_t bytes = std::size_t{256} << 20U;  ///< 5 ms a copy at 55 GB/s; at most 1 GiB
  int repetitions = 5;
  int max_threads = host::all_threads();
};

/// Seconds of the host's clock that `body()` takes.
template <class Body>
double host_seconds(Body const& body) {
  auto const begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Copies memory by several threads, each an equal part.
inline void parallel_copy(int threads, std::byte* to, std::byte const* from, std::size_t bytes) {
  auto const size = static_cast<std::int64_t>(bytes);
  host::parallel_for(threads, size, std::max<std::int64_t>(4096, size / threads),
                     [=](std::int64_t begin, std::int64_t end) {
                       std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
                     });
}

namespace detail {

template <class Seconds>
double median_of(int repetitions, Seconds const& once) {
  std::vector<double> all;
  for (int i = 0; i < repetitions; ++i) { all.push_back(once()); }
  return stats::summarise(all).median;
}

inline void measure_pinning(link_ceilings& into, std::byte* pageable, link_options const& chosen) {
  auto const per_gib = 0x1p30 / static_cast<double>(chosen.bytes);
  std::vector<double> pin, unpin, take, give;
  for (int i = 0; i < std::min(chosen.repetitions, 3); ++i) {  // up to 0.4 s a GiB each
    pin.push_back(host_seconds(
        [&] { check(cudaHostRegister(pageable, chosen.bytes, cudaHostRegisterDefault)); }));
    unpin.push_back(host_seconds([&] { check(cudaHostUnregister(pageable)); }));
    void* block = nullptr;
    take.push_back(host_seconds([&] { check(cudaMallocHost(&block, chosen.bytes)); }));
    give.push_back(host_seconds([&] { check(cudaFreeHost(block)); }));
  }
  into.register_seconds_per_gib = stats::summarise(pin).median * per_gib;
  into.unregister_seconds_per_gib = stats::summarise(unpin).median * per_gib;
  into.allocate_seconds_per_gib = stats::summarise(take).median * per_gib;
  into.free_seconds_per_gib = stats::summarise(give).median * per_gib;
}

}  // namespace detail

/// Measures a link in a few seconds; blocks. Allocates `link_options::bytes` once of each kind of
/// memory.
inline link_ceilings link_ceilings_of(on::device place, link_options const& chosen = {}) {
  require_device(place);
  device_guard const guard{place};
  nvtx_range const scope{"link ceilings", category::measurement};
  auto const bytes = static_cast<double>(chosen.bytes);
  auto const rates = examples::link_rates_of(place);
  link_ceilings found;
  found.bytes = chosen.bytes;
  found.to_device = rates.to_device;
  found.to_host = rates.to_host;
  found.to_device_duplex = rates.to_device_duplex;
  found.to_host_duplex = rates.to_host_duplex;
  found.link = nvml::load().ask_link(pci_bus_id(place), found.problems);

  device_block const device{place, chosen.bytes};
  probe_memory const locked{probe_memory::kind::page_locked, chosen.bytes};
  probe_memory const pageable{probe_memory::kind::pageable, chosen.bytes};

  auto const blocking = [&](void* to, void const* from) {
    return bytes / detail::median_of(chosen.repetitions, [&] {
             return host_seconds(
                 [&] { check(cudaMemcpy(to, from, chosen.bytes, cudaMemcpyDefault)); });
           });
  };
  found.pageable_to_device = blocking(device.get(), pageable.get());
  found.pageable_to_host = blocking(pageable.get(), device.get());

  for (int threads = 1; threads <= chosen.max_threads; threads *= 2) {
    auto const seconds = detail::median_of(chosen.repetitions, [&] {
      return host_seconds(
          [&] { parallel_copy(threads, locked.get(), pageable.get(), chosen.bytes); });
    });
    found.host_copies.push_back({threads, bytes / seconds});
  }

  detail::measure_pinning(found, pageable.get(), chosen);
  return found;
}

}  // namespace assay::benchmark
