// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "support/host_elements.hpp"
#include "support/transfer_trial.hpp"
#include "workloads/iterated_map.cuh"

#include <assay/memory/async.hpp>
#include <assay/transfer/pinned.hpp>

#include <algorithm>

using namespace assay;

namespace {

constexpr on::device place{0};

/// A page-locked job. Its kernel takes about as long as its copies, or almost no time.
struct setting {
  std::int64_t elements = test::small() ? 1 << 13 : 1 << 24;
  page_locked_block in_block{static_cast<std::size_t>(elements) * sizeof(float)};
  page_locked_block out_block{static_cast<std::size_t>(elements) * sizeof(float)};
  float* in = static_cast<float*>(in_block.get());
  float* out = static_cast<float*>(out_block.get());
  workloads::iterated_map<float> work;

  setting() {
    workloads::iterated_map<float> source;
    source.elements = elements;
    source.seed = test::fresh_seed();
    benchmark::fill_input(source, 0, in);
    work.flops_per_element = 2;
    work.data = workloads::arrays_view<float, 1>{{in}, elements, out};
  }
  auto job() const { return workloads::job_of(work, place, {in}, out); }
  std::size_t bytes() const { return 2 * static_cast<std::size_t>(elements) * sizeof(float); }
  std::string wrong() const {
    return benchmark::check_elements(work, out, 0, elements).value_or("right");
  }
};

}  // namespace

TEST_CASE("a trial times a job beside its bound", "[machine]") {
  setting with;
  benchmark::transfer_trial trial{place, with.bytes()};
  auto engine = transfer::pinned{}.open(place, mr::async{}.open(place));
  (void)trial.run(engine, with.job());
  benchmark::poison_elements(with.out, with.elements);
  auto const seen = trial.run(engine, with.job());
  CHECK(with.wrong() == "right");
  std::vector<benchmark::transfer_bound> bounds;
  for (int i = 0; i < (test::small() ? 1 : 3); ++i) { bounds.push_back(trial.bound(with.job())); }
  auto const bound = benchmark::median_of(bounds);
  CHECK(seen.gpu > 0);
  CHECK(seen.wall > 0);
  CHECK(bound.kernel_seconds > 0);
  if (!test::small()) {
    CHECK(seen.wall >= 0.9 * seen.gpu);
    CHECK(bound.seconds() < seen.gpu);
    CHECK(seen.gpu == Approx(bound.serial_seconds()).epsilon(0.2));
    CHECK(bound.link_seconds >= 0.9 * std::max(bound.to_device_seconds, bound.to_host_seconds));
    CHECK(bound.link_seconds < bound.to_device_seconds + bound.to_host_seconds);
  }
  setting const other;
  benchmark::transfer_trial small{place, 1024};
  CHECK_THROWS_AS(small.bound(other.job()), std::invalid_argument);
}

TEST_CASE("a trial times plain copies one way and both ways", "[machine]") {
  constexpr std::size_t large = std::size_t{64} << 20U;
  device_block const device{place, 2 * large};
  benchmark::probe_memory const host{transfer::host_memory::page_locked, 2 * large};
  benchmark::transfer_trial trial{place, 1024};
  auto* const on_device = static_cast<std::byte*>(device.get());
  benchmark::link_copy const in{on_device, host.get(), large};
  benchmark::link_copy const out{host.get() + large, on_device + large, large};
  (void)trial.copy_seconds({in}, {});
  auto const one = trial.copy_seconds({in}, {});
  auto const part = trial.copy_seconds({{on_device, host.get(), large / 8}}, {});
  auto const both = trial.copy_seconds({in}, {out});
  CHECK(one > 0);
  if (!test::small()) {
    CHECK(part < one / 4);
    CHECK(both < 2.2 * one);
    CHECK(both >= 0.9 * one);
  }
  // The copies are real: what went in comes out.
  check(cudaMemset(on_device + large, 0x11, large));
  check(cudaDeviceSynchronize());
  (void)trial.copy_seconds({in}, {out});
  CHECK(host.get()[2 * large - 1] == std::byte{0x11});
  CHECK(host.get()[large] == std::byte{0x11});
}

TEST_CASE("the median of bounds is taken part by part", "[machine]") {
  auto const middle = benchmark::median_of({{1, 20, 3, 4}, {2, 10, 1, 9}, {3, 30, 2, 5}});
  CHECK(middle.to_device_seconds == 2);
  CHECK(middle.kernel_seconds == 20);
  CHECK(middle.to_host_seconds == 2);
  CHECK(middle.link_seconds == 5);
  CHECK(middle.seconds() == 20);
  CHECK(middle.serial_seconds() == 24);
  CHECK_THROWS_AS(benchmark::median_of({}), std::invalid_argument);
}
