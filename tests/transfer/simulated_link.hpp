// SPDX-License-Identifier: Apache-2.0
/// @file
/// Links and jobs for tests of plans, and their times in the simulated engines.
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

/// What a link costs the simulated engines.
struct simulated_link {
  double in_alone = 0, out_alone = 0, in_duplex = 0, out_duplex = 0;  ///< bytes a second
  double copy_setup = 0, kernel_setup = 0, submit_seconds = 0;
};

/// Holds a link and a job on it.
struct linked_job {
  simulated_link link;
  transfer::job_size size;
};

/// Draws a link and a job of so many bytes to the host: 10 to 60 GB/s that lose up to half to
/// opposing traffic, kernels from nothing to four times the link, overheads of 1 to 10 us.
inline linked_job drawn_job(std::mt19937_64& random, double bytes) {
  auto const uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>{low, high}(random);
  };
  linked_job made;
  auto& link = made.link;
  auto& size = made.size;
  link.in_alone = uniform(10e9, 60e9);
  link.out_alone = link.in_alone * uniform(0.8, 1.25);
  link.in_duplex = link.in_alone * uniform(0.5, 1.0);
  link.out_duplex = link.out_alone * uniform(0.5, 1.0);
  link.copy_setup = uniform(1e-6, 10e-6);
  link.kernel_setup = uniform(1e-6, 10e-6);
  link.submit_seconds = uniform(0, 10e-6);
  size.elements = static_cast<std::int64_t>(bytes / 4);
  size.granularity = std::int64_t{1} << std::uniform_int_distribution<int>{0, 12}(random);
  auto const form = std::uniform_int_distribution<int>{0, 4}(random);
  size.bytes_in = form == 0 ? 0 : form == 1 ? 2 * bytes : bytes;
  size.bytes_out = form == 2 ? 0 : bytes;
  size.inputs = form == 1 ? 2 : 1;
  size.kernel_seconds =
      (size.bytes_in + size.bytes_out) / link.in_alone * std::exp2(uniform(-6, 2));
  return made;
}

/// Links of H200s, as a benchmark found them on three days.
inline std::vector<simulated_link> recorded_links() {
  return {{55.386e9, 55.533e9, 48.446e9, 50.456e9, 4.184e-6, 1.616e-6, 5.5e-6},
          {55.339e9, 55.454e9, 50.492e9, 50.369e9, 4.739e-6, 1.612e-6, 9.428e-6},
          {55.1e9, 55.3e9, 52.4e9, 49.8e9, 3.5e-6, 3e-6, 0}};
}

/// Seconds of a job in these chunks on the simulated engines.
inline double simulated(linked_job const& of, std::vector<std::int64_t> const& chunks, int slots) {
  auto const elements = static_cast<double>(of.size.elements);
  auto const& link = of.link;
  engine_simulator::machine machine;
  machine.in_alone = link.in_alone;
  machine.in_duplex = link.in_duplex;
  machine.out_alone = link.out_alone;
  machine.out_duplex = link.out_duplex;
  machine.element_seconds = of.size.kernel_seconds / elements;
  machine.in_setup = of.size.bytes_in > 0 ? link.copy_setup * of.size.inputs : 0;
  machine.kernel_setup = link.kernel_setup;
  machine.out_setup = of.size.bytes_out > 0 ? link.copy_setup * of.size.outputs : 0;
  machine.submit_seconds = link.submit_seconds;
  std::vector<engine_simulator::chunk> all;
  for (auto const each : chunks) {
    auto const share = static_cast<double>(each) / elements;
    all.push_back({share * of.size.bytes_in, static_cast<double>(each), share * of.size.bytes_out});
  }
  return engine_simulator{machine, std::move(all), static_cast<std::size_t>(slots)}.run();
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
