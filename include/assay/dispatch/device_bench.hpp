// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `device_bench`: runs a task on a device for its verification and its
/// times.
#pragma once

#include <assay/dispatch/device_call.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace assay::dispatch {

/// Keeps copies of a task's arrays on a device, and runs the task on them or on the host's arrays.
template <task T, class Link, class Memory>
requires has_device_run<T>
class device_bench {
 public:
  using stream_type = typename Link::stream_type;

  device_bench(Link link, stream_type stream, Memory memory)
      : copies_(std::move(link)), stream_(stream), memory_(std::move(memory)) {}

  /// Forgets the arrays of the task before.
  void clear() { resident_.reset(); }

  /// Copies all arrays of the task to the device, those that it only writes too: the poison in them
  /// shows what a call leaves out. Waits.
  void upload(T const& call) {
    [[maybe_unused]] auto const current = copies_.link().current();
    clear();
    resident_.emplace(stream_, memory_);
    each_array(call, [&](std::size_t i, std::byte* host, std::size_t bytes, direction) {
      auto* const device = bytes > 0 ? resident_->memory.take(bytes) : nullptr;
      resident_->pointers[i] = device;
      if (bytes > 0) { copies_.link().copy(stream_, device, host, bytes); }
    });
    copies_.link().synchronize(stream_);
  }
  /// Copies the arrays that the task writes to the host. Waits.
  void download(T const& call) {
    [[maybe_unused]] auto const current = copies_.link().current();
    each_array(call, [&](std::size_t i, std::byte* host, std::size_t bytes, direction way) {
      if (bytes == 0 || way == direction::in) { return; }
      copies_.link().copy(stream_, host, resident_->pointers[i], bytes);
    });
    copies_.link().synchronize(stream_);
  }
  /// Runs calls on the arrays of the device, and waits for each.
  void run_resident(T const& call, int calls) {
    [[maybe_unused]] auto const current = copies_.link().current();
    if (!resident_) { upload(call); }
    for (int i = 0; i < calls; ++i) {
      run_on_stream(call, copies_.link().native(stream_), resident_->pointers);
      copies_.link().require_launched();
      copies_.link().synchronize(stream_);
    }
  }
  /// The facts of a call, with the memory of each of the host's arrays.
  facts facts_of_call(T const& call) const { return facts_of(call, copies_.link()); }
  /// Runs calls on the host's arrays, as an engine does, and waits for each. Arrays that are in
  /// device memory by the facts are used in the copies that `upload` made.
  void run_from_host(T const& call, facts const& known, bool staged, int calls) {
    auto const count = static_cast<std::ptrdiff_t>(known.count);
    auto const at_home = [](auto const& each) { return each.memory == memory_type::device; };
    bool const any = std::any_of(known.arrays.begin(), known.arrays.begin() + count, at_home);
    if (any && !resident_) { upload(call); }
    for (int i = 0; i < calls; ++i) {
      enqueue(call, known, copies_, stream_, memory_, staged,
              any ? std::span<void* const>{resident_->pointers} : std::span<void* const>{});
      copies_.link().synchronize(stream_);
    }
  }

 private:
  struct arrays_on_device {
    arrays_on_device(stream_type stream, Memory& from) : memory(stream, from) {}
    call_memory<stream_type, Memory> memory;
    std::array<void*, facts::max_arrays> pointers{};
  };

  template <class F>
  static void each_array(T const& call, F const& use) {
    std::size_t i = 0;
    auto const one = [&]<class E>(task_array<E> const& array) {
      auto* const data = const_cast<std::remove_const_t<E>*>(array.data.data());
      use(i++, reinterpret_cast<std::byte*>(data), array.data.size_bytes(), array.way);
    };
    std::apply([&](auto const&... each) { (one(each), ...); }, call.arrays());
  }

  array_copies<Link> copies_;
  stream_type stream_;
  Memory memory_;
  std::optional<arrays_on_device> resident_;
};

}  // namespace assay::dispatch
