// SPDX-License-Identifier: Apache-2.0
/// @file
/// Timing jobs that cross the link, beside the least time that any transfer of them takes. The
/// arrays of such jobs: filled, poisoned and checked in host memory.
#pragma once

#include "link_probe.hpp"

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/transfer/concepts.hpp>
#include <assay/workload/element_wise.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

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
        probe_(place),
        stream_(place),
        begin_(timed_event(place)),
        end_(timed_event(place)),
        device_(on_device(place, device_bytes)),
        device_bytes_(device_bytes) {}

  link_probe& probe() noexcept { return probe_; }
  stream const& where() const noexcept { return stream_; }

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
    std::vector<link_probe::copy> in, out;
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    std::size_t used = 0;
    auto const elements = static_cast<std::size_t>(what.elements);
    auto const room = [&](std::size_t element_bytes) {
      auto* const at = device_.get() + used;
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
    found.to_device_seconds = probe_.both_ways_whole(in, {});
    found.to_host_seconds = probe_.both_ways_whole({}, out);
    found.link_seconds = probe_.both_ways_whole(in, out);
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
  static event timed_event(on::device place) {
    device_guard const guard{place};
    return event{event::kind::timed};
  }
  static probe_memory on_device(on::device place, std::size_t bytes) {
    device_guard const guard{place};
    return probe_memory{probe_memory::kind::device, bytes};
  }

  on::device place_;
  link_probe probe_;
  stream stream_;
  event begin_, end_;
  probe_memory device_;
  std::size_t device_bytes_;
};

/// The medians of several measurements of a bound, part by part.
inline transfer_bound median_of(std::vector<transfer_bound> const& all) {
  auto const middle = [&](double transfer_bound::*part) {
    std::vector<double> values;
    for (auto const& each : all) { values.push_back(each.*part); }
    auto const at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  if (all.empty()) { throw std::invalid_argument("the median of no bound"); }
  return {middle(&transfer_bound::to_device_seconds), middle(&transfer_bound::kernel_seconds),
          middle(&transfer_bound::to_host_seconds), middle(&transfer_bound::link_seconds)};
}

/// The elements of a generated input, in host memory: for callers that keep arrays of their own.
template <workloads::element_wise Work>
void fill_input(Work const& work, std::size_t which, typename Work::value_type* to) {
  using value = typename Work::value_type;
  arrays::host_array_store{0}.fill_random(to, workloads::size_of(work.count()),
                                          arrays::erase(workloads::element_range<value>()),
                                          random_bits(work.seed, which));
}

/// Poisons `count` elements of an output in host memory.
template <class T>
void poison_elements(T* output, std::int64_t count) {
  arrays::host_array_store{0}.fill(output, workloads::element_poison<T>,
                                   workloads::size_of(count) * sizeof(T));
}

/// Compares elements [begin, end) of the output of a caller's own arrays with the reference.
/// Element `begin` is at `got`, and has number 0 in the text.
template <workloads::element_wise Work>
mismatch check_elements(Work const& work, typename Work::value_type const* got, std::int64_t begin,
                        std::int64_t end) {
  using value = typename Work::value_type;
  auto const wanted = workloads::expect_elements(
      work, [in = work.data->inputs, from = workloads::size_of(begin)](
                std::size_t k, std::size_t i) { return in[k][from + i]; });
  arrays::host_array_store store{0};
  return arrays::detail::expected_elements<value, decltype(wanted)>{
      workloads::size_of(end - begin), wanted, {}}
      .mismatch(store, got, workloads::element_poison<value>, 0, 1);
}

}  // namespace assay::examples
