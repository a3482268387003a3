// SPDX-License-Identifier: Apache-2.0
/// @file
/// What else a chunked transfer could do: each idea measured alone, on the buffers of the
/// benchmark.
#pragma once

#include <assay/machine/transfer_trial.hpp>
#include <assay/report/json.hpp>
#include <assay/stats/summary.hpp>
#include <assay/transfer/courier.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlap_cuts.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// Runs jobs by one route, whatever a policy would have picked.
template <class Memory>
struct routed_engine {
  transfer::courier<transfer::cuda_link, Memory>& carrier;
  transfer::route by;

  template <class Compute>
  void run(::cuda::stream_ref stream, transfer::job<Compute> const& what) {
    carrier.run(stream, what, transfer::arrays_of(carrier.link(), what), false, by);
  }
};

/// Medians, in turn, of chunks that are equal or grow all the way, each with the first chunk in the
/// stream of its engine or in the caller's.
template <class Memory, class Job>
report::document probe_cuts(machine::transfer_trial& trial, Memory const& memory, on::device place,
                            Job const& what, int repetitions) {
  using engine_type = routed_engine<Memory>;
  transfer::courier<transfer::cuda_link, Memory> carrier{transfer::cuda_link{place}, memory};
  struct row {
    int chunks;
    double growth;
    bool led;
    engine_type engine;
    std::vector<double> seconds{};
  };
  auto const bytes =
      static_cast<double>(what.elements) * static_cast<double>(what.inputs.front().element_bytes);
  // Round the count that costs least at 3.5 us a chunk.
  auto const middle = std::sqrt(bytes / 55e9 / 3.5e-6);
  std::vector<row> rows;
  for (double const scale : {0.7, 0.85, 1.0, 1.2}) {
    for (double const growth : {1.0, 1.03, 1.05, 1.08, 1.12}) {
      for (bool const led : {false, true}) {
        auto const chunks = std::max(2, static_cast<int>(std::lround(scale * middle)));
        transfer::cutting cut{
            transfer::ramped_chunks(what.elements, 1024, chunks, {chunks - 1, growth, 0, 1}), 6,
            led ? transfer::deal::led_by_caller : transfer::deal::by_engine};
        rows.push_back(
            {chunks, growth, led, {carrier, transfer::route_of(std::move(cut), true, true)}});
      }
    }
  }
  std::vector<double> bounds;
  for (int i = 0; i < repetitions + 1; ++i) {
    for (auto& each : rows) {
      auto const seconds = trial.run(each.engine, what).gpu;
      if (i > 0) { each.seconds.push_back(seconds); }
    }
    bounds.push_back(trial.bound(what).seconds());
  }
  auto const bound = stats::summarise(bounds).median;
  report::document result{{"what", "cuts"}, {"bytes", bytes}, {"bound_seconds", bound}};
  for (auto const& each : rows) {
    auto const seconds = stats::summarise(each.seconds).median;
    result["rows"].push_back({{"chunks", each.chunks},
                              {"growth", each.growth},
                              {"led_by_caller", each.led},
                              {"seconds", seconds},
                              {"share_of_bound", bound / seconds}});
    std::printf("probe cuts   %6.0f MiB  %3d chunks growing %.2fx%s: %.1f %%\n", bytes / 0x1p20,
                each.chunks, each.growth, each.led ? ", led" : "     ", 100 * bound / seconds);
  }
  std::fflush(stdout);
  return result;
}

/// Seconds that a copy costs beside its bytes: sixteen in a stream, each as a call or all as one
/// batch, one way and both ways at once.
inline report::document probe_copies(machine::transfer_trial& trial, std::byte* host_in,
                                     std::byte* host_out, std::size_t bytes, int repetitions) {
  constexpr std::size_t parts = 16;
  auto const place = trial.probe().place();
  device_guard const current{place};
  transfer::device_block const device_in{place, bytes};
  transfer::device_block const device_out{place, bytes};
  stream const in{place};
  stream const out{place};
  event gate{event::kind::ordering};
  event begin{event::kind::timed};
  event in_end{event::kind::timed};
  event out_end{event::kind::timed};
  auto const enqueue = [&](stream const& on, void* to, void const* from, std::size_t count,
                           bool batched) {
    auto const part = bytes / count;
    std::vector<void*> tos;
    std::vector<void const*> froms;
    std::vector<std::size_t> sizes(count, part);
    for (std::size_t i = 0; i < count; ++i) {
      tos.push_back(static_cast<std::byte*>(to) + i * part);
      froms.push_back(static_cast<std::byte const*>(from) + i * part);
    }
    if (batched) {
      cudaMemcpyAttributes how{};
      how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
      std::size_t first = 0;
      check(cudaMemcpyBatchAsync(tos.data(), froms.data(), sizes.data(), count, &how, &first, 1,
                                 on.get()));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      check(cudaMemcpyAsync(tos[i], froms[i], part, cudaMemcpyDefault, on.get()));
    }
  };
  /// Seconds until the later of the directions asked for is done.
  auto const time = [&](bool to_device, bool to_host, std::size_t count, bool batched) {
    std::vector<double> all;
    for (int i = 0; i < repetitions; ++i) {
      for (int k = 0; k < 2; ++k) {  // keeps the streams busy while the rest is enqueued
        check(cudaMemcpyAsync(device_in.get(), host_in, bytes, cudaMemcpyDefault, in.get()));
      }
      begin.record(in);
      gate.record(in);
      check(cudaStreamWaitEvent(out.get(), gate.get(), 0));
      if (to_device) { enqueue(in, device_in.get(), host_in, count, batched); }
      if (to_host) { enqueue(out, host_out, device_out.get(), count, batched); }
      in_end.record(in);
      out_end.record(out);
      in.synchronize();
      out.synchronize();
      auto const in_seconds = to_device ? in_end.seconds_since(begin) : 0.0;
      auto const out_seconds = to_host ? out_end.seconds_since(begin) : 0.0;
      all.push_back(std::max(in_seconds, out_seconds));
    }
    return stats::summarise(all).median;
  };
  report::document result{{"what", "copies"}, {"bytes", bytes}, {"copies", parts}};
  for (auto const& [name, to_device, to_host] :
       {std::tuple{"to_device", true, false}, {"to_host", false, true}, {"both", true, true}}) {
    auto const whole = time(to_device, to_host, 1, false);
    auto const calls = (time(to_device, to_host, parts, false) - whole) / (parts - 1);
    auto const batch = (time(to_device, to_host, parts, true) - whole) / (parts - 1);
    result["rows"].push_back(
        {{"direction", name}, {"call_seconds", calls}, {"batch_seconds", batch}});
    std::printf("probe copies %s: %.2f us more for each call, %.2f us in a batch\n", name,
                calls * 1e6, batch * 1e6);
  }
  std::fflush(stdout);
  return result;
}

/// Seconds of a hand-over from one stream to another and back, with a small copy each way between:
/// by events, and by values that streams write and wait for.
inline report::document probe_waits(on::device place, int repetitions) {
  using value_function = int(cudaStream_t, std::uintptr_t, std::uint32_t, unsigned);
  auto const entry = [](char const* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how{};
    check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &how));
    if (found == nullptr) { throw std::runtime_error(std::string{"no "} + name + " here"); }
    return reinterpret_cast<value_function*>(found);
  };
  device_guard const current{place};
  auto* const write = entry("cuStreamWriteValue32");
  auto* const wait = entry("cuStreamWaitValue32");
  constexpr int rounds = 32;
  constexpr std::size_t bytes = 4096;
  transfer::device_block const device{place, 2 * bytes};
  transfer::device_block const flag{place, 256};
  transfer::page_locked_block const host{2 * bytes + (std::size_t{8} << 20U)};
  transfer::device_block const busy{place, std::size_t{8} << 20U};
  check(cudaMemset(flag.get(), 0, 256));
  check(cudaDeviceSynchronize());
  stream const in{place};
  stream const out{place};
  event begin{event::kind::timed};
  event end{event::kind::timed};
  std::vector<event> marks;
  for (int i = 0; i < 2 * rounds; ++i) { marks.emplace_back(event::kind::ordering); }
  auto const at = reinterpret_cast<std::uintptr_t>(flag.get());
  std::uint32_t number = 0;
  auto const once = [&](bool by_value) {
    check(cudaMemcpyAsync(busy.get(), host.get(), std::size_t{8} << 20U, cudaMemcpyDefault,
                          in.get()));
    begin.record(in);
    auto const hand_over = [&](stream const& from, stream const& to, event& mark) {
      ++number;
      if (!by_value) {
        mark.record(from);
        check(cudaStreamWaitEvent(to.get(), mark.get(), 0));
      } else if (write(from.get(), at, number, 0) != 0 || wait(to.get(), at, number, 0) != 0) {
        throw std::runtime_error("a stream cannot write or wait for values here");
      }
    };
    for (int i = 0; i < rounds; ++i) {
      auto const which = static_cast<std::size_t>(2 * i);
      check(cudaMemcpyAsync(device.get(), host.get(), bytes, cudaMemcpyDefault, in.get()));
      hand_over(in, out, marks[which]);
      check(cudaMemcpyAsync(static_cast<std::byte*>(host.get()) + bytes, device.get(), bytes,
                            cudaMemcpyDefault, out.get()));
      hand_over(out, in, marks[which + 1]);
    }
    end.record(in);
    in.synchronize();
    out.synchronize();
    return end.seconds_since(begin) / rounds;
  };
  std::vector<double> by_event, by_value;
  for (int i = 0; i < repetitions + 1; ++i) {
    auto const a = once(false);
    auto const b = once(true);
    if (i == 0) { continue; }
    by_event.push_back(a);
    by_value.push_back(b);
  }
  auto const events = stats::summarise(by_event).median;
  auto const values = stats::summarise(by_value).median;
  std::printf("probe waits  there and back by events %.2f us, by values %.2f us\n", events * 1e6,
              values * 1e6);
  std::fflush(stdout);
  return {{"what", "waits"}, {"event_seconds", events}, {"value_seconds", values}};
}

/// No copies at all: the kernel's own loads and stores over the link.
template <class Memory, class Job>
report::document probe_mapped(machine::transfer_trial& trial, Memory const& memory,
                              on::device place, Job const& what, int repetitions) {
  auto engine = transfer::mapped{}.open(place, memory);
  std::vector<double> seconds, bounds;
  for (int i = 0; i < repetitions + 1; ++i) {
    auto const once = trial.run(engine, what).gpu;
    if (i > 0) { seconds.push_back(once); }
    bounds.push_back(trial.bound(what).seconds());
  }
  auto const bytes =
      static_cast<double>(what.elements) * static_cast<double>(what.inputs.front().element_bytes);
  auto const share = stats::summarise(bounds).median / stats::summarise(seconds).median;
  std::printf("probe mapped %6.0f MiB: %.1f %%\n", bytes / 0x1p20, 100 * share);
  std::fflush(stdout);
  return {{"what", "mapped"},
          {"bytes", bytes},
          {"seconds", stats::summarise(seconds).median},
          {"share_of_bound", share}};
}

}  // namespace assay::benchmark
