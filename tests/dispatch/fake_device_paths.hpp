// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device of a calibration, made of host memory.
#pragma once

#include "dispatch/fake_device.hpp"
#include "dispatch/synthetic_machine.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/dispatch/device_bench.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace assay::test {

inline fake_device& the_device() {
  static fake_device device{7};
  return device;
}

/// As `dispatch::detail::page_locked_store`, of the fake.
class fake_store final : public arrays::host_array_store {
 public:
  fake_store(std::uint64_t seed, double share)
      : host_array_store(seed), draw_{stats::random_source{seed}}, share_(share) {}

 private:
  std::byte* allocate_block(std::size_t bytes) override {
    if (draw_.uniform(0, 1) >= share_) { return host_array_store::allocate_block(bytes); }
    return static_cast<std::byte*>(fake_block{the_device(), bytes + spread}.get());
  }
  draws draw_;
  double share_;
};

}  // namespace assay::test

namespace assay::dispatch {

/// The device of a calibration, as <assay/dispatch/device.hpp> defines it for CUDA.
template <task T>
class device_paths : public device_bench<T, test::fake_task_link, test::fake_memory> {
 public:
  explicit device_paths(on::device)
      : device_bench<T, test::fake_task_link, test::fake_memory>(
            test::fake_task_link{test::the_device()}, test::the_device().caller(),
            test::fake_memory{&test::the_device()}) {}
  void describe(measurements& to) const override { to.device = "a fake"; }
  std::shared_ptr<arrays::array_store> page_locked_arrays(std::uint64_t seed,
                                                          double share) const override {
    return std::make_shared<test::fake_store>(seed, share);
  }
};

}  // namespace assay::dispatch
