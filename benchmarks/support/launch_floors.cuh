// SPDX-License-Identifier: Apache-2.0
/// @file
/// Launches of an empty kernel: the least that a call of an all-reduce can take the host.
#pragma once

#include <assay/comm/all_reduce_kernels.cuh>
#include <assay/core/device.hpp>
#include <assay/core/driver_call.hpp>

#include <functional>
#include <string>
#include <vector>

namespace assay::benchmark {

/// Takes its parameters and does nothing.
template <class Call>
__global__ void empty_kernel(__grid_constant__ Call const) {}

/// A way to call the host's part of a rank.
struct launch_floor {
  std::string name;
  std::function<void(int rank, ::cuda::stream_ref)> call;
};

/// Launches by the driver's function, which takes none of the runtime's locks.
template <class Call>
void launch_by_driver(::cuda::stream_ref on, Call const& call) {
  using launch_function = CUresult(CUlaunchConfig const*, CUfunction, void**, void**);
  static auto const launch = driver_call<launch_function*>("cuLaunchKernelEx", 12000);
  // The function of the thread's device: each thread launches on one.
  thread_local CUfunction const entry = [] {
    cudaFunction_t found = nullptr;
    check(cudaGetFuncBySymbol(&found, reinterpret_cast<void const*>(empty_kernel<Call>)));
    return reinterpret_cast<CUfunction>(found);
  }();
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = on.get();
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {const_cast<void*>(static_cast<void const*>(&call))};
  check(launch(&config, entry, arguments, nullptr));
}

/// Launches with the parameters of an all-reduce and with few, with its attribute and without, by
/// one thread alone, and by the driver's own function; and the guard of a device without a launch.
inline std::vector<launch_floor> launch_floors() {
  using call_type = comm::all_reduce_call<float>;
  auto const launch = [](::cuda::stream_ref on, auto const& call, bool early) {
    using type = std::remove_cvref_t<decltype(call)>;
    comm::launch_early<type>(empty_kernel<type>, dim3(1), 128, 0, on, early, call);
  };
  call_type const call{};
  return {
      {"launch", [=](int, ::cuda::stream_ref on) { launch(on, call, true); }},
      {"launch_not_early", [=](int, ::cuda::stream_ref on) { launch(on, call, false); }},
      {"launch_small", [=](int, ::cuda::stream_ref on) { launch(on, 0, true); }},
      {"launch_alone",
       [=](int rank, ::cuda::stream_ref on) {
         if (rank == 0) { launch(on, call, true); }
       }},
      {"launch_by_driver", [=](int, ::cuda::stream_ref on) { launch_by_driver(on, call); }},
      {"guard", [](int rank, ::cuda::stream_ref) { device_guard const here{on::device{rank}}; }}};
}

}  // namespace assay::benchmark
