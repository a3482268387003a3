// SPDX-License-Identifier: Apache-2.0
// assay-uses: sqlite
//
// How long do the reports of a large trace take, from its SQLite file, and how much memory? And the
// difference of two such traces that are in memory, as a whole and per step? And the comparison of
// the ranks of eight files?
// Predicts: 10^6 kernels and as many calls in 3 s and 1 GiB, 10^7 in 20 s and 3 GiB; reading is
// most of it. The difference of two traces of 10^7 kernels takes 10 s, per step 5 s; the ranks of 8
// files of 10^6 kernels 15 s.

#include "support/host_result.hpp"

#include <assay/host/keep_freed_memory.hpp>
#include <assay/nsys/rank_tables.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite.hpp>
#include <assay/nsys/step_instances.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/rank_trace.hpp>
#include <assay/trace/ranks.hpp>
#include <assay/trace/step_difference.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace assay;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

/// The time that this process had a core, of its own code and in the system. Other programs on the
/// machine do not count.
double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](timeval const& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// A folder that is gone at the end.
struct folder {
  std::filesystem::path path;
  folder() {
    auto name = (std::filesystem::temp_directory_path() / "assay-benchmark.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) { throw std::runtime_error("no temporary folder"); }
    path = name;
  }
  folder(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// A training run as it might be: 200 kernels with names of 100 to 400 characters, two threads, a
/// range for every 50 launches in one for every 1000, a copy for every 20. With `collectives` the
/// last of 50 kernels is one of NCCL, which ends at the same time whatever the seed.
trace::model training_run(std::uint32_t kernels, std::uint64_t seed = 7, bool collectives = false) {
  std::mt19937_64 random{seed};
  trace::model made;
  made.epoch_ns = 1'765'008'149'091'427'284;
  made.devices.push_back({.id = 0, .name = "device"});
  std::vector<trace::string_id> names;
  for (int i = 0; i < 200; ++i) {
    names.push_back(made.strings.intern("void kernel_" + std::to_string(i) + "<" +
                                        std::string(100 + random() % 300, 'T') + ">(float*)"));
  }
  auto const launch = made.strings.intern("cudaLaunchKernel_v7000");
  auto const copy = made.strings.intern("cudaMemcpyAsync_v3020");
  auto const reduce = made.strings.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)");
  auto const step = made.strings.intern("step");
  auto const layer = made.strings.intern("layer");
  std::int64_t host = 0;
  std::int64_t device = 0;
  std::int64_t step_begin = 0;
  std::int64_t layer_begin = 0;
  for (std::uint32_t i = 1; i <= kernels; ++i) {
    trace::thread_key const thread{1000, 1000 + i % 2};
    auto const call = host;
    host += 2000 + static_cast<std::int64_t>(random() % 3000);
    made.calls.push_back({.when = {call, host},
                          .thread = thread,
                          .name = i % 20 == 0 ? copy : launch,
                          .correlation = i});
    device = std::max(device, host) + static_cast<std::int64_t>(random() % 500);
    trace::span ran{device, device + 1000 + static_cast<std::int64_t>(random() % 5000)};
    device = ran.end;
    trace::device_place where{.context = 1, .stream = 7 + i % 2, .correlation = i, .process = 1000};
    auto name = names[random() % names.size()];
    if (collectives && i % 50 == 0) {
      constexpr std::int64_t layer_ns = 400'000;  // more than 50 kernels and their gaps take
      ran.end = device = layer_ns * (i / 50);
      host = std::max(host, device - 20'000);
      where.stream = 20;
      name = reduce;
    }
    made.kernels.push_back({.when = ran,
                            .where = where,
                            .name = name,
                            .short_name = name,
                            .grid = {128, 1, 1},
                            .block = {256, 1, 1},
                            .registers_per_thread = 32});
    if (i % 20 == 0) {
      made.copies.push_back({.when = {ran.begin, ran.end},
                             .where = where,
                             .bytes = 1 << 20,
                             .kind = trace::copy_kind::host_to_device});
    }
    if (i % 50 == 0) {
      made.ranges.push_back({.when = {layer_begin, host},
                             .thread = {1000, 1000},
                             .end_thread = {1000, 1000},
                             .name = layer});
      layer_begin = host;
    }
    if (i % 1000 == 0) {
      made.ranges.push_back({.when = {step_begin, host},
                             .thread = {1000, 1000},
                             .end_thread = {1000, 1000},
                             .name = step});
      step_begin = layer_begin = host;
    }
  }
  made.window = {0, device};
  return made;
}

/// Runs `body` in a process of its own and says how much memory that had at most, in bytes.
template <class Body>
double peak_bytes(Body const& body) {
  auto const child = ::fork();
  if (child < 0) { throw std::runtime_error("cannot fork"); }
  if (child == 0) {
    try {
      body();
    } catch (std::exception const& error) {
      std::cerr << "error: " << error.what() << '\n';
      ::_exit(1);
    }
    std::cout.flush();
    ::_exit(0);
  }
  int status = 0;
  rusage used{};
  if (::wait4(child, &status, 0, &used) != child || status != 0) {
    throw std::runtime_error("a part of the benchmark failed");
  }
  return static_cast<double>(used.ru_maxrss) * 1024;
}

/// Runs `body(figures&)` in a process of its own; returns the figures, with the memory it took.
template <class Body>
report::document figures_of(folder const& here, Body const& body) {
  auto const file = here.path / "figures";
  auto const peak = peak_bytes([&] {
    report::document made;
    body(made);
    write_atomically(file, made.dump());
  });
  std::ifstream in{file};
  auto figures = report::document::parse(in);
  figures["peak_bytes"] = peak;
  return figures;
}

/// Reads a trace of so many kernels, and makes all reports but those with a row for each event,
/// which are as long as the trace itself.
report::document reports(folder const& here, std::uint32_t kernels) {
  auto const file = here.path / "trace.sqlite";
  peak_bytes([&] { trace::write_nsys(training_run(kernels), file); });
  auto figures = figures_of(here, [&](report::document& into) {
    auto const start = clock_type::now();
    auto const read = trace::read_nsys(file);
    into["read_seconds"] = cpu_seconds();
    trace::view const rows{read};
    auto const make = [&](trace::report const& each) {
      if (each.name.ends_with("_trace")) { return; }
      auto const begin = cpu_seconds();
      auto const made = each.make(rows);
      into["report_seconds"][std::string{each.name}] = cpu_seconds() - begin;
      if (made.rows() == 0 && each.name == "cuda_gpu_kern_sum") {
        throw std::runtime_error("an empty report");
      }
    };
    std::ranges::for_each(trace::reports(), make);
    std::ranges::for_each(trace::own_reports(), make);
    into["seconds"] = cpu_seconds();
    into["wall_seconds"] = seconds_since(start);
    into["kernels"] = read.kernels.size();
    into["calls"] = read.calls.size();
  });
  figures["file_bytes"] = std::filesystem::file_size(file);
  std::filesystem::remove(file);
  return figures;
}

/// Reads eight traces of so many kernels and compares their ranks.
report::document ranks(folder const& here, std::uint32_t kernels) {
  constexpr std::size_t count = 8;
  auto const file = [&](std::size_t rank) {
    return here.path / ("rank" + std::to_string(rank) + ".sqlite");
  };
  for (std::size_t rank = 0; rank < count; ++rank) {
    peak_bytes([&] { trace::write_nsys(training_run(kernels, 100 + rank, true), file(rank)); });
  }
  auto figures = figures_of(here, [&](report::document& into) {
    auto const start = clock_type::now();
    trace::rank_collector all;
    for (std::size_t rank = 0; rank < count; ++rank) {
      auto const read = trace::read_nsys(file(rank));
      all.add(file(rank).string(), trace::view{read});
    }
    into["read_seconds"] = cpu_seconds();
    auto const found = trace::compare_ranks(all);
    auto const tables = trace::rank_tables(found, all, trace::rank_notes(found, all));
    into["seconds"] = cpu_seconds();
    into["wall_seconds"] = seconds_since(start);
    into["kernels"] = kernels;
    into["ranks"] = found.ranks.size();
    into["collectives"] = found.split;
    if (found.split != kernels / 50 || tables.front().rows() != count) {
      throw std::runtime_error("not all collectives are split");
    }
    for (auto const& each : found.ranks) {
      if (each.waiting_ns + each.moving_ns != each.time_ns) {
        throw std::runtime_error("waiting and moving are not the time in collectives");
      }
    }
  });
  for (std::size_t rank = 0; rank < count; ++rank) { std::filesystem::remove(file(rank)); }
  return figures;
}

/// The difference of two traces of so many kernels, which are in memory.
report::document difference(folder const& here, std::uint32_t kernels) {
  return figures_of(here, [&](report::document& into) {
    auto const control = training_run(kernels);
    auto const variant = training_run(kernels, 8);
    auto const start = clock_type::now();
    auto const begin = cpu_seconds();
    auto const found =
        trace::paired_difference({trace::breakdown_of(control)}, {trace::breakdown_of(variant)});
    into["seconds"] = cpu_seconds() - begin;
    into["wall_seconds"] = seconds_since(start);
    into["kernels"] = control.kernels.size();
    if (found.changes.empty()) { throw std::runtime_error("no difference of two unequal traces"); }
  });
}

/// The same per step: 200 of the ranges that hold 1000 launches each.
report::document step_difference(folder const& here, std::uint32_t kernels) {
  return figures_of(here, [&](report::document& into) {
    auto const control = training_run(kernels);
    auto const variant = training_run(kernels, 8);
    auto const start = clock_type::now();
    auto const begin = cpu_seconds();
    auto const steps_of = [](trace::model const& of) {
      auto const found = trace::instances_without(of, {.range = "step"}, 1, 200);
      std::vector<trace::step_record> made;
      for (std::size_t i = 0; i < found.rows.size(); ++i) {
        made.push_back(trace::step_of(found.rows[i], of.ranges[found.ranges[i]].when));
      }
      return made;
    };
    auto const first = steps_of(control), second = steps_of(variant);
    auto const found = trace::unpaired_difference(first, second);
    into["seconds"] = cpu_seconds() - begin;
    into["wall_seconds"] = seconds_since(start);
    into["kernels"] = control.kernels.size();
    into["steps"] = first.size();
    if (found.parts.empty()) { throw std::runtime_error("steps without parts"); }
  });
}

}  // namespace

int main(int argc, char** argv) {
  (void)host::keep_freed_memory();  // as in the program trace_stats
  return benchmark::run_on_host(
      argc, argv, "trace_reports",
      [](benchmark::host_options const& options, report::document& figures) {
        std::uint32_t const kernels = options.quick ? 10'000 : 1'000'000;
        folder const here;
        figures = reports(here, kernels);
        figures["limit_seconds"] = 3;
        figures["limit_bytes"] = std::size_t{1} << 30U;
        figures["ten_times"] = reports(here, 10 * kernels);
        figures["ten_times"]["limit_seconds"] = 15;
        figures["ten_times"]["limit_bytes"] = std::size_t{5} << 29U;
        figures["difference"] = difference(here, 10 * kernels);
        figures["difference"]["limit_seconds"] = 5;
        figures["step_difference"] = step_difference(here, 10 * kernels);
        figures["step_difference"]["limit_seconds"] = 5;
        figures["ranks"] = ranks(here, kernels);
        figures["ranks"]["limit_seconds"] = 15;
        std::cout << figures.dump(1) << '\n';
      });
}
