// SPDX-License-Identifier: Apache-2.0
/// @file
/// Timing jobs that cross the link, beside the least time that any transfer of them takes.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/stats/summary.hpp>
#include <assay/transfer/concepts.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// Host memory for measurements, with every page touched. The bytes differ, because a hypervisor
/// may share pages with equal contents.
class probe_memory {
 public:
  using kind = transfer::host_memory;

  probe_memory(kind what, std::size_t bytes) {
    if (what == kind::page_locked) {
      first_ = static_cast<std::byte*>(locked_.emplace(bytes).get());
    } else {
      pageable_.reset(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
      if (pageable_ == nullptr) { throw std::bad_alloc{}; }
      first_ = static_cast<std::byte*>(pageable_.get());
    }
    auto const mark = [this](std::int64_t begin, std::int64_t end) {
      for (auto at = begin; at < end; at += 64) {
        first_[at] = static_cast<std::byte>(random_bits(0, static_cast<std::uint64_t>(at)));
      }
    };
    host::parallel_for(host::all_threads(), static_cast<std::int64_t>(bytes), 1 << 20, mark);
  }

  std::byte* get() const noexcept { return first_; }

 private:
  struct deleter {
    void operator()(void* old) const noexcept { std::free(old); }
  };
  std::optional<page_locked_block> locked_;
  std::unique_ptr<void, deleter> pageable_;
  std::byte* first_ = nullptr;
};

/// A plain copy over the link.
struct link_copy {
  void* to = nullptr;
  void const* from = nullptr;
  std::size_t bytes = 0;
};

/// Seconds of each part of a job alone, with page-locked arrays.
struct transfer_bound {
  double to_device_seconds = 0;  ///< H, alone
  double kernel_seconds = 0;     ///< K, over arrays on the device
  double to_host_seconds = 0;    ///< D, alone
  double link_seconds = 0;       ///< both ways at once, to the later end

  /// B: the least time of any transfer of the job.
  double seconds() const noexcept { return std::max(link_seconds, kernel_seconds); }
  /// S: the parts one after another.
  double serial_seconds() const noexcept {
    return to_device_seconds + kernel_seconds + to_host_seconds;
  }
};

/// Runs jobs on a stream, and measures their bounds in device memory of its own.
class transfer_trial {
 public:
  struct times {
    double gpu = 0;   ///< between events around the job, enqueued on an idle stream
    double wall = 0;  ///< host time from the call until the stream has drained
  };

  /// Serves jobs with up to `device_bytes` in all arrays together.
  transfer_trial(on::device place, std::size_t device_bytes)
      : place_(place),
        stream_(place),
        other_(place),
        begin_(timed_event(place)),
        end_(timed_event(place)),
        other_end_(timed_event(place)),
        device_(place, device_bytes),
        gate_(place, gate_bytes),
        device_bytes_(device_bytes) {}

  stream const& where() const noexcept { return stream_; }

  /// Seconds from the common beginning to the end of all copies; each way has a stream. No schedule
  /// of smaller copies takes less.
  double copy_seconds(std::vector<link_copy> const& in, std::vector<link_copy> const& out) {
    device_guard const guard{place_};
    // Keeps the streams busy for 80 us, while the host enqueues the timed copies.
    enqueue(stream_, {{gate_.get(), gate_host_.get(), gate_bytes}});
    begin_.record(stream_);
    check(cudaStreamWaitEvent(other_.get(), begin_.get()));
    enqueue(stream_, in);
    end_.record(stream_);
    enqueue(other_, out);
    other_end_.record(other_);
    stream_.synchronize();
    other_.synchronize();
    return std::max(end_.seconds_since(begin_), other_end_.seconds_since(begin_));
  }

  /// Runs a job once by the engine of a transfer policy; blocks until it is done.
  template <class Engine, class Compute>
  times run(Engine& engine, transfer::job<Compute> const& what) {
    device_guard const guard{place_};
    auto const first = std::chrono::steady_clock::now();
    begin_.record(stream_);
    engine.run(stream_, what);
    end_.record(stream_);
    stream_.synchronize();
    auto const last = std::chrono::steady_clock::now();
    return {end_.seconds_since(begin_), std::chrono::duration<double>(last - first).count()};
  }

  /// Measures the bound of a job once. Its arrays must be page-locked; its outputs are overwritten.
  template <class Compute>
  transfer_bound bound(transfer::job<Compute> const& what) {
    device_guard const guard{place_};
    nvtx_range const scope{"bound", category::measurement};
    std::vector<link_copy> in, out;
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    std::size_t used = 0;
    auto const elements = static_cast<std::size_t>(what.elements);
    auto const room = [&](std::size_t element_bytes) {
      auto* const at = static_cast<std::byte*>(device_.get()) + used;
      used += (elements * element_bytes + 255) / 256 * 256;
      if (used <= device_bytes_) { return at; }
      throw std::invalid_argument("a job of " + std::to_string(used) +
                                  " bytes or more does not fit this trial's " +
                                  std::to_string(device_bytes_));
    };
    for (auto const& each : what.inputs) {
      in.push_back({room(each.element_bytes), each.data, elements * each.element_bytes});
      inputs.push_back(in.back().to);
    }
    for (auto const& each : what.outputs) {
      out.push_back({each.data, room(each.element_bytes), elements * each.element_bytes});
      outputs.push_back(const_cast<void*>(out.back().from));
    }
    transfer_bound found;
    found.to_device_seconds = copy_seconds(in, {});
    found.to_host_seconds = copy_seconds({}, out);
    found.link_seconds = copy_seconds(in, out);
    transfer::chunk const all{0, 0, what.elements, inputs, outputs};
    what.compute(stream_, all);  // the next one is enqueued while this one runs
    begin_.record(stream_);
    what.compute(stream_, all);
    end_.record(stream_);
    stream_.synchronize();
    found.kernel_seconds = end_.seconds_since(begin_);
    return found;
  }

 private:
  static constexpr std::size_t gate_bytes = std::size_t{4} << 20U;

  static event timed_event(on::device place) {
    device_guard const guard{place};
    return event{event::kind::timed};
  }
  static void enqueue(stream const& where, std::vector<link_copy> const& all) {
    for (auto const& each : all) {
      check(cudaMemcpyAsync(each.to, each.from, each.bytes, cudaMemcpyDefault, where.get()));
    }
  }

  on::device place_;
  stream stream_, other_;
  event begin_, end_, other_end_;
  device_block device_, gate_;
  page_locked_block gate_host_{gate_bytes};
  std::size_t device_bytes_;
};

/// The medians of several measurements of a bound, part by part.
inline transfer_bound median_of(std::vector<transfer_bound> const& all) {
  auto const middle = [&](double transfer_bound::*part) {
    std::vector<double> values;
    for (auto const& each : all) { values.push_back(each.*part); }
    return stats::summarise(std::move(values)).median;
  };
  if (all.empty()) { throw std::invalid_argument("the median of no bound"); }
  return {middle(&transfer_bound::to_device_seconds), middle(&transfer_bound::kernel_seconds),
          middle(&transfer_bound::to_host_seconds), middle(&transfer_bound::link_seconds)};
}

}  // namespace assay::benchmark
