// SPDX-License-Identifier: Apache-2.0
/// @file
/// `device_terms_of`: the links and the wait of a device, measured once for all tasks.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/nvml.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/dispatch/device_call.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/dispatch/link_pieces.hpp>
#include <assay/dispatch/timing.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/stats/randomised_blocks.hpp>
#include <assay/transfer/cuda_link.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  void require_shared(stream_type of) const {
    if (of.get() != cudaStreamPerThread) { return; }
    throw std::invalid_argument(
        "staged copies by several threads cannot use cudaStreamPerThread, which is another stream "
        "on each: give a stream of your own");
  }
  void require_launched() const { check(cudaGetLastError()); }
};

namespace detail {

/// Times copies as a call sees them: by the host's clock, from the first submission to the end of a
/// wait, less the time of the same call without copies.
///
/// Copies of all sizes, ways and types of memory take turns in rounds, and medians over the rounds
/// count. A host that is slower for 0.1 s then changes some times of each copy, but no median.
class link_meter {
 public:
  /// Copies so many bytes at most.
  link_meter(on::device place, std::size_t most_bytes)
      : most_bytes_(most_bytes),
        link_(place),
        stream_(place),
        device_(place, most_bytes_),
        locked_(most_bytes_),
        pageable_(std::make_unique_for_overwrite<std::byte[]>(most_bytes_)),
        copies_(link_) {
    for (auto* const data : {pageable_.get(), static_cast<std::byte*>(locked_.get())}) {
      // The bytes differ, because a hypervisor may share pages with equal contents.
      for (std::size_t at = 0; at < most_bytes_; at += 64) {
        data[at] = static_cast<std::byte>(at * 0x9E3779B97F4A7C15U >> 56U);
      }
    }
    for (int i = 0; i < 20; ++i) {  // the link and the clocks wake up
      (void)seconds({.memory = memory_type::page_locked, .bytes = most_bytes_ / 16});
    }
  }

  /// The links between the device and host memory of these types.
  std::vector<link> measure(std::vector<memory_type> const& memories, bool staged) {
    constexpr int rounds = 9, fewest_rounds = 5;
    constexpr double limit_seconds = 0.3;
    auto kinds = kinds_of(memories, staged);
    std::vector<timed> all;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      for (auto const bytes : sizes) {
        if (bytes > most_bytes_) { break; }
        kinds[k].bytes = bytes;
        all.push_back({k, kinds[k]});
      }
    }
    stats::random_source random{1};
    double const begin = now();
    for (int round = 0; round < rounds; ++round) {
      if (round >= fewest_rounds && now() - begin > limit_seconds) { break; }
      for (auto const i : stats::draw_order(all.size(), random)) { time(all[i]); }
    }
    std::vector<std::vector<timed_copy>> times(kinds.size());
    for (auto& each : all) {
      auto const found = summarised(each.copied.bytes, std::move(each.seconds));
      times[each.kind].push_back({found.size, found.seconds, std::exp2(found.spread) - 1});
    }
    std::vector<link> made;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      auto const& [transfer, end, memory, bytes] = kinds[k];
      for (auto& each : links_through(transfer, end, memory, std::move(times[k]))) {
        made.push_back(std::move(each));
      }
    }
    return made;
  }

  /// The time from the end of a device's work, as the host can see it in memory, to the end of the
  /// host's wait.
  estimate sync() {
    // The first word of page-locked memory is the flag.
    auto* const flag = static_cast<std::uint32_t*>(locked_.get());
    std::vector<double> times;
    for (int i = 0; i < 15; ++i) {
      std::atomic_ref<std::uint32_t> const seen{*flag};
      seen.store(0);
      check(cudaMemsetAsync(device_.get(), 1, sizeof *flag, stream_.get()));
      link_.copy(stream_, flag, device_.get(), sizeof *flag);
      double const limit = now() + 0.1;
      while (seen.load() == 0 && now() < limit) {}
      double const begin = now();
      stream_.synchronize();
      times.push_back(std::max(now() - begin, 1e-8));
    }
    auto const found = summarised(1, std::move(times));
    double const factor = std::exp2(found.spread);
    return {found.seconds, found.seconds / factor, found.seconds * factor};
  }

 private:
  // Close ones where pageable copies change their way: from 64 KiB to 512 KiB.
  static constexpr std::size_t kib = 1024;
  static constexpr std::size_t sizes[] = {kib,       16 * kib,   64 * kib,    128 * kib,  256 * kib,
                                          512 * kib, 2048 * kib, 16384 * kib, 65536 * kib};

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  /// Copies of one kind and size.
  struct copy_call {
    std::string_view transfer = "";
    to end = to::device;
    memory_type memory = memory_type::pageable;
    std::size_t bytes = 0;
  };
  /// Their times in all rounds.
  struct timed {
    std::size_t kind;
    copy_call copied;
    std::vector<double> seconds{};
  };

  static std::vector<copy_call> kinds_of(std::vector<memory_type> const& memories, bool staged) {
    std::vector<copy_call> kinds;
    for (auto const end : {to::device, to::host}) {
      for (auto const memory : memories) {
        kinds.push_back({"", end, memory});
        if (staged) { kinds.push_back({staged_transfer, end, memory}); }
      }
    }
    return kinds;
  }

  /// Times copies three times, or once where a copy takes long. The first call of short ones does
  /// not count: caches and a GPU that waited make it slow.
  void time(timed& each) {
    auto const& what = each.copied;
    bool const is_long = what.bytes >= std::size_t{16} << 20U;
    if (!is_long) { (void)seconds(what); }
    double const copies = copies_at_once(what);
    for (int i = 0; i < (is_long ? 1 : 3); ++i) {
      double const without = seconds({.bytes = 0});
      each.seconds.push_back(std::max((seconds(what) - without) / copies, 1e-8));
    }
  }
  /// Most calls that copy small arrays in copy two or more, and the second costs less.
  static int copies_at_once(copy_call const& what) noexcept {
    if (what.bytes == 0) { return 0; }
    return what.end == to::device && what.bytes <= std::size_t{2} << 20U ? 2 : 1;
  }

  /// Seconds of one call with these copies and the least work of a device.
  double seconds(copy_call const& what) {
    auto* const host = what.memory == memory_type::pageable
                           ? pageable_.get()
                           : static_cast<std::byte*>(locked_.get());
    auto* const device = static_cast<std::byte*>(device_.get());
    auto const half = most_bytes_ / 2;
    moved_array const all[] = {{host, device, what.bytes, what.memory},
                               {host + half, device + half, what.bytes, what.memory}};
    std::span<moved_array const> const moved{all, static_cast<std::size_t>(copies_at_once(what))};
    bool const in = what.end == to::device;
    bool const staged = what.transfer == staged_transfer;
    double const begin = now();
    if (in) { copies_.move(stream_, moved, true, staged); }
    check(cudaMemsetAsync(device, 0, sizeof(int), stream_.get()));
    if (!in) { copies_.move(stream_, moved, false, staged); }
    stream_.synchronize();
    return now() - begin;
  }

  std::size_t most_bytes_;
  task_link link_;
  stream stream_;
  device_block device_;
  page_locked_block locked_;
  std::unique_ptr<std::byte[]> pageable_;
  array_copies<task_link> copies_;
};

/// Fills in the driver and the SM clock of a device as NVML sees them now; nothing without NVML.
inline void describe_now(on::device place, machine::environment& where) {
  auto const library = nvml::load();
  std::vector<std::string> ignored;
  where.driver = library.driver_version();
  where.sm_clock_mhz = library.ask(pci_bus_id(place), ignored).sm_clock_mhz;
}

}  // namespace detail

/// Measures the links and the wait of a device in less than 0.5 s. The device should be idle.
/// Allocates 64 MiB of each type of memory.
inline machine_terms measure_device_terms(on::device place, bool staged) {
  nvtx_range const scope{"measure device terms", category::measurement};
  require_device(place);
  device_guard const guard{place};
  detail::link_meter meter{place, std::size_t{64} << 20U};  // beyond most caches
  machine_terms found;
  found.sync = meter.sync();
  found.links = meter.measure({memory_type::pageable, memory_type::page_locked}, staged);
  return found;
}

/// Measures the wait and the links of page-locked memory in at most 200 ms. The device should be
/// idle. Allocates 16 MiB of each type of memory.
inline device_probe probe_device(on::device place) {
  nvtx_range const scope{"probe device", category::measurement};
  require_device(place);
  device_guard const guard{place};
  detail::link_meter meter{place, std::size_t{16} << 20U};
  device_probe found;
  found.machine.sync = meter.sync();
  found.machine.links = meter.measure({memory_type::page_locked}, false);
  machine::environment now;
  detail::describe_now(place, now);  // while the device is awake
  found.sm_clock_mhz = now.sm_clock_mhz;
  return found;
}

/// The measurements that a calibration keeps of a device.
struct device_terms {
  machine_terms machine;
  std::string driver;
  double sm_clock_mhz = 0;  ///< of the device while it worked; 0 where unknown
};

/// The terms of a device. The first call of the process measures them; calls of other threads wait
/// for it.
inline device_terms const& device_terms_of(on::device place, bool staged) {
  static std::mutex measuring;
  // Never destroyed: destructors of static objects may call.
  static auto& known = *new std::map<std::pair<int, bool>, device_terms>;
  std::lock_guard const lock{measuring};
  auto found = known.find({place.id, staged});
  if (found == known.end()) {
    device_terms made{.machine = measure_device_terms(place, staged), .driver = {}};
    machine::environment now;
    detail::describe_now(place, now);
    made.driver = now.driver;
    if (std::isfinite(now.sm_clock_mhz)) { made.sm_clock_mhz = now.sm_clock_mhz; }
    found = known.emplace(std::pair{place.id, staged}, std::move(made)).first;
  }
  return found->second;
}

}  // namespace assay::dispatch
