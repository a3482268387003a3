// SPDX-License-Identifier: Apache-2.0
/// @file
/// `measure_link`: the costs of the link of this machine, for the plans of `transfer::overlapped`.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/transfer/chunk_plan.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/link_fit.hpp>
#include <assay/transfer/schedule_executor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace assay::transfer {

namespace detail {

/// Lends the same blocks to every job, in turn.
struct lent_memory {
  std::array<void*, 2> blocks{};
  std::size_t block_bytes = 0;
  int taken = 0;
  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t) {
    if (bytes > block_bytes) { throw std::bad_alloc{}; }
    return blocks[static_cast<std::size_t>(taken++ % 2)];
  }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
};

/// Gives the compute engine the least work.
struct least_kernel {
  void operator()(::cuda::stream_ref on, chunk const& part) const {
    check(cudaMemsetAsync(part.output<std::byte>(0), 0, sizeof(int), on.get()));
  }
};

/// Measures the link of the current device by events round copies of page-locked memory.
template <class Link>
class link_benchmark {
 public:
  explicit link_benchmark(on::device place)
      : link_(place),
        host_in_(bytes),
        host_out_(bytes),
        device_in_(place, bytes),
        device_out_(place, bytes),
        caller_(place),
        in_(place),
        out_(place),
        executor_(link_, {{device_in_.get(), device_out_.get()}, bytes}) {
    for (auto* each : {&begin_, &end_}) { *each = link_.make_event(Link::timed); }
    copy_in(bytes);  // wakes both engines
    copy_out(bytes);
    synchronize();
  }

  link_costs measure() {
    link_costs found;
    auto const in = line([&](std::size_t count) { copy_in(count); }, in_);
    auto const out = line([&](std::size_t count) { copy_out(count); }, out_);
    found.to_device_bytes_per_second = in.bytes_per_second;
    found.to_host_bytes_per_second = out.bytes_per_second;
    auto const [to_device, to_host] = duplex();
    found.to_device_duplex_bytes_per_second = bytes / (to_device - in.overhead_seconds);
    found.to_host_duplex_bytes_per_second = bytes / (to_host - out.overhead_seconds);
    found.kernel_overhead_seconds = launch_cost();
    measure_cuts(found);
    return found;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{32} << 20U;  ///< 0.6 ms at 55 GB/s
  static constexpr auto elements = static_cast<std::int64_t>(bytes / 4);
  static constexpr int slots = plan_limits{}.max_slots;
  static constexpr int repeats = 3;  ///< the fastest counts, since disturbances only slow
  /// Rounds over all cuts: the cuts take turns, so that a drift of the clocks bends none of them.
  static constexpr int rounds = 9;

  void copy_in(std::size_t count) { link_.copy(in_, device_in_.get(), host_in_.get(), count); }
  void copy_out(std::size_t count) { link_.copy(out_, host_out_.get(), device_out_.get(), count); }
  void synchronize() {
    for (auto const* each : {&in_, &out_, &caller_}) { each->synchronize(); }
  }

  /// One direction alone, by the fastest copies of two sizes.
  template <class Copy>
  copy_line line(Copy const& copy, stream const& where) {
    auto const fastest = [&](std::size_t count) {
      double seconds = 1e9;
      for (int i = 0; i < repeats; ++i) {
        begin_.record(where);
        copy(count);
        end_.record(where);
        synchronize();
        seconds = std::min(seconds, end_.seconds_since(begin_));
      }
      return seconds;
    };
    constexpr auto part = bytes / 16;
    return line_through(part, fastest(part), bytes, fastest(bytes));
  }

  /// Times cuts from a few large chunks to many small ones, and fits what a chunk costs.
  void measure_cuts(link_costs& found) {
    constexpr std::array counts{8, 12, 20, 32};  // from 7 on, all slots fit into the blocks
    std::array<std::vector<double>, counts.size()> gpu;
    std::vector<double> host;
    for (int round = -1; round < rounds; ++round) {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        auto const seen = whole(counts[i]);
        if (round < 0) { continue; }  // the first round makes streams, events and schedules
        gpu[i].push_back(seen.gpu);
        host.push_back(seen.host / counts[i]);
      }
    }
    std::vector<timed_cut> cuts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      cuts.push_back(median_cut(counts[i], std::move(gpu[i])));
    }
    found.submit_seconds = median_cut(1, std::move(host)).seconds;
    fit_overheads(found, {bytes, bytes, elements}, slots, cuts);
  }

  /// Seconds of a copy each way while the other direction is busy: the second copy of four, which
  /// the opposing four cover even if one direction is half as fast.
  std::pair<double, double> duplex() {
    std::array<event, 4> marks{link_.make_event(Link::timed), link_.make_event(Link::timed),
                               link_.make_event(Link::timed), link_.make_event(Link::timed)};
    std::vector<double> in, out;
    for (int repeat = 0; repeat < 2 * repeats - 1; ++repeat) {
      for (int i = 0; i < 4; ++i) {
        copy_in(bytes);
        copy_out(bytes);
        if (i > 1) { continue; }
        marks[static_cast<std::size_t>(i)].record(in_);
        marks[static_cast<std::size_t>(i) + 2].record(out_);
      }
      synchronize();
      in.push_back(marks[1].seconds_since(marks[0]));
      out.push_back(marks[3].seconds_since(marks[2]));
    }
    return {median_cut(1, std::move(in)).seconds, median_cut(1, std::move(out)).seconds};
  }

  /// Seconds from one launch in a queue to the next.
  double launch_cost() {
    constexpr int launches = 64;
    auto mark = link_.make_event();
    void* const at = device_out_.get();
    chunk const part{0, 0, 1, {}, std::span{&at, 1}};
    double fastest = 1e9;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      copy_in(bytes);  // keeps the stream busy until all launches are enqueued
      begin_.record(in_);
      for (int i = 0; i < launches; ++i) {
        least_kernel{}(in_, part);
        mark.record(in_);
      }
      end_.record(in_);
      synchronize();
      fastest = std::min(fastest, end_.seconds_since(begin_) / launches);
    }
    return fastest;
  }

  struct times {
    double gpu = 0;   ///< between events of the caller's stream
    double host = 0;  ///< the host's time to enqueue the job
  };

  /// Times a job in so many equal chunks that copies both ways and computes next to nothing. It
  /// runs as every job does, with all events.
  times whole(int chunks) {
    job<least_kernel> const what{elements, 1, {{host_in_.get(), 4}}, {{host_out_.get(), 4}}};
    auto found = schedules_.find(chunks);
    if (found == schedules_.end()) {
      chunking cut{equal_chunks(elements, 1, chunks), slots};
      found = schedules_.emplace(chunks, compile(std::move(cut), true, true)).first;
    }
    begin_.record(caller_);
    auto const asked = std::chrono::steady_clock::now();
    executor_.run(caller_, what, arrays_of(link_, what), false, found->second);
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - asked;
    end_.record(caller_);
    synchronize();
    return {end_.seconds_since(begin_), spent.count()};
  }

  Link link_;
  page_locked_block host_in_, host_out_;
  device_block device_in_, device_out_;
  stream caller_, in_, out_;
  event begin_, end_;
  std::map<int, compiled_schedule> schedules_;
  schedule_executor<Link, lent_memory> executor_;
};

}  // namespace detail

/// Measures the costs of a device's link anew, in less than 0.15 s. A third of this time page-locks
/// 64 MiB. The device should be idle; a measurement that looks disturbed is repeated twice at most.
template <class Link = cuda_link>
link_costs measure_link(on::device place) {
  nvtx_range const scope{"measure link", category::measurement};
  device_guard const current{place};
  detail::link_benchmark<Link> benchmark{place};
  return steadiest_costs(3, [&] { return benchmark.measure(); });
}

/// The costs of a device's link. The first call of the process measures them; calls of other
/// threads wait for it.
template <class Link = cuda_link>
link_costs const& link_costs_of(on::device place) {
  static std::mutex measuring;
  static std::map<int, link_costs> known;
  std::lock_guard const lock{measuring};
  auto found = known.find(place.id);
  if (found == known.end()) { found = known.emplace(place.id, measure_link<Link>(place)).first; }
  return found->second;
}

}  // namespace assay::transfer
