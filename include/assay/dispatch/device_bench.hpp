// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `device_bench`: runs a task on a device for its verification and its
/// times.
#pragma once

#include <assay/dispatch/device_call.hpp>
#include <assay/dispatch/task_bench.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace assay::dispatch {

/// Keeps copies of the arrays of tasks on a device, and runs a task on them or on the host's
/// arrays.
template <task T, class Link, class Memory>
requires has_device_run<T>
class device_bench : public detail::any_device {
 public:
  using stream_type = typename Link::stream_type;

  device_bench(Link link, stream_type stream, Memory memory)
      : link_(std::move(link)), stream_(stream), memory_(std::move(memory)) {}

  /// Forgets the arrays of all tasks.
  void clear() override { all_.clear(); }
  /// Further calls are on the arrays of the task with this number.
  void select(std::size_t number) override { number_ = number; }

  void run_once(detail::any_task const& call) override {
    upload(typed(call));
    run_resident(call, 1);
    download(typed(call));
  }
  /// Runs calls on the arrays of the device, and waits for each.
  void run_resident(detail::any_task const& of, int calls) override {
    auto const& call = typed(of);
    [[maybe_unused]] auto const current = link_.current();
    if (!all_.contains(number_)) { upload(call); }
    auto const& pointers = all_.at(number_).pointers;
    for (int i = 0; i < calls; ++i) {
      run_on_stream(call, link_.native(stream_), pointers);
      link_.require_launched();
      link_.synchronize(stream_);
    }
  }
  /// The facts of a call, with the memory of each of the host's arrays.
  facts facts_of_call(detail::any_task const& call) const override {
    return facts_of(typed(call), link_);
  }
  /// Runs calls on the host's arrays, as an engine does, and waits for each. Arrays that are in
  /// device memory by the facts are used in copies there.
  void run_from_host(detail::any_task const& of, facts const& known, int calls) override {
    auto const& call = typed(of);
    auto const count = static_cast<std::ptrdiff_t>(known.count);
    auto const resident = [](auto const& each) { return each.memory == memory_type::device; };
    bool const any = std::any_of(known.arrays.begin(), known.arrays.begin() + count, resident);
    if (any && !all_.contains(number_)) { upload(call); }
    std::span<void* const> const pointers =
        any ? std::span<void* const>{all_.at(number_).pointers} : std::span<void* const>{};
    for (int i = 0; i < calls; ++i) {
      enqueue(call, known, link_, stream_, memory_, pointers);
      link_.synchronize(stream_);
    }
  }

 private:
  static T const& typed(detail::any_task const& call) {
    return static_cast<detail::task_of<T> const&>(call).call;
  }

  /// Copies all arrays of the task to the device, those that it only writes too: the poison in them
  /// shows what a call leaves out. Waits.
  void upload(T const& call) {
    [[maybe_unused]] auto const current = link_.current();
    all_.erase(number_);
    auto& resident = all_.try_emplace(number_, stream_, memory_).first->second;
    each_array(call, [&](std::size_t i, std::byte* host, std::size_t bytes, direction) {
      auto* const device = bytes > 0 ? resident.memory.take(bytes) : nullptr;
      resident.pointers[i] = device;
      if (bytes > 0) { link_.copy(stream_, device, host, bytes); }
    });
    link_.synchronize(stream_);
  }
  /// Copies the arrays that the task writes to the host. Waits.
  void download(T const& call) {
    [[maybe_unused]] auto const current = link_.current();
    each_array(call, [&](std::size_t i, std::byte* host, std::size_t bytes, direction way) {
      if (bytes == 0 || way == direction::in) { return; }
      link_.copy(stream_, host, all_.at(number_).pointers[i], bytes);
    });
    link_.synchronize(stream_);
  }

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

  Link link_;
  stream_type stream_;
  Memory memory_;
  std::map<std::size_t, arrays_on_device> all_;  // by the numbers of tasks
  std::size_t number_ = 0;
};

}  // namespace assay::dispatch
