// SPDX-License-Identifier: Apache-2.0
/// @file
/// Device paths of `dispatch`: the engine with device memory, `load` for a device, and what
/// `measure::calibrate` needs. Include it before a task with `run(cudaStream_t, ...)` is
/// calibrated.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/device.hpp>
#include <assay/core/nvml.hpp>
#include <assay/dispatch/device_bench.hpp>
#include <assay/dispatch/device_engine.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/memory/async.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/transfer/cuda_link.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::load {
struct watched;
}  // namespace assay::load

namespace assay::dispatch {

/// The CUDA calls of device paths.
class task_link : public transfer::cuda_link {
 public:
  using cuda_link::cuda_link;
  memory_place where(void const* address) const { return memory_place_of(address); }
  native_stream native(stream_type of) const noexcept { return of.get(); }
  std::size_t number(stream_type of) const noexcept {
    return reinterpret_cast<std::uintptr_t>(of.get());
  }
  bool idle(stream_type of) const {
    if (capturing(of)) { return false; }  // a query would break the capture
    auto const code = cudaStreamQuery(of.get());
    // Else the launch that follows would seem to have failed.
    if (cudaPeekAtLastError() == cudaErrorNotReady) { (void)cudaGetLastError(); }
    return code == cudaSuccess;
  }
  void require_launched() const { check(cudaGetLastError()); }
};

/// Watches a device for `load::watched`. <assay/dispatch/device_load.cuh> defines it.
template <class Watched>
struct device_watch;

template <std::same_as<load::watched> Watched>
auto bound_on(task_link const& link, Watched const& policy, costs const& of) {
  return device_watch<Watched>::bound(link.place(), policy, of);
}

/// Runs calls of one task on host paths and on one device, by `run(stream, task)`: see
/// `device_engine`. Memory for arrays that are not on the device comes from `memory`, in the order
/// of the stream of the call.
template <chooser C, class Memory>
requires memory_resource<Memory, ::cuda::stream_ref>
class engine<C, Memory> : public device_engine<C, task_link, Memory> {
 public:
  /// Throws `std::invalid_argument` if the costs lack a path that the policy names, if their device
  /// is not there, and for costs of two devices.
  engine(costs of, Memory memory, C const& policy = {})
      : engine(usable_device(of), of, std::move(memory), policy) {}

 private:
  engine(on::device place, costs& of, Memory memory, C const& policy)
      : device_engine<C, task_link, Memory>(std::move(of), task_link{place}, std::move(memory),
                                            policy) {}

  static on::device usable_device(costs const& all) {
    auto const place = all.device().value_or(on::device{0});
    require_device(place);
    return place;
  }
};

template <class Memory>
requires memory_resource<Memory, ::cuda::stream_ref>
engine(costs, Memory) -> engine<choose::by_model, Memory>;
template <class Memory, chooser C>
requires memory_resource<Memory, ::cuda::stream_ref>
engine(costs, Memory, C) -> engine<C, Memory>;

/// Reads a file of `save` for a device. Throws `read_error` for a file of another device, and for a
/// file with another device number. Another driver is one of the warnings.
inline costs load(std::string const& path, on::device place) {
  auto here = machine::host_environment({}, {});
  here.device = device_in_words(place);
  here.driver = nvml::load().driver_version();
  auto read = load(path, here);
  auto const its = read.device();
  if (its && *its != place) {
    throw read_error(path, concat({"its paths are on device{", std::to_string(its->id),
                                   "}, and the device asked for is device{",
                                   std::to_string(place.id), "}: calibrate for this one"}));
  }
  return read;
}

namespace detail {

/// Arrays in memory of the host; a random share of them is page-locked.
class page_locked_store final : public arrays::host_array_store {
 public:
  page_locked_store(std::uint64_t seed, double share)
      : host_array_store(seed), random_{seed}, share_(share) {}

 private:
  std::byte* allocate_block(std::size_t bytes) override {
    bool const locks = static_cast<double>(random_.next() >> 11U) * 0x1p-53 < share_;
    if (!locks) { return host_array_store::allocate_block(bytes); }
    return static_cast<std::byte*>(blocks_.emplace_back(bytes + spread).get());
  }
  stats::random_source random_;
  double share_;
  std::vector<page_locked_block> blocks_;
};

/// The stream of a calibration, as a base class: it is made before the bench and outlives it.
struct owned_stream {
  explicit owned_stream(on::device place) : own(place) {}
  stream own;
};

}  // namespace detail

/// The device of a calibration: the task runs there over memory of `mr::async`.
template <task T>
class device_paths : private detail::owned_stream,
                     public device_bench<T, task_link, mr::async_resource> {
 public:
  explicit device_paths(on::device place)
      : owned_stream((require_device(place), place)),
        device_bench<T, task_link, mr::async_resource>(task_link{place}, own,
                                                       mr::async{}.open(place)),
        place_(place) {}

  /// Adds the name and the driver of the device.
  void describe(measurements& to) const override {
    to.device = device_in_words(place_);
    to.driver = nvml::load().driver_version();
  }
  /// Memory for arrays; a share of them, drawn by the seed, is page-locked.
  std::shared_ptr<arrays::array_store> page_locked_arrays(std::uint64_t seed,
                                                          double share) const override {
    return std::make_shared<detail::page_locked_store>(seed, share);
  }

 private:
  on::device place_;
};

}  // namespace assay::dispatch
