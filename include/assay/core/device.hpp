// SPDX-License-Identifier: Apache-2.0
/// @file
/// Number, attributes and choice of CUDA devices.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/error.hpp>
#include <assay/core/place.hpp>

#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

/// The message for a driver that is older than the toolkit, by their version numbers.
inline std::string driver_too_old(int driver, int runtime) {
  return concat({"the driver supports CUDA ", cuda_version_text(driver),
                 " but this program was built with CUDA ", cuda_version_text(runtime),
                 ": update the driver, or build with an older toolkit"});
}

/// Devices that this process can use; 0 without a GPU or driver. Throws `std::runtime_error` that
/// names both versions when the driver is older than the toolkit.
inline int device_count() {
  int count = 0;
  auto const code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess) { return count; }
  (void)cudaGetLastError();
  if (code == cudaErrorInsufficientDriver) {
    int driver = 0;
    int runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0) { return 0; }
    throw std::runtime_error(driver_too_old(driver, runtime));
  }
  if (code == cudaErrorNoDevice) { return 0; }
  throw cuda_error(code);
}

/// Throws `std::invalid_argument` with the ordinal and the number of devices, unless the device is
/// usable.
inline void require_device(on::device place) {
  int const count = device_count();
  if (place.id >= 0 && place.id < count) { return; }
  throw std::invalid_argument(
      concat({"device ", std::to_string(place.id), " does not exist: this process sees ",
              std::to_string(count),
              count == 0 ? " GPUs; a GPU and its driver are needed" : " GPUs, numbered from 0",
              count == 0 ? "" : " (CUDA_VISIBLE_DEVICES limits them)"}));
}

/// An attribute of a device, as the runtime reports it.
inline int attribute(on::device place, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, place.id));
  return value;
}

/// The PCI bus id of a device, which is the same for every library.
inline std::string pci_bus_id(on::device place) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), place.id));
  return text.data();
}

/// The text of a UUID behind "GPU".
inline std::string uuid_text(cudaUUID_t const& of) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof of.bytes; ++i) {
    if (i == 0 || (i >= 4 && i <= 10 && i % 2 == 0)) { text += '-'; }
    auto const byte = static_cast<unsigned char>(of.bytes[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

/// The name of a GPU, or of a part of one, that no other one has on any host, as `nvidia-smi -L`
/// prints it: "GPU-3f1b2a40-...". Containers of one host see one GPU under several host names.
inline std::string gpu_uuid(on::device place) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, place.id));
  return uuid_text(properties.uuid);
}

/// The name of a device with its SMs, memory and compute capability.
inline std::string device_in_words(on::device place) {
  require_device(place);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, place.id));
  return concat({properties.name, ", ", std::to_string(properties.multiProcessorCount), " SMs, ",
                 std::to_string(properties.totalGlobalMem >> 20U), " MiB, compute capability ",
                 std::to_string(properties.major), ".", std::to_string(properties.minor)});
}

/// The device that is current on this thread.
inline on::device current_device() {
  on::device place;
  check(cudaGetDevice(&place.id));
  return place;
}

/// Lets this thread make calls that a stream capture elsewhere in the process would else forbid
/// (`cudaMalloc`, event queries). Make none of them on a captured stream.
class relaxed_capture_guard {
 public:
  relaxed_capture_guard() noexcept { exchange(); }
  relaxed_capture_guard(relaxed_capture_guard const&) = delete;
  relaxed_capture_guard& operator=(relaxed_capture_guard const&) = delete;
  ~relaxed_capture_guard() { exchange(); }

 private:
  // Fails only for a mode that does not exist.
  void exchange() noexcept { check_noexcept(cudaThreadExchangeStreamCaptureMode(&mode_)); }

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Makes a device current on this thread for a scope, then restores the previous device.
class device_guard {
 public:
  explicit device_guard(on::device place) {
    check(cudaGetDevice(&previous_));
    if (previous_ != place.id) { check(cudaSetDevice(place.id)); }
  }
  /// For destructors: a driver that fails, or that has shut down, changes nothing.
  device_guard(on::device place, std::nothrow_t) noexcept {
    bool const known = check_noexcept(cudaGetDevice(&previous_));
    if (known && previous_ != place.id) { check_noexcept(cudaSetDevice(place.id)); }
  }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;
  ~device_guard() {
    // cudaSetDevice makes a context, which a thread without work on its device does not need.
    int now = -1;
    if (!check_noexcept(cudaGetDevice(&now)) || now != previous_) {
      check_noexcept(cudaSetDevice(previous_));
    }
  }

 private:
  int previous_ = 0;
};

/// A small block of the current device to wait by; null if the card is full.
inline void* make_wait_token() {
  void* token = nullptr;
  if (cudaMalloc(&token, 1) != cudaSuccess) { (void)cudaGetLastError(); }
  return token;
}

/// Waits for all work of a device, of destroyed streams too, and ends no capture of a thread, while
/// the card has room for a byte. `token` is from `make_wait_token`, or null. Throws `cuda_error`.
///
/// `cudaDeviceSynchronize` ends captures in every mode (benchmarks/driver_calls.cu). `cudaFree`
/// waits as well and, in the relaxed mode, ends none. CUDA's documents do not promise that it
/// waits: the first test of tests/pool/device_waits.cu keeps it. Meanwhile the driver holds kernels
/// and events of other threads back (benchmarks/driver_locks.cu).
inline void wait_for_device(on::device place, void* token = nullptr) {
  device_guard const guard{place};
  relaxed_capture_guard const relaxed;
  if (token == nullptr) { token = make_wait_token(); }
  check(token != nullptr ? cudaFree(token) : cudaDeviceSynchronize());
}

}  // namespace assay
