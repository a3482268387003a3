// SPDX-License-Identifier: Apache-2.0
/// @file
/// `calibrate`: measures a task on several host paths.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/dispatch/sampling.hpp>
#include <assay/dispatch/task.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/stats/random_source.hpp>

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

/// Runs a task on host paths, over arrays that `make` makes anew for each size.
template <dispatch::task T>
class task_bench {
 public:
  task_bench(std::vector<dispatch::path> const& paths, std::function<T(setup&, std::size_t)> make,
             std::uint64_t seed)
      : make_(std::move(make)), seed_(seed) {
    if (!make_) { throw std::invalid_argument("make is empty: give a function that makes tasks"); }
    for (auto const& each : paths) {
      if (each.host() == nullptr) {
        throw std::invalid_argument(each.describe() +
                                    ": calibrate measures host paths, such as "
                                    "on::host{4}");
      }
      place_traits<on::host>::require(*each.host());
      if (each.host()->threads > host::all_threads()) {
        throw std::invalid_argument(each.describe() + " has more threads than the " +
                                    std::to_string(host::all_threads()) +
                                    " cores that this process may use: name at most those");
      }
      places_.push_back(*each.host());
    }
  }

  /// Makes the arrays, which touches their memory, and the reference results.
  void open(std::size_t size) {
    task_.reset();
    arrays_.reset();
    arrays_.emplace(std::make_shared<arrays::host_array_store>(seed_), seed_);
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
    dispatch::run_on_host(*task_, places_[path]);
    return arrays_->has_expectations() ? arrays_->verify() : difference(task_->arrays());
  }
  double seconds(std::size_t path, int calls) {
    double const begin = now();
    for (int i = 0; i < calls; ++i) { dispatch::run_on_host(*task_, places_[path]); }
    return now() - begin;
  }
  double group_seconds() const noexcept { return 5e-6; }  // 100 times what the clock costs
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  dispatch::facts facts() const { return dispatch::facts_of(*task_); }

 private:
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
  std::vector<on::host> places_;
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

/// Measures a task on host paths. Blocks for about `budget_seconds`.
///
/// The calls of one size follow each other over the same arrays. So the caches hold what the call
/// before left there, and an `inout` array holds the results of the calls before.
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
  for (auto const& each : paths) {
    found.paths.push_back({.where = each});
    if (each.host()->threads > 1) {
      found.machine.forks.push_back(measure_fork(each.host()->threads));
    }
  }
  return dispatch::calibrate_on(bench, std::move(found), options);
}

}  // namespace assay::measure
