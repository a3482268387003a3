// SPDX-License-Identifier: Apache-2.0
// How near do transfers come to the capacity of the link? Each runs beside its peer, on the same
// buffers. Chunked transfers: the bound is the larger time of both directions at once and of the
// kernel. Picked chunks: every other number of chunks and streams, and four streams of equal
// chunks. Staged transfers: plain pageable copies. Pinned transfers: one cudaMemcpyAsync. Predicts:
// 97 % of the bound from 512 MiB each way, 95, 90 and 82 % at 256, 64 and 16 MiB. The picked chunks
// are within 3 % of the best of the grid, and reach 1.10x and 1.03x the four streams at 64 MiB and
// 1 GiB. Staged transfers reach 90 % of the host's own copies, 2.5x pageable to the device and 1.3x
// to the host.

#include "../examples/workloads/iterated_map.cuh"
#include "support/host_elements.hpp"
#include "support/link_ceilings.hpp"
#include "support/link_json.hpp"
#include "support/multi_stream.hpp"
#include "support/result.hpp"
#include "support/transfer_trial.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/pool.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>
#include <assay/workload/vector_add.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::literals;

using benchmark::probe_memory;

/// Nothing to compute: the job is its copies.
struct nothing {
  void operator()(::cuda::stream_ref, transfer::chunk const&) const {}
};

/// Buffers and instruments that all measurements share, so that little time goes to pinning.
struct bench {
  on::device place;
  std::size_t most;  ///< bytes each way
  probe_memory locked_in{probe_memory::kind::page_locked, most};
  probe_memory locked_out{probe_memory::kind::page_locked, most};
  probe_memory pageable_in{probe_memory::kind::pageable, most};
  probe_memory pageable_out{probe_memory::kind::pageable, most};
  benchmark::transfer_trial trial{place, 2 * most + (1 << 20)};
  /// Room for the buffers of all transfers at once: growth would be timed with them.
  mr::pool_resource memory = mr::pool{6 * most + 64_MiB}.open(place);

  bench(on::device where, std::size_t bytes) : place(where), most(bytes) {
    // Random floats in [-1, 1): the probe's own pattern is no set of numbers.
    workloads::iterated_map<float> source;
    source.elements = static_cast<std::int64_t>(most / sizeof(float));
    benchmark::fill_input(source, 0, floats(locked_in));
  }

  static float* floats(probe_memory const& of) { return reinterpret_cast<float*>(of.get()); }

  /// A map of so many bytes each way, in page-locked memory.
  workloads::iterated_map<float> map(std::size_t bytes, int flops = 2) const {
    auto const elements = static_cast<std::int64_t>(bytes / sizeof(float));
    return {.elements = elements,
            .flops_per_element = flops,
            .data = workloads::arrays_view<float, 1>{
                {floats(locked_in)}, elements, floats(locked_out)}};
  }
  /// A sum of so many bytes to the host, and twice as many to the device.
  workloads::vector_add<float> sum(std::size_t bytes) const {
    auto const elements = static_cast<std::int64_t>(bytes / sizeof(float));
    return {.elements = elements,
            .data = workloads::arrays_view<float, 2>{
                {floats(locked_in), floats(locked_in) + elements}, elements, floats(locked_out)}};
  }
  template <class Work>
  auto job(Work const& work) const {
    return workloads::job_of(work, place, work.data->inputs, work.data->output);
  }

  /// Throws unless the engine's result is right in its first elements (all, if few enough).
  template <class Engine, class Work>
  void require_right(Engine& engine, Work const& work, std::int64_t checked) {
    auto* const out = work.data->output;
    benchmark::poison_elements(out, work.count());
    for (int i = 0; i < 3; ++i) { (void)trial.run(engine, job(work)); }
    auto const end = std::min(work.count(), checked);
    if (auto const wrong = benchmark::check_elements(work, out, 0, end)) {
      throw std::runtime_error(*wrong);
    }
    auto const tail = std::max<std::int64_t>(end, work.count() - 4096);
    if (auto const wrong = benchmark::check_elements(work, out + tail, tail, work.count())) {
      throw std::runtime_error(*wrong);
    }
  }
};

std::string mib(std::size_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

report::document told(std::string const& name, std::vector<double> const& seconds) {
  auto const all = stats::summarise(seconds);
  return {{name + "_seconds", all.median},
          {name + "_min_seconds", all.min},
          {name + "_max_seconds", all.max}};
}

double median(std::vector<double> const& of) { return stats::summarise(of).median; }

/// B / (B + 2 sqrt((S - B) a)): the share that equal chunks can reach where each costs `a`.
double closed_form_share(benchmark::transfer_bound const& of, double chunk_seconds) {
  auto const fill = std::max(0.0, of.serial_seconds() - of.seconds());
  return of.seconds() / (of.seconds() + 2 * std::sqrt(fill * chunk_seconds));
}

struct grid_cell {
  int chunks = 1, streams = 1;
  double seconds = 0;
};

/// a: what a copy costs beside its bytes in a full pipeline, by the least-squares line through the
/// times of equal chunks, less the times that T(N) has without it.
double copy_seconds_of(std::vector<grid_cell> const& cells, double bytes,
                       benchmark::link_ceilings const& link) {
  auto const serial = bytes / link.to_device + bytes / link.to_host;
  auto const busy = 2 * bytes / link.duplex();
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (auto const& each : cells) {
    if (each.streams != 6 || each.chunks < 8 || each.chunks > 32) { continue; }
    double const n = each.chunks;
    auto const x = n + 2, y = each.seconds - serial / n - (1 - 1 / n) * busy;
    ++count;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  return (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
}

/// One workload by the picked plan and by four streams of equal chunks, beside its bound.
template <class Work>
report::document one_size(bench& with, std::string const& shape, Work const& work,
                          int repetitions) {
  // Long checks on the host are limited to the first and the last elements.
  constexpr auto most_checked = std::int64_t{1} << 22;
  auto const checked = shape == "kernel-bound" ? std::int64_t{1} << 16 : most_checked;
  auto picked = transfer::overlapped{}.open(with.place, with.memory);
  benchmark::multi_stream peer{with.place, with.memory};
  with.require_right(picked, work, checked);
  with.require_right(peer, work, checked);
  auto const job = with.job(work);
  std::vector<double> ours, theirs, wall;
  std::vector<benchmark::transfer_bound> bounds;
  for (int i = 0; i < repetitions; ++i) {
    auto const seen = with.trial.run(picked, job);
    ours.push_back(seen.gpu);
    wall.push_back(seen.wall);
    theirs.push_back(with.trial.run(peer, job).gpu);
    bounds.push_back(with.trial.bound(job));
  }
  // As in a program that does nothing else, with all that the host needs in its caches.
  std::vector<double> repeated;
  for (int i = 0; i < repetitions; ++i) { repeated.push_back(with.trial.run(picked, job).gpu); }
  auto const bound = benchmark::median_of(bounds);
  auto const moved = work.item_traffic();
  auto const& plan = picked.plan();
  // A chunk costs the stage that takes longest a copy of each input, or a launch.
  auto const copies = bound.kernel_seconds >= bound.link_seconds ? 1.0 : job.inputs.size();
  auto const chunk_seconds = transfer::link_costs{}.copy_seconds * static_cast<double>(copies);
  auto const share = bound.seconds() / median(ours);
  auto result = report::document{{"shape", shape},
                                 {"bytes_to_device", moved.to_device_bytes},
                                 {"bytes_to_host", moved.to_host_bytes},
                                 {"mib_to_host", moved.to_host_bytes / 0x1p20},
                                 {"repetitions", repetitions}};
  result.update(told("overlapped", ours));
  result.update(told("overlapped_wall", wall));
  result.update(told("repeated", repeated));
  result.update(told("textbook", theirs));
  result.update(report::document{{"repeated_share_of_bound", bound.seconds() / median(repeated)},
                                 {"link_seconds", bound.link_seconds},
                                 {"kernel_seconds", bound.kernel_seconds},
                                 {"serial_seconds", bound.serial_seconds()},
                                 {"bound_seconds", bound.seconds()},
                                 {"share_of_bound", share},
                                 {"chunk_seconds", chunk_seconds},
                                 {"closed_form_share", closed_form_share(bound, chunk_seconds)},
                                 {"over_textbook", median(theirs) / median(ours)},
                                 {"chunks", plan.chunks.size()},
                                 {"slots", plan.slots},
                                 {"why", plan.why}});
  std::printf(
      "%-12s %9s  %9.3f ms, %5.1f %% of the bound (%.3f ms; run after run: %.1f %%; equal chunks, "
      "by the closed form: %.1f %%), %.3fx four streams; %s\n",
      shape.c_str(), mib(static_cast<std::size_t>(moved.to_host_bytes)).c_str(), median(ours) * 1e3,
      100 * share, bound.seconds() * 1e3, 100 * bound.seconds() / median(repeated),
      100 * closed_form_share(bound, chunk_seconds), median(theirs) / median(ours),
      plan.why.c_str());
  std::fflush(stdout);
  return result;
}

/// The time of ours over the time of the fastest rival: the median of the ratios of runs that
/// followed each other. A host's memory may give some percent more or less for a second.
double over_best(std::vector<double> const& ours, std::vector<std::vector<double>> const& rivals) {
  double most = 0;
  for (auto const& theirs : rivals) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) { ratios.push_back(ours[i] / theirs[i]); }
    most = std::max(most, median(ratios));
  }
  return most;
}

/// Every choice of chunks and streams at one size, then the five fastest again beside the pick.
report::document grid(bench& with, benchmark::link_ceilings const& link, std::size_t bytes,
                      int repetitions, bool quick) {
  auto const job = with.job(with.map(bytes));
  auto const open = [&](int chunks, int streams) {
    return transfer::overlapped{.chunks = chunks, .streams = streams}.open(with.place, with.memory);
  };
  std::vector<grid_cell> cells;
  for (int const chunks : {1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128}) {
    for (int const streams : {1, 2, 3, 4, 6}) {
      if (quick && (chunks % 4 != 0 || streams % 3 != 0)) { continue; }
      if (streams > chunks) { continue; }
      auto engine = open(chunks, streams);
      (void)with.trial.run(engine, job);
      std::vector<double> seconds;
      for (int i = 0; i < repetitions; ++i) { seconds.push_back(with.trial.run(engine, job).gpu); }
      cells.push_back({chunks, streams, median(seconds)});
    }
  }
  auto const by_time = [](grid_cell const& a, grid_cell const& b) { return a.seconds < b.seconds; };
  auto fastest = cells;
  std::sort(fastest.begin(), fastest.end(), by_time);
  fastest.resize(std::min<std::size_t>(fastest.size(), 5));

  // The fastest of many is partly the luckiest: they are measured again, in turn with the pick.
  auto picked = transfer::overlapped{}.open(with.place, with.memory);
  with.require_right(picked, with.map(bytes), 1 << 20);
  std::vector<decltype(picked)> engines;
  for (auto const& each : fastest) { engines.push_back(open(each.chunks, each.streams)); }
  std::vector<double> ours;
  std::vector<std::vector<double>> theirs(engines.size());
  for (int i = 0; i < 12 * repetitions + 1; ++i) {
    auto const seconds = with.trial.run(picked, job).gpu;
    if (i > 0) { ours.push_back(seconds); }
    for (std::size_t k = 0; k < engines.size(); ++k) {
      auto const other = with.trial.run(engines[k], job).gpu;
      if (i > 0) { theirs[k].push_back(other); }
    }
  }
  for (std::size_t k = 0; k < engines.size(); ++k) { fastest[k].seconds = median(theirs[k]); }
  auto const best = *std::min_element(fastest.begin(), fastest.end(), by_time);
  auto const picked_over_best = over_best(ours, theirs);
  auto const copy_seconds = copy_seconds_of(cells, static_cast<double>(bytes), link);
  auto all = report::document::array();
  for (auto const& each : cells) {
    all.push_back({{"chunks", each.chunks}, {"streams", each.streams}, {"seconds", each.seconds}});
  }
  report::document result{{"mib", bytes >> 20U},
                          {"bytes", bytes},
                          {"best_chunks", best.chunks},
                          {"best_streams", best.streams},
                          {"best_seconds", best.seconds}};
  result.update(told("picked", ours));
  result.update(report::document{{"picked_chunks", picked.plan().chunks.size()},
                                 {"picked_slots", picked.plan().slots},
                                 {"picked_over_best", picked_over_best},
                                 {"copy_seconds", copy_seconds},
                                 {"cells", all}});
  std::printf(
      "grid         %9s  best %d chunks, %d streams: %.3f ms; picked: %.3f ms, %+.2f %%; a copy "
      "costs %.2f us\n",
      mib(bytes).c_str(), best.chunks, best.streams, best.seconds * 1e3, median(ours) * 1e3,
      100 * (picked_over_best - 1), copy_seconds * 1e6);
  std::fflush(stdout);
  return result;
}

transfer::job<nothing> one_way(std::byte* host, std::size_t bytes, bool to_device) {
  transfer::job<nothing> job;
  job.elements = static_cast<std::int64_t>(bytes / 16);
  if (to_device) { job.inputs.push_back({host, 16}); }
  if (!to_device) { job.outputs.push_back({host, 16}); }
  return job;
}

/// One direction from or into pageable memory: staged, by the driver, and what limits: the pinned
/// link and a copy on the host by as many threads.
report::document staging(bench& with, std::size_t bytes, bool to_device, int repetitions) {
  auto const& pageable = to_device ? with.pageable_in : with.pageable_out;
  auto const& locked = to_device ? with.locked_in : with.locked_out;
  transfer::staged const how;
  auto const threads = how.bounce().resolved().threads;
  auto staged = how.open(with.place, with.memory);
  auto plain = transfer::pageable{}.open(with.place, with.memory);
  auto direct = transfer::pinned{}.open(with.place, with.memory);
  auto const job = one_way(pageable.get(), bytes, to_device);
  auto const locked_job = one_way(locked.get(), bytes, to_device);
  std::vector<double> ours, theirs, link, host;
  for (int i = 0; i < repetitions + 1; ++i) {
    auto const a = with.trial.run(staged, job).wall;
    auto const b = with.trial.run(plain, job).wall;
    auto const c = with.trial.run(direct, locked_job).gpu;
    auto const d = benchmark::host_seconds([&] {
      auto* const to = to_device ? locked.get() : pageable.get();
      auto const* const from = to_device ? pageable.get() : locked.get();
      benchmark::parallel_copy(threads, to, from, bytes);
    });
    if (i == 0) { continue; }  // buffers, threads and pools come to life
    ours.push_back(a);
    theirs.push_back(b);
    link.push_back(c);
    host.push_back(d);
  }
  auto const limit = std::max(median(link), median(host));
  auto const rate = [&](std::vector<double> const& of) {
    return static_cast<double>(bytes) / median(of);
  };
  report::document result{{"direction", to_device ? "to_device" : "to_host"},
                          {"mib", bytes >> 20U},
                          {"threads", threads},
                          {"repetitions", repetitions}};
  result.update(told("staged", ours));
  result.update(told("pageable", theirs));
  result.update(told("pinned", link));
  result.update(told("host_copy", host));
  result.update(report::document{{"staged_gb_per_second", rate(ours) * 1e-9},
                                 {"staged_bytes_per_second", rate(ours)},
                                 {"pageable_bytes_per_second", rate(theirs)},
                                 {"pinned_bytes_per_second", rate(link)},
                                 {"host_copy_bytes_per_second", rate(host)},
                                 {"share_of_limit", limit / median(ours)},
                                 {"over_pageable", median(theirs) / median(ours)}});
  std::printf(
      "staged       %9s  %s: %.1f GB/s, %.1f %% of min(pinned %.1f, host copy %.1f with %d "
      "threads), %.2fx pageable (%.1f)\n",
      mib(bytes).c_str(), to_device ? "to device" : "to host", rate(ours) * 1e-9,
      100 * limit / median(ours), rate(link) * 1e-9, rate(host) * 1e-9, threads,
      median(theirs) / median(ours), rate(theirs) * 1e-9);
  std::fflush(stdout);
  return result;
}

/// One pinned direction as a job, beside one plain copy of the whole.
report::document one_direction(bench& with, std::size_t bytes, bool to_device, int repetitions) {
  auto const& host = to_device ? with.locked_in : with.locked_out;
  device_block const device{with.place, bytes};
  auto engine = transfer::pinned{}.open(with.place, with.memory);
  auto picked = transfer::overlapped{}.open(with.place, with.memory);
  auto const job = one_way(host.get(), bytes, to_device);
  benchmark::link_copy const plain{to_device ? device.get() : host.get(),
                                   to_device ? host.get() : device.get(), bytes};
  std::vector<double> ours, chunked, theirs;
  for (int i = 0; i < repetitions + 2; ++i) {
    auto const a = with.trial.run(engine, job).gpu;
    auto const b = with.trial.run(picked, job).gpu;
    auto const c = with.trial.copy_seconds({plain}, {});
    if (i < 2) { continue; }
    ours.push_back(a);
    chunked.push_back(b);
    theirs.push_back(c);
  }
  report::document result{{"direction", to_device ? "to_device" : "to_host"},
                          {"mib", bytes >> 20U},
                          {"repetitions", repetitions}};
  result.update(told("pinned", ours));
  result.update(told("overlapped", chunked));
  result.update(told("memcpy", theirs));
  result.update(
      report::document{{"memcpy_bytes_per_second", static_cast<double>(bytes) / median(theirs)},
                       {"share_of_memcpy", median(theirs) / median(ours)},
                       {"overlapped_share_of_memcpy", median(theirs) / median(chunked)}});
  std::printf("one way      %9s  %s: pinned %.2f %%, overlapped %.2f %% of cudaMemcpyAsync\n",
              mib(bytes).c_str(), to_device ? "to device" : "to host",
              100 * median(theirs) / median(ours), 100 * median(theirs) / median(chunked));
  std::fflush(stdout);
  return result;
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  auto const most = chosen.quick ? 64_MiB : 1_GiB;
  benchmark::link_options link;
  if (chosen.quick) { link.bytes = 64_MiB; }
  auto const ceilings = benchmark::link_ceilings_of(chosen.place, link);
  figures["link"] = report::to_json(ceilings);
  chosen.save(figures);

  auto last = std::chrono::steady_clock::now();
  /// Prints and returns the seconds since the last call.
  auto const took = [&](std::string const& what) {
    auto const now = std::chrono::steady_clock::now();
    std::chrono::duration<double> const spent = now - std::exchange(last, now);
    std::fprintf(stderr, "  %s: %.1f s\n", what.c_str(), spent.count());
    return spent.count();
  };
  bench with{chosen.place, most};
  took("buffers");
  // By name each time: a reference into the figures would not outlive the next one.
  auto const add = [&](char const* part, std::string const& what, report::document figure) {
    figure["row_seconds"] = took(what);
    figures[part].push_back(std::move(figure));
    chosen.save(figures);
  };
  auto const times = [&](int repetitions) { return chosen.quick ? 3 : repetitions; };
  // The largest first: what pinning and freeing the buffers left to do disturbs it least.
  for (auto const& [bytes, repetitions] : std::vector<std::pair<std::size_t, int>>{
           {1_GiB, 11}, {512_MiB, 21}, {256_MiB, 31}, {64_MiB, 101}, {16_MiB, 301}}) {
    if (bytes > most) { continue; }
    add("overlapped", mib(bytes), one_size(with, "map", with.map(bytes), times(repetitions)));
  }
  auto const part = most / 4;
  add("other_shapes", "vector_add", one_size(with, "vector_add", with.sum(part), times(21)));
  // 8,192 FLOPs an element take more than three times as long as the link.
  add("other_shapes", "kernel-bound",
      one_size(with, "kernel-bound", with.map(part, 8192), times(21)));
  for (auto const& [bytes, repetitions] :
       std::vector<std::pair<std::size_t, int>>{{16_MiB, 11}, {64_MiB, 7}, {512_MiB, 3}}) {
    if (bytes > most) { continue; }
    add("grid", "grid at " + mib(bytes), grid(with, ceilings, bytes, repetitions, chosen.quick));
  }
  for (bool const to_device : {true, false}) {
    add("one_way", "one way", one_direction(with, most, to_device, times(15)));
    add("staged", "staged", staging(with, most, to_device, times(7)));
  }
}

}  // namespace

int main(int argc, char** argv) { return benchmark::run(argc, argv, "overlap", measure_all); }
