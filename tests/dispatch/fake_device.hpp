// SPDX-License-Identifier: Apache-2.0
/// @file
/// A task on a device made of host memory.
#pragma once

#include "dispatch/saxpy.hpp"
#include "transfer/fake_link.hpp"

#include <assay/dispatch/device_call.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>

namespace assay::test {

/// As `dispatch::task_link`, of the fake.
class fake_task_link : public fake_link {
 public:
  explicit fake_task_link(fake_device& device) : fake_link(device), device_(&device) {}

  memory_place where(void const* address) const {
    auto const type = device_->kind_of(address);
    return {type, type == memory_type::device ? 0 : -1};
  }
  /// The stream for the call of `run` that follows on this thread.
  dispatch::native_stream native(fake_stream of) const {
    static thread_local fake_stream current;
    current = of;
    return reinterpret_cast<dispatch::native_stream>(&current);
  }
  std::size_t number(fake_stream of) const { return of.id + 1; }
  bool idle(fake_stream of) const { return device_->idle(of); }
  void require_launched() const {}
  void drain(fake_stream of) const noexcept {
    ++drained;
    fake_link::drain(of);
  }
  using fake_link::drain;

  static inline std::atomic<int> drained = 0;  ///< calls of `drain` for a stream

 private:
  fake_device* device_;
};

/// saxpy with a run that enqueues. The first elements are left out, and a size can fail.
struct device_saxpy : saxpy {
  std::size_t left_out = 0;
  std::size_t fails_at = 0;
  using saxpy::run;
  void run(dispatch::native_stream stream, float const* from, float* to) const {
    if (x.size() == fails_at) { throw std::runtime_error("the launch fails as asked for"); }
    auto const on = *reinterpret_cast<fake_stream const*>(stream);
    on.device->launch(on, [a = a, n = x.size(), skip = left_out, from, to] {
      for (auto i = skip; i < n; ++i) { to[i] += a * from[i]; }
    });
  }
};

/// Measurements with paths on the fake device, which is the fastest from 1000 elements on.
inline dispatch::measurements device_measurements() {
  auto made = saxpy_measurements();
  made.paths.resize(1);
  made.paths.push_back(path_of(on::device{0}, [](double n) { return 0.9e-6 + 1e-10 * n; }));
  for (auto const memory : {memory_type::pageable, memory_type::page_locked}) {
    made.links.push_back({memory, 1e-8, 1e-12, 1e-12});
  }
  return made;
}

}  // namespace assay::test
