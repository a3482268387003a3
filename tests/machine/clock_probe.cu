// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/machine/clock_probe.cuh>

#include <cmath>

namespace assay::kernel {

/// Keeps its SM busy for so many cycles.
template <class Cycles>
__global__ void spin(Cycles cycles) {
  auto const begin = clock64();
  while (clock64() - begin < cycles) {}
}

}  // namespace assay::kernel

using namespace assay;

namespace {

double probed_hertz(machine::sm_clock_probe& probe, stream const& on, long long cycles) {
  auto const sms = static_cast<unsigned>(attribute(on::device{0}, cudaDevAttrMultiProcessorCount));
  probe.begin(on);
  if (cycles > 0) { kernel::launch(kernel::spin<long long>, sms, 32, 0, on, cycles); }
  probe.end(on);
  return probe.hertz();
}

}  // namespace

TEST_CASE("the SM clock is what events say of a spin of known cycles", "[kernel]") {
  on::device const place{0};
  stream const on{place};
  machine::sm_clock_probe probe{place};
  constexpr long long cycles = 20'000'000;  // some 10 ms
  probed_hertz(probe, on, cycles);          // out of idle clocks

  event begin{event::kind::timed};
  event end{event::kind::timed};
  auto const sms = static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount));
  probe.begin(on);
  begin.record(on);
  kernel::launch(kernel::spin<long long>, sms, 32, 0, on, cycles);
  end.record(on);
  probe.end(on);
  double const hertz = probe.hertz();
  double const expected = static_cast<double>(cycles) / end.seconds_since(begin);
  INFO("probe " << hertz * 1e-6 << " MHz, events " << expected * 1e-6 << " MHz");
  CHECK((test::small() || std::abs(hertz / expected - 1) < 0.01));
}

TEST_CASE("a span too short for the timer has no clock, and the next one has", "[kernel]") {
  on::device const place{0};
  stream const on{place};
  machine::sm_clock_probe probe{place};
  CHECK(std::isnan(probe.hertz()));
  bool unknown = test::small();
  for (int i = 0; i < 20 && !unknown; ++i) {  // a host that is interrupted makes the span long
    unknown = std::isnan(probed_hertz(probe, on, 0));
  }
  CHECK(unknown);
  double const first = probed_hertz(probe, on, 5'000'000);
  double const second = probed_hertz(probe, on, 5'000'000);
  CHECK(first > 1e8);
  CHECK(first < 1e10);
  CHECK((test::small() ||
         std::abs(first / second - 1) < 0.5));  // not of the first begin and the second end
}
