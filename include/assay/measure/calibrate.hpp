// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate`: measures a task on several paths.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::measure {

/// The options of `calibrate`. `make(arrays, size)` returns a task of that size. It makes the
/// arrays of the task by `arrays`, and may declare right results by `arrays.expect`. Without
/// `expect` the results of `host{1}` are the reference of all paths. The time of `make` is part of
/// the budget, and of no measured time.
template <dispatch::task T>
struct calibration {
  dispatch::size_range sizes;
  double budget_seconds = 5;
  std::function<T(setup& arrays, std::size_t size)> make;
  std::uint64_t seed = 0;  ///< 0 draws one
  /// Called before each size with the share of the budget that is used. An exception of it ends the
  /// calibration.
  std::function<void(double used, std::size_t next_size)> progress{};
};

namespace detail {

/// A task with device paths, where nothing defines what a calibration needs of a device.
template <class T>
concept lacks_device_header =
    dispatch::has_device_run<T> && !requires { sizeof(dispatch::device_paths<T>); };

/// The device of a task that runs on the host alone.
struct no_device {};

/// Runs a task on its paths, over arrays that `make` makes anew for each size.
template <dispatch::task T>
class task_bench {
 public:
  static constexpr bool on_devices = dispatch::has_device_run<T>;
  static_assert(!lacks_device_header<T>,
                "a task with run(cudaStream_t, ...) needs <assay/dispatch/device.hpp>");

  task_bench(std::vector<dispatch::path> const& paths, std::function<T(setup&, std::size_t)> make,
             std::uint64_t seed)
      : make_(std::move(make)), seed_(seed), paths_(paths) {
    if (!make_) { throw std::invalid_argument("make is empty: give a function that makes tasks"); }
    for (auto const& each : paths_) {
      if (each.host() == nullptr) {
        if (!on_devices) { throw std::invalid_argument(dispatch::no_device_run<T>(each)); }
        continue;
      }
      place_traits<on::host>::require(*each.host());
      if (each.host()->threads > host::all_threads()) {
        throw std::invalid_argument(each.describe() + " has more threads than the " +
                                    std::to_string(host::all_threads()) +
                                    " cores that this process may use: name at most those");
      }
    }
    place_ = dispatch::one_device(paths_);
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
  }
  /// Adds the terms of the device, if there is one.
  void describe(dispatch::measurements& to) const {
    if constexpr (on_devices) {
      auto const staged = [](auto const& each) {
        return each.transfer == dispatch::staged_transfer;
      };
      if (device_) { device_->describe(to, std::any_of(paths_.begin(), paths_.end(), staged)); }
    }
  }

  /// Makes the arrays, which touches their memory, and the reference results.
  void open(std::size_t size) {
    task_.reset();
    arrays_.reset();
    if constexpr (on_devices) {
      if (device_) { device_->clear(); }
    }
    arrays_.emplace(store(), seed_);
    task_.emplace(make_(*arrays_, size));
    dispatch::require_work(T::name, task_->work());
    if (task_->work().size != size) {
      throw std::invalid_argument(
          "make(arrays, " + std::to_string(size) + ") made a " + std::string{T::name} +
          " of size " + std::to_string(task_->work().size) + ": return the size asked for");
    }
    if (arrays_->has_expectations()) { return; }
    dispatch::run_on_host(*task_, on::host{1});
    reference_ = copies_of(task_->arrays());
  }
  std::optional<std::string> wrong(std::size_t path) {
    arrays_->restore();
    arrays_->poison();
    if (auto const* const host = paths_[path].host()) {
      dispatch::run_on_host(*task_, *host);
    } else if constexpr (on_devices) {
      device_->upload(*task_);
      device_->run_resident(*task_, 1);
      device_->download(*task_);
    }
    return arrays_->has_expectations() ? arrays_->verify() : difference(task_->arrays());
  }
  double seconds(std::size_t path, int calls) {
    double const begin = now();
    if (auto const* const host = paths_[path].host()) {
      for (int i = 0; i < calls; ++i) { dispatch::run_on_host(*task_, *host); }
    } else if constexpr (on_devices) {
      if (memory_ == memory_type::device) {
        device_->run_resident(*task_, calls);
      } else {
        bool const staged = paths_[path].transfer == dispatch::staged_transfer;
        device_->run_from_host(*task_, facts(), staged, calls);
      }
    }
    return now() - begin;
  }
  double group_seconds() const noexcept { return 5e-6; }  // 100 times what the clock costs
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  /// The facts of the calls. Arrays in device memory are on the device of the paths.
  dispatch::facts facts() const {
    auto known = dispatch::facts_of(*task_);
    for (std::size_t i = 0; i < known.count; ++i) {
      known.arrays[i].memory = memory_;
      if (memory_ == memory_type::device) { known.arrays[i].newest = place_ ? place_->id : 0; }
    }
    return known;
  }

 private:
  std::shared_ptr<arrays::array_store> store() const {
    if constexpr (on_devices) {
      if (memory_ == memory_type::page_locked) {
        return dispatch::device_paths<T>::page_locked_arrays(seed_);
      }
    }
    return std::make_shared<arrays::host_array_store>(seed_);
  }

  /// The bytes of an array that calls write; of others nothing is compared.
  template <class E>
  static std::vector<std::byte> bytes_of(dispatch::task_array<E> const& of) {
    if (of.way == dispatch::direction::in) { return {}; }
    auto const bytes = std::as_bytes(of.data);
    return {bytes.begin(), bytes.end()};
  }
  template <class... E>
  static std::vector<std::vector<std::byte>> copies_of(
      std::tuple<dispatch::task_array<E>...> const& of) {
    std::vector<std::vector<std::byte>> all;
    std::apply([&](auto const&... each) { (all.push_back(bytes_of(each)), ...); }, of);
    return all;
  }
  /// The first element that differs from host{1} by more than the default tolerance.
  template <class... E>
  std::optional<std::string> difference(std::tuple<dispatch::task_array<E>...> const& of) const {
    std::optional<std::string> found;
    std::size_t number = 0;
    auto const compare = [&]<class U>(dispatch::task_array<U> const& got) {
      auto const& bytes = reference_[number++];
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
  std::vector<dispatch::path> paths_;
  std::optional<on::device> place_;
  memory_type memory_ = memory_type::device;
  std::conditional_t<on_devices, std::optional<dispatch::device_paths<T>>, no_device> device_;
  std::optional<setup> arrays_;
  std::optional<T> task_;
  std::vector<std::vector<std::byte>> reference_;
};

}  // namespace detail

/// Measures the time that `host::parallel_for` takes to begin and end an empty loop on `threads`
/// threads.
inline dispatch::fork measure_fork(int threads) {
  using clock = std::chrono::steady_clock;
  constexpr int loops = 10;
  std::vector<double> times;
  for (int group = 0; group < 12; ++group) {
    auto const begin = clock::now();
    for (int i = 0; i < loops; ++i) {
      host::parallel_for(threads, threads, 1, [](std::int64_t, std::int64_t) {});
    }
    times.push_back(std::chrono::duration<double>(clock::now() - begin).count() / loops);
  }
  times.erase(times.begin());  // it started the threads
  auto const found = dispatch::detail::summarised(1, times);
  double const factor = std::exp2(found.spread);
  return {threads, {found.seconds, found.seconds / factor, found.seconds * factor}};
}

/// Measures a task on its paths. Blocks for about `budget_seconds`, and once in a process for at
/// most 0.5 s more, in which the links of the device are measured.
///
/// The calls of one size follow each other over the same arrays. So the caches hold what the call
/// before left there, and an `inout` array holds the results of the calls before. A device path is
/// timed over arrays in the memory of the device, with a wait after each call.
///
/// Throws `std::invalid_argument` for paths and options that are not possible, and if every path
/// has wrong results. Exceptions of `make`, of the task and of `progress` pass through.
template <dispatch::task T>
dispatch::costs calibrate(std::vector<dispatch::path> const& paths, calibration<T> const& options) {
  auto const seed = options.seed != 0 ? options.seed : stats::draw_seed();
  detail::task_bench<T> bench{paths, options.make, seed};
  auto const here = machine::host_environment({}, {});
  dispatch::measurements found{.task = std::string{T::name},
                               .paths = {},
                               .cpu = here.host_cpu,
                               .compiler = here.compiler,
                               .started_at = here.started_at,
                               .cores = here.host_threads,
                               .seed = seed};
  bench.describe(found);
  for (auto const& each : paths) {
    found.paths.push_back({.where = each});
    if (each.host() != nullptr && each.host()->threads > 1) {
      found.machine.forks.push_back(measure_fork(each.host()->threads));
    }
  }
  return dispatch::calibrate_on(bench, std::move(found), options);
}

}  // namespace assay::measure
