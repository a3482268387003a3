// SPDX-License-Identifier: Apache-2.0
/// @file
/// `task_bench`: verifies and times a task on its paths, over arrays of its own.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/path.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// A task with device paths, where nothing defines what a calibration needs of a device.
template <class T>
concept lacks_device_header = has_device_run<T> && !requires { sizeof(device_paths<T>); };

/// The device of a task that runs on the host alone.
struct no_device {};

/// Runs a task on its paths, over arrays that `make` makes anew for each size that is opened. Keeps
/// them until `close`, so that a size can be timed at several moments.
template <task T>
class task_bench {
 public:
  static constexpr bool on_devices = has_device_run<T>;
  static_assert(!lacks_device_header<T>,
                "a task with run(cudaStream_t, ...) needs <assay/dispatch/device.hpp>");

  task_bench(std::vector<path> const& paths, std::function<T(setup&, std::size_t)> make,
             std::uint64_t seed)
      : make_(std::move(make)), seed_(seed), paths_(paths) {
    if (!make_) { throw std::invalid_argument("make is empty: give a function that makes tasks"); }
    for (auto const& each : paths_) {
      if (each.host() == nullptr) {
        if (!on_devices) { throw std::invalid_argument(no_device_run<T>(each)); }
        continue;
      }
      place_traits<on::host>::require(*each.host());
      if (each.host()->threads > host::all_threads()) {
        throw std::invalid_argument(each.describe() + " has more threads than the " +
                                    std::to_string(host::all_threads()) +
                                    " cores that this process may use: name at most those");
      }
    }
    place_ = one_device(paths_);
    if constexpr (on_devices) {
      if (place_) { device_.emplace(*place_); }
    }
  }

  /// The memory of the arrays of further calls. With `device`, each path has the arrays in memory
  /// of its own.
  void lie_in(memory_type memory) {
    if (memory == memory_type::managed) {
      throw std::invalid_argument("memory = managed: nothing is known about such copies");
    }
    if (memory == memory_type::page_locked && !place_) {
      throw std::invalid_argument("memory = page-locked: there is no device path that needs it");
    }
    memory_ = memory;
    mixed_ = false;
  }
  /// Draws the memory of each array of further calls: page-locked, pageable, or memory of each path
  /// itself, as likely one as the other.
  void mix() {
    if (!place_) {
      throw std::invalid_argument("mixed memory: there is no device path that needs it");
    }
    mixed_ = true;
  }
  /// The types of host memory from which device paths copy; none without a device.
  std::vector<memory_type> host_memories() const {
    if (!place_) { return {}; }
    return {memory_type::pageable, memory_type::page_locked};
  }
  /// Further calls of the open size have these arrays in the memory of each path itself.
  void make_resident(resident_arrays which) {
    auto& known = at_->known;
    known = facts_of(*at_->task);
    for (std::size_t i = 0; i < known.count; ++i) {
      auto& each = known.arrays[i];
      each.memory = at_->memory;
      if (which == resident_arrays::all ||
          (which == resident_arrays::written && each.is_written())) {
        take_home(each);
      }
    }
  }
  /// Tasks of further calls may have other sizes than those that are asked for.
  void take_any_size() noexcept { any_size_ = true; }
  /// Adds the name and the driver of the device, if there is one.
  void describe(measurements& to) const {
    if constexpr (on_devices) {
      if (device_) { device_->describe(to); }
    }
  }

  /// Makes the arrays, which touches their memory, and the reference results. Returns the number
  /// for `open_again`.
  std::size_t open(std::size_t size) {
    auto& made = all_.emplace_back(opening{.memory = memory_, .mixed = mixed_});
    try {
      select(all_.size() - 1);
      made.arrays.emplace(store(), seed_);
      make_task(size);
    } catch (...) {
      all_.pop_back();
      throw;
    }
    return all_.size() - 1;
  }
  /// Further calls are on the arrays of an earlier size.
  void open_again(std::size_t number) { select(number); }
  /// Frees the arrays of all sizes.
  void close() {
    all_.clear();
    if constexpr (on_devices) {
      if (device_) { device_->clear(); }
    }
  }
  std::optional<std::string> wrong(std::size_t number) {
    auto const& task = *at_->task;
    at_->arrays->restore();
    at_->arrays->poison();
    if (auto const* const host = paths_[number].host()) {
      run_on_host(task, *host);
    } else if constexpr (on_devices) {
      device_->upload(task);
      device_->run_resident(task, 1);
      device_->download(task);
    }
    return at_->arrays->has_expectations() ? at_->arrays->verify() : difference(task.arrays());
  }
  double seconds(std::size_t number, int calls) {
    double const begin = now();
    if (auto const* const host = paths_[number].host()) {
      for (int i = 0; i < calls; ++i) { run_on_host(*at_->task, *host); }
    } else if constexpr (on_devices) {
      if (at_->memory == memory_type::device && !at_->mixed) {
        device_->run_resident(*at_->task, calls);
      } else {
        device_->run_from_host(*at_->task, at_->known, calls);
      }
    }
    return now() - begin;
  }
  double group_seconds() const noexcept { return 5e-6; }  // 100 times what the clock costs
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  /// The facts of the calls of the open size. An array "in the memory of the device" is in host
  /// memory too: each path has it in memory of its own.
  facts const& known() const noexcept { return at_->known; }

 private:
  /// A size with its arrays.
  struct opening {
    memory_type memory;
    bool mixed;
    facts known{};
    std::optional<setup> arrays{};
    std::optional<T> task{};
    std::vector<std::vector<std::byte>> reference{};
  };

  void select(std::size_t number) {
    at_ = &all_[number];
    if constexpr (on_devices) {
      if (device_) { device_->select(number); }
    }
  }
  void make_task(std::size_t size) {
    auto const& task = at_->task.emplace(make_(*at_->arrays, size));
    require_work(T::name, task.work());
    if (task.work().size != size && !any_size_) {
      throw std::invalid_argument("make(arrays, " + std::to_string(size) + ") made a " +
                                  std::string{T::name} + " of size " +
                                  std::to_string(task.work().size) + ": return the size asked for");
    }
    locate();
    if (at_->arrays->has_expectations()) { return; }
    run_on_host(task, on::host{1});
    at_->reference = copies_of(task.arrays());
  }
  std::shared_ptr<arrays::array_store> store() {
    if constexpr (on_devices) {
      if (mixed_) { return device_paths<T>::page_locked_arrays(random_.next(), 0.5); }
      if (memory_ == memory_type::page_locked) {
        return device_paths<T>::page_locked_arrays(seed_, 1);
      }
    }
    return std::make_shared<arrays::host_array_store>(seed_);
  }

  /// Finds out where the arrays of the open size lie.
  void locate() {
    if (!mixed_) {
      return make_resident(memory_ == memory_type::device ? resident_arrays::all
                                                          : resident_arrays::none);
    }
    auto& known = at_->known;
    if constexpr (on_devices) { known = device_->facts_of_call(*at_->task); }
    for (std::size_t i = 0; i < known.count; ++i) {
      if (random_.next() % 3 == 0) { take_home(known.arrays[i]); }
    }
  }
  void take_home(array_fact& each) const {
    each.memory = memory_type::device;
    each.newest = place_ ? place_->id : 0;
  }

  /// The bytes of an array that calls write; of others nothing is compared.
  template <class E>
  static std::vector<std::byte> bytes_of(task_array<E> const& of) {
    if (of.way == direction::in) { return {}; }
    auto const bytes = std::as_bytes(of.data);
    return {bytes.begin(), bytes.end()};
  }
  template <class... E>
  static std::vector<std::vector<std::byte>> copies_of(std::tuple<task_array<E>...> const& of) {
    std::vector<std::vector<std::byte>> all;
    std::apply([&](auto const&... each) { (all.push_back(bytes_of(each)), ...); }, of);
    return all;
  }
  /// The first element that differs from host{1} by more than the default tolerance.
  template <class... E>
  std::optional<std::string> difference(std::tuple<task_array<E>...> const& of) const {
    std::optional<std::string> found;
    std::size_t number = 0;
    auto const compare = [&]<class U>(task_array<U> const& got) {
      auto const& bytes = at_->reference[number++];
      for (std::size_t i = 0; i < bytes.size() / sizeof(U) && !found; ++i) {
        std::remove_const_t<U> wanted;
        std::memcpy(&wanted, bytes.data() + i * sizeof wanted, sizeof wanted);
        if (agrees(got.data[i], wanted)) { continue; }
        found = "element " + std::to_string(i) + " of array " + std::to_string(number - 1) +
                " differs from that of host{1}";
      }
    };
    std::apply([&](auto const&... each) { (compare(each), ...); }, of);
    return found;
  }
  template <class U>
  static bool agrees(U got, U wanted) {
    if constexpr (number<U>) {
      constexpr auto allowed = default_tolerance<U>;
      return arrays::detail::agrees(
          got, wanted, allowed.absolute + allowed.relative * std::abs(static_cast<double>(wanted)));
    } else {
      return std::memcmp(&got, &wanted, sizeof got) == 0;
    }
  }

  std::function<T(setup&, std::size_t)> make_;
  std::uint64_t seed_;
  std::vector<path> paths_;
  std::optional<on::device> place_;
  memory_type memory_ = memory_type::device;
  bool mixed_ = false;
  bool any_size_ = false;
  stats::random_source random_{seed_};
  std::conditional_t<on_devices, std::optional<device_paths<T>>, no_device> device_;
  std::deque<opening> all_;
  opening* at_ = nullptr;
};

}  // namespace assay::dispatch
