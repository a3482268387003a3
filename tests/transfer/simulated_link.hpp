// SPDX-License-Identifier: Apache-2.0
/// @file
/// Links and jobs for tests of the transfer model, and their times in the simulated engines.
#pragma once

#include "transfer/engine_simulator.hpp"

#include <assay/transfer/chunk_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace assay::test {

/// Holds a link and a job on it.
struct linked_job {
  transfer::link_costs costs;
  transfer::job_size size;
};

/// Draws a link and a job of so many bytes to the host: 10 to 60 GB/s that lose up to half to
/// opposing traffic, kernels from nothing to four times the link, overheads of 1 to 10 us.
inline linked_job drawn_job(std::mt19937_64& random, double bytes) {
  auto const uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>{low, high}(random);
  };
  linked_job made;
  auto& costs = made.costs;
  auto& size = made.size;
  costs.to_device_bytes_per_second = uniform(10e9, 60e9);
  costs.to_host_bytes_per_second = uniform(10e9, 60e9);
  costs.to_device_duplex_bytes_per_second = costs.to_device_bytes_per_second * uniform(0.5, 1.0);
  costs.to_host_duplex_bytes_per_second = costs.to_host_bytes_per_second * uniform(0.5, 1.0);
  costs.copy_overhead_seconds = uniform(1e-6, 10e-6);
  costs.kernel_overhead_seconds = uniform(1e-6, 10e-6);
  costs.submit_seconds = uniform(0, 10e-6);
  size.elements = static_cast<std::int64_t>(bytes / 4);
  size.granularity = std::int64_t{1} << std::uniform_int_distribution<int>{0, 12}(random);
  auto const form = std::uniform_int_distribution<int>{0, 4}(random);
  size.bytes_in = form == 0 ? 0 : form == 1 ? 2 * bytes : bytes;
  size.bytes_out = form == 2 ? 0 : bytes;
  size.inputs = form == 1 ? 2 : 1;
  size.kernel_seconds = (size.bytes_in + size.bytes_out) / costs.to_device_bytes_per_second *
                        std::exp2(uniform(-6, 2));
  return made;
}

/// Links of H200s, as `measure_link` found them on three days.
inline std::vector<transfer::link_costs> recorded_links() {
  return {{.to_device_bytes_per_second = 55.386e9,
           .to_host_bytes_per_second = 55.533e9,
           .to_device_duplex_bytes_per_second = 48.446e9,
           .to_host_duplex_bytes_per_second = 50.456e9,
           .copy_overhead_seconds = 4.184e-6,
           .kernel_overhead_seconds = 1.616e-6,
           .submit_seconds = 5.5e-6},
          {.to_device_bytes_per_second = 55.339e9,
           .to_host_bytes_per_second = 55.454e9,
           .to_device_duplex_bytes_per_second = 50.492e9,
           .to_host_duplex_bytes_per_second = 50.369e9,
           .copy_overhead_seconds = 4.739e-6,
           .kernel_overhead_seconds = 1.612e-6,
           .submit_seconds = 9.428e-6},
          {.to_device_bytes_per_second = 55.1e9,
           .to_host_bytes_per_second = 55.3e9,
           .to_device_duplex_bytes_per_second = 52.4e9,
           .to_host_duplex_bytes_per_second = 49.8e9,
           .copy_overhead_seconds = 3.5e-6,
           .kernel_overhead_seconds = 3e-6}};
}

/// Seconds of a job in these chunks on the simulated engines.
inline double simulated(linked_job const& of, std::vector<std::int64_t> const& chunks, int slots) {
  auto const [in_setup, kernel_setup, out_setup] = transfer::overheads_of(of.costs, of.size);
  auto const elements = static_cast<double>(of.size.elements);
  engine_simulator::machine machine;
  machine.in_alone = of.costs.to_device_bytes_per_second;
  machine.in_duplex = of.costs.to_device_duplex_bytes_per_second;
  machine.out_alone = of.costs.to_host_bytes_per_second;
  machine.out_duplex = of.costs.to_host_duplex_bytes_per_second;
  machine.element_seconds = of.size.kernel_seconds / elements;
  machine.in_setup = in_setup;
  machine.kernel_setup = kernel_setup;
  machine.out_setup = out_setup;
  machine.submit_seconds = of.costs.submit_seconds;
  std::vector<engine_simulator::chunk> all;
  for (auto const each : chunks) {
    auto const share = static_cast<double>(each) / elements;
    all.push_back({share * of.size.bytes_in, static_cast<double>(each), share * of.size.bytes_out});
  }
  return of.costs.start_seconds +
         engine_simulator{machine, std::move(all), static_cast<std::size_t>(slots)}.run();
}

/// The same in so many equal chunks.
inline double simulated_equal(linked_job const& of, int chunks, int slots) {
  return simulated(of, transfer::equal_chunks(of.size.elements, of.size.granularity, chunks),
                   slots);
}

/// The fastest of all equal chunks up to 256 and of one to four slots.
inline double exhaustive_grid(linked_job const& of) {
  double best = std::numeric_limits<double>::infinity();
  for (int chunks = 1; chunks <= 256; chunks += chunks < 64 ? 1 : 8) {
    for (int slots = 1; slots <= 4; ++slots) {
      best = std::min(best, simulated_equal(of, chunks, slots));
    }
  }
  return best;
}

}  // namespace assay::test
