// SPDX-License-Identifier: Apache-2.0
/// @file
/// `measure_link`: the costs of the link of this machine, for the plans of `transfer::overlapped`.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/stats/summary.hpp>
#include <assay/transfer/chunk_plan.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/schedule_executor.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::transfer {

namespace detail {

/// Lends the same block to every job.
struct lent_memory {
  void* block = nullptr;
  void* allocate(::cuda::stream_ref, std::size_t, std::size_t) const { return block; }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) const noexcept {}
};

/// Measures the link of the current device by events round copies of page-locked memory.
class link_benchmark {
 public:
  explicit link_benchmark(on::device place)
      : link_(place),
        host_in_(bytes),
        host_out_(bytes),
        device_(place, 2 * bytes),
        in_(place),
        out_(place),
        executor_(link_, {device_.get()}) {
    for (auto& each : marks_) { each = event{event::kind::timed}; }
  }

  link_costs measure() {
    link_costs found;
    found.to_device_bytes_per_second = rates(true, false).first;
    found.to_host_bytes_per_second = rates(false, true).second;
    std::tie(found.to_device_duplex_bytes_per_second, found.to_host_duplex_bytes_per_second) =
        rates(true, true);
    found.kernel_overhead_seconds = 2e-6;  // 1.6 to 3 us on H200s, and plans are flat in it
    // The cuts take turns, so that a drift of the clocks bends none of their times.
    std::map<int, std::vector<double>> gpu;
    std::vector<double> host;
    for (int round = 0; round < 11; ++round) {  // medians leave out the first, which makes streams
      for (int const chunks : {8, 12, 20, 32}) {  // from 7 on, all slots fit into the block
        auto const [seconds, enqueuing] = time_job(chunks);
        gpu[chunks].push_back(seconds);
        host.push_back(enqueuing / chunks);
      }
    }
    std::vector<std::pair<int, double>> cuts;
    for (auto const& [chunks, seconds] : gpu) { cuts.emplace_back(chunks, median(seconds)); }
    found.submit_seconds = median(host);
    fit_overheads(found, {bytes, bytes, elements}, slots, cuts);
    return found;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{32} << 20U;  ///< 0.6 ms at 55 GB/s
  static constexpr auto elements = static_cast<std::int64_t>(bytes / 4);
  static constexpr int slots = plan_limits{}.max_slots;

  void copy_in() { link_.copy(in_, device_.get(), host_in_.get(), bytes); }
  void copy_out() {
    link_.copy(out_, host_out_.get(), static_cast<std::byte*>(device_.get()) + bytes, bytes);
  }
  static double median(std::vector<double> const& of) { return stats::summarise(of).median; }

  /// Bytes per second to the device and to the host, one way or both at once: of the second copy.
  /// Four opposing copies cover it even if one direction is half as fast.
  std::pair<double, double> rates(bool to_device, bool to_host) {
    int const copies = to_device && to_host ? 4 : 2;
    std::vector<double> in, out;
    for (int repeat = 0; repeat < 5; ++repeat) {
      for (int i = 0; i < copies; ++i) {
        if (to_device) { copy_in(); }
        if (to_host) { copy_out(); }
        if (i > 1) { continue; }
        marks_[static_cast<std::size_t>(i)].record(in_);
        marks_[static_cast<std::size_t>(i) + 2].record(out_);
      }
      in_.synchronize();
      out_.synchronize();
      in.push_back(bytes / marks_[1].seconds_since(marks_[0]));
      out.push_back(bytes / marks_[3].seconds_since(marks_[2]));
    }
    return {median(in), median(out)};
  }

  /// Seconds of a job on the device, and of the host to enqueue it. The job copies both ways in so
  /// many equal chunks and computes next to nothing. It runs as every job does, with all events.
  std::pair<double, double> time_job(int chunks) {
    auto least = [](::cuda::stream_ref on, chunk const& part) {
      check(cudaMemsetAsync(part.output<std::byte>(0), 0, sizeof(int), on.get()));
    };
    job<decltype(least)> const what{
        elements, 1, {{host_in_.get(), 4}}, {{host_out_.get(), 4}}, least};
    auto const plan = compile(equal_chunks(elements, 1, chunks), slots, true, true);
    marks_[0].record(in_);
    auto const asked = std::chrono::steady_clock::now();
    executor_.run(in_, what, arrays_of(link_, what), false, plan);
    std::chrono::duration<double> const enqueuing = std::chrono::steady_clock::now() - asked;
    marks_[1].record(in_);
    in_.synchronize();
    return {marks_[1].seconds_since(marks_[0]), enqueuing.count()};
  }

  cuda_link link_;
  page_locked_block host_in_, host_out_;
  device_block device_;
  stream in_, out_;
  std::array<event, 4> marks_;
  schedule_executor<cuda_link, lent_memory> executor_;
};

}  // namespace detail

/// Measures the costs of a device's link anew, in less than 0.15 s. A third of this time page-locks
/// 64 MiB. The device should be idle.
inline link_costs measure_link(on::device place) {
  nvtx_range const scope{"measure link", category::measurement};
  device_guard const current{place};
  return detail::link_benchmark{place}.measure();
}

/// The costs of a device's link. The first call of the process measures them; calls of other
/// threads wait for it.
inline link_costs const& link_costs_of(on::device place) {
  static std::mutex measuring;
  static std::map<int, link_costs> known;
  std::lock_guard const lock{measuring};
  if (!known.contains(place.id)) { known.emplace(place.id, measure_link(place)); }
  return known.at(place.id);
}

}  // namespace assay::transfer
