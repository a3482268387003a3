// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to task_bench.hpp: what a bench does with a task of any type.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/core/concat.hpp>
#include <assay/dispatch/task_bench.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/machine/host_environment.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::dispatch {

ASSAY_INLINE any_task_bench::any_task_bench(std::string_view task, std::vector<path> paths,
                                            make_task make, make_device device, std::uint64_t seed)
    : name_(task), make_(std::move(make)), seed_(seed), paths_(std::move(paths)) {
  if (!make_) { throw std::invalid_argument("make is empty: give a function that makes tasks"); }
  for (auto const& each : paths_) {
    if (each.host() == nullptr) {
      if (device == nullptr) { throw std::invalid_argument(no_device_run(name_, each)); }
      continue;
    }
    place_traits<on::host>::require(*each.host());
    if (each.host()->threads > host::all_threads()) {
      throw std::invalid_argument(concat({each.describe(), " has more threads than the ",
                                          std::to_string(host::all_threads()),
                                          " cores that this process may use: name at most those"}));
    }
  }
  place_ = one_device(paths_);
  if (place_) { device_ = device(*place_); }
}

ASSAY_INLINE any_task_bench::~any_task_bench() = default;

ASSAY_INLINE void any_task_bench::lie_in(memory_type memory) {
  if (memory == memory_type::managed) {
    throw std::invalid_argument("memory = managed: nothing is known about such copies");
  }
  if (memory == memory_type::page_locked && !place_) {
    throw std::invalid_argument("memory = page-locked: there is no device path that needs it");
  }
  memory_ = memory;
  mixed_ = false;
}

ASSAY_INLINE void any_task_bench::mix() {
  if (!place_) {
    throw std::invalid_argument("mixed memory: there is no device path that needs it");
  }
  mixed_ = true;
}

ASSAY_INLINE std::vector<memory_type> any_task_bench::host_memories() const {
  if (!place_) { return {}; }
  return {memory_type::pageable, memory_type::page_locked};
}

ASSAY_INLINE void any_task_bench::make_resident(resident_arrays which) {
  auto& known = at_->known;
  known = at_->task->known();
  for (std::size_t i = 0; i < known.count; ++i) {
    auto& each = known.arrays[i];
    each.memory = at_->memory;
    if (which == resident_arrays::all || (which == resident_arrays::written && each.is_written())) {
      take_home(each);
    }
  }
}

ASSAY_INLINE measurements any_task_bench::described() const {
  auto const here = machine::host_environment({}, {});
  measurements found{.task = name_,
                     .paths = {},
                     .cpu = here.host_cpu,
                     .compiler = here.compiler,
                     .started_at = here.started_at,
                     .cores = here.host_threads,
                     .seed = seed_};
  if (device_) { device_->describe(found); }
  for (auto const& each : paths_) { found.paths.push_back({.where = each}); }
  return found;
}

ASSAY_INLINE std::size_t any_task_bench::open(std::size_t size) {
  auto& made = all_.emplace_back(opening{.memory = memory_, .mixed = mixed_});
  try {
    open_again(all_.size() - 1);
    made.arrays.emplace(store(), seed_);
    make_at(size);
  } catch (...) {
    all_.pop_back();
    throw;
  }
  return all_.size() - 1;
}

ASSAY_INLINE void any_task_bench::open_again(std::size_t number) {
  at_ = &all_[number];
  if (device_) { device_->select(number); }
}

ASSAY_INLINE void any_task_bench::close() {
  all_.clear();
  if (device_) { device_->clear(); }
}

ASSAY_INLINE std::optional<std::string> any_task_bench::wrong(std::size_t number) {
  at_->arrays->restore();
  at_->arrays->poison();
  if (auto const* const host = paths_[number].host()) {
    at_->task->run(*host, 1);
  } else {
    device_->run_once(*at_->task);
  }
  return at_->arrays->has_expectations() ? at_->arrays->verify() : difference();
}

ASSAY_INLINE double any_task_bench::seconds(std::size_t number, int calls) {
  double const begin = now();
  if (auto const* const host = paths_[number].host()) {
    at_->task->run(*host, calls);
  } else if (at_->memory == memory_type::device && !at_->mixed) {
    device_->run_resident(*at_->task, calls);
  } else {
    device_->run_from_host(*at_->task, at_->known, calls);
  }
  return now() - begin;
}

ASSAY_INLINE double any_task_bench::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ASSAY_INLINE void any_task_bench::make_at(std::size_t size) {
  at_->task = make_(*at_->arrays, size);
  auto const amount = at_->task->known().amount;
  if (amount.size != size && !any_size_) {
    throw std::invalid_argument(
        concat({"make(arrays, ", std::to_string(size), ") made a ", name_, " of size ",
                std::to_string(amount.size), ": return the size asked for"}));
  }
  locate();
  if (at_->arrays->has_expectations()) { return; }
  at_->task->run(on::host{1}, 1);
  for (auto const& each : at_->task->written()) {
    at_->reference.emplace_back(each.bytes.begin(), each.bytes.end());
  }
}

ASSAY_INLINE std::shared_ptr<arrays::array_store> any_task_bench::store() {
  if (mixed_) { return device_->page_locked_arrays(random_.next(), 0.5); }
  if (memory_ == memory_type::page_locked) { return device_->page_locked_arrays(seed_, 1); }
  return std::make_shared<arrays::host_array_store>(seed_);
}

/// Finds out where the arrays of the open size lie.
ASSAY_INLINE void any_task_bench::locate() {
  if (!mixed_) {
    return make_resident(memory_ == memory_type::device ? resident_arrays::all
                                                        : resident_arrays::none);
  }
  auto& known = at_->known;
  known = device_->facts_of_call(*at_->task);
  for (std::size_t i = 0; i < known.count; ++i) {
    if (random_.next() % 3 == 0) { take_home(known.arrays[i]); }
  }
}

ASSAY_INLINE void any_task_bench::take_home(array_fact& each) const {
  each.memory = memory_type::device;
  each.newest = place_ ? place_->id : 0;
}

/// The first element that differs from host{1} by more than the default tolerance.
ASSAY_INLINE std::optional<std::string> any_task_bench::difference() const {
  auto const written = at_->task->written();
  for (std::size_t number = 0; number < written.size(); ++number) {
    auto const& each = written[number];
    if (auto const element = each.difference(each.bytes, at_->reference[number])) {
      return concat({"element ", std::to_string(*element), " of array ", std::to_string(number),
                     " differs from that of host{1}"});
    }
  }
  return {};
}

}  // namespace assay::dispatch
