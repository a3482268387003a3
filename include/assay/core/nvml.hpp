// SPDX-License-Identifier: Apache-2.0
/// @file
/// The driver's management library, loaded at run time.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// The state of a device at one moment. NaN and empty members are unknown.
struct device_state {
  double sm_clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double memory_clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double power_watts = std::numeric_limits<double>::quiet_NaN();
  double temperature_celsius = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::uint64_t> throttle;  ///< bits of NVML's clocks event (throttle) reasons
  std::optional<int> processes;           ///< processes with a compute context on the device
};

/// The use of a device by all processes; empty members are unknown.
struct device_use {
  std::optional<int> processes;  ///< with a compute context; containers may hide them
  /// Share of the last 1/6 s to 1 s in which a kernel ran; only asked where no process is seen.
  std::optional<double> busy;
};

/// The PCIe link of a device, now and at most; 0 means unknown. The driver slows the link of an
/// idle device, so a query should follow copies.
struct pcie_link {
  unsigned generation = 0, width = 0;
  unsigned max_generation = 0, max_width = 0;
  bool operator==(pcie_link const&) const = default;
};

/// NVML through the functions that this library uses, looked up by name: programs neither link it
/// nor need its header, and run where it is not installed.
///
/// A cheap copyable handle; the library is shut down with the last copy. Calls may come from any
/// thread. No function throws: `why_missing()` tells why the library is missing, and unknown values
/// stay unknown.
class nvml {
 public:
  /// Finds a function of the library; null if it has none by that name.
  using lookup = std::function<void*(char const*)>;

  static nvml load(std::string const& path = "libnvidia-ml.so.1") {
    auto* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      nvml nothing;
      auto const* const reason = ::dlerror();
      nothing.why_missing_ = reason != nullptr ? reason : path + " cannot be loaded";
      return nothing;
    }
    return {[library](char const* name) { return ::dlsym(library, name); }, library};
  }

  explicit nvml(lookup const& find) : nvml(find, nullptr) {}

  bool available() const noexcept { return functions_ != nullptr; }

  /// Why nothing can be asked; empty when available.
  std::string const& why_missing() const noexcept { return why_missing_; }

  /// The driver's version, such as `580.159.04`.
  std::string driver_version() const {
    std::array<char, 80> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
    auto const asked = functions_ && functions_->driver &&
                       functions_->driver(text.data(), static_cast<unsigned>(text.size())) == 0;
    return asked ? std::string{text.data()} : std::string{};
  }

  /// The state of the device with this PCI bus id (as `cudaDeviceGetPCIBusId` gives it: CUDA's
  /// ordinals are renumbered by CUDA_VISIBLE_DEVICES, NVML's are not). Each failure is added to
  /// `problems` in words.
  device_state ask(std::string const& pci_bus_id, std::vector<std::string>& problems) const {
    device_state state;
    auto* const handle = find(pci_bus_id, problems);
    if (handle == nullptr) { return state; }
    auto const note = [&](char const* what, int code) {
      problems.push_back(concat({what, ": ", functions_->text(code)}));
    };
    unsigned value = 0;
    auto const number = [&](char const* what, int code, double scale, double& into) {
      if (code != 0) { return note(what, code); }
      into = value * scale;
    };
    constexpr int sm_clock = 1;
    constexpr int memory_clock = 2;
    constexpr int gpu_sensor = 0;
    auto const& f = *functions_;
    number("SM clock", f.clock(handle, sm_clock, &value), 1, state.sm_clock_mhz);
    number("memory clock", f.clock(handle, memory_clock, &value), 1, state.memory_clock_mhz);
    number("power", f.power(handle, &value), 1e-3, state.power_watts);
    number("temperature", f.temperature(handle, gpu_sensor, &value), 1, state.temperature_celsius);
    unsigned long long bits = 0;
    if (auto const code = f.throttle(handle, &bits); code == 0) {
      state.throttle = bits;
    } else {
      note("throttle reasons", code);
    }
    state.processes = processes_on(handle, problems);
    return state;
  }

  /// The use of the device with this bus id. Faster than `ask`.
  device_use ask_use(std::string const& pci_bus_id) const {
    device_use use;
    std::vector<std::string> ignored;
    auto* const handle = find(pci_bus_id, ignored);
    if (handle == nullptr) { return use; }
    use.processes = processes_on(handle, ignored);
    if (use.processes.value_or(0) > 0) { return use; }
    utilization percent{};
    if (functions_->busy != nullptr && functions_->busy(handle, &percent) == 0) {
      use.busy = 0.01 * percent.gpu;
    }
    return use;
  }

  /// The PCIe link of the device with this bus id. Each failure is added to `problems` in words.
  pcie_link ask_link(std::string const& pci_bus_id, std::vector<std::string>& problems) const {
    pcie_link link;
    auto* const handle = find(pci_bus_id, problems);
    if (handle == nullptr) { return link; }
    auto const& f = *functions_;
    auto const number = [&](char const* what, int (*call)(device, unsigned*), unsigned& into) {
      if (call == nullptr) {
        problems.push_back(std::string{what} + ": the library does not know it");
      } else if (auto const code = call(handle, &into); code != 0) {
        into = 0;
        problems.push_back(concat({what, ": ", f.text(code)}));
      }
    };
    number("link generation", f.link_generation, link.generation);
    number("link width", f.link_width, link.width);
    number("highest link generation", f.max_link_generation, link.max_generation);
    number("highest link width", f.max_link_width, link.max_width);
    return link;
  }

 private:
  nvml() = default;
  nvml(lookup const& find, void* library) : functions_(new functions{find, library}) {
    if (!functions_->complete()) {
      why_missing_ = "the library lacks functions that every driver has";
    } else if (auto const code = functions_->init(); code != 0) {
      why_missing_ = "nvmlInit: " + functions_->text(code);
    } else {
      functions_->begun = true;
      return;
    }
    functions_ = nullptr;
  }

  // NVML's C interface, as its binary interface has been since CUDA 7: handles are opaque pointers,
  // all status codes are ints with 0 for success.
  struct opaque;
  using device = opaque*;

  /// `nvmlProcessInfo_v2_t`, which versions 2 and 3 of the call fill.
  struct process_info {
    unsigned pid;
    unsigned long long used_gpu_memory;
    unsigned gpu_instance;
    unsigned compute_instance;
  };
  static_assert(sizeof(process_info) == 24);
  /// `nvmlUtilization_t`
  struct utilization {
    unsigned gpu;
    unsigned memory;
  };

  /// The device with this bus id; null, and a problem in words, where there is none.
  device find(std::string const& pci_bus_id, std::vector<std::string>& problems) const {
    device handle = nullptr;
    if (!functions_) {
      problems.push_back(why_missing_);
    } else if (auto const code = functions_->by_bus_id(pci_bus_id.c_str(), &handle); code != 0) {
      problems.push_back("device: " + functions_->text(code));
      return nullptr;
    }
    return handle;
  }

  /// The processes with a compute context on a device; nothing where that is not known.
  std::optional<int> processes_on(device handle, std::vector<std::string>& problems) const {
    auto const& f = *functions_;
    if (f.processes == nullptr) {
      problems.push_back("compute processes: the library does not know them");
      return std::nullopt;
    }
    constexpr int insufficient_size = 7;  // NVML_ERROR_INSUFFICIENT_SIZE: `count` says how many
    std::unique_ptr<process_info[]> found;
    unsigned room = 16;
    unsigned count = 0;
    int code = insufficient_size;
    // Processes may come between two calls, so each has room for some more.
    for (int tries = 0; tries < 3 && code == insufficient_size; ++tries) {
      room += count;
      found.reset(new process_info[room]);
      count = room;
      code = f.processes(handle, &count, found.get());
    }
    if (code != 0) {
      problems.push_back("compute processes: " + f.text(code));
      return std::nullopt;
    }
    return static_cast<int>(count);
  }

  /// A function of the library, of the type that it is assigned to.
  struct symbol {
    void* address;
    template <class Signature>
    operator Signature*() const {
      return reinterpret_cast<Signature*>(address);
    }
  };

  struct functions {
    lookup find;
    void* library;       ///< closed at the end; null where `find` has another source
    bool begun = false;  ///< `init` succeeded, so `shutdown` is due

    ~functions() {
      if (begun) { shutdown(); }
      if (library != nullptr) { ::dlclose(library); }
    }

    int (*init)() = get("nvmlInit_v2");
    int (*shutdown)() = get("nvmlShutdown");
    char const* (*error)(int) = get("nvmlErrorString");
    int (*by_bus_id)(char const*, device*) = get("nvmlDeviceGetHandleByPciBusId_v2");
    int (*clock)(device, int, unsigned*) = get("nvmlDeviceGetClockInfo");
    int (*power)(device, unsigned*) = get("nvmlDeviceGetPowerUsage");
    int (*temperature)(device, int, unsigned*) = get("nvmlDeviceGetTemperature");
    // Renamed in driver 535; the old name stays in later drivers, the new one may go first.
    int (*throttle)(device, unsigned long long*) = get("nvmlDeviceGetCurrentClocksEventReasons",
                                                       "nvmlDeviceGetCurrentClocksThrottleReasons");
    // These may be missing.
    int (*driver)(char*, unsigned) = get("nvmlSystemGetDriverVersion");
    int (*link_generation)(device, unsigned*) = get("nvmlDeviceGetCurrPcieLinkGeneration");
    int (*link_width)(device, unsigned*) = get("nvmlDeviceGetCurrPcieLinkWidth");
    int (*max_link_generation)(device, unsigned*) = get("nvmlDeviceGetMaxPcieLinkGeneration");
    int (*max_link_width)(device, unsigned*) = get("nvmlDeviceGetMaxPcieLinkWidth");
    int (*processes)(device, unsigned*,
                     process_info*) = get("nvmlDeviceGetComputeRunningProcesses_v3",
                                          "nvmlDeviceGetComputeRunningProcesses_v2");
    int (*busy)(device, utilization*) = get("nvmlDeviceGetUtilizationRates");

    bool complete() const {
      return init && shutdown && error && by_bus_id && clock && power && temperature && throttle;
    }
    std::string text(int code) const { return error(code); }
    symbol get(char const* name, char const* older = nullptr) const {
      auto* const found = find(name);
      return {found != nullptr || older == nullptr ? found : find(older)};
    }
  };

  std::shared_ptr<functions> functions_;
  std::string why_missing_;
};

}  // namespace assay
