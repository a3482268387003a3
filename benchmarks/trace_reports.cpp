// SPDX-License-Identifier: Apache-2.0
// assay-uses: sqlite
//
// How long do the reports of a large trace take, from its SQLite file, and how much memory?
// Predicts: 10^6 kernels and as many calls in 3 s and 1 GiB; reading is most of it.

#include "support/host_result.hpp"

#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite.hpp>

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
/// range for every 50 launches in one for every 1000, a copy for every 20.
trace::model training_run(std::uint32_t kernels) {
  std::mt19937_64 random{7};
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
    trace::span const ran{device, device + 1000 + static_cast<std::int64_t>(random() % 5000)};
    device = ran.end;
    trace::device_place const where{
        .context = 1, .stream = 7 + i % 2, .correlation = i, .process = 1000};
    auto const name = names[random() % names.size()];
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

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run_on_host(
      argc, argv, "trace_reports",
      [](benchmark::host_options const& options, report::document& figures) {
        std::uint32_t const kernels = options.quick ? 10'000 : 1'000'000;
        folder const here;
        auto const file = here.path / "trace.sqlite";
        auto const times = here.path / "times";
        peak_bytes([&] {
          auto const made = training_run(kernels);
          auto const start = clock_type::now();
          trace::write_nsys(made, file);
          std::cout << "written in " << seconds_since(start) << " s\n";
        });
        auto const peak = peak_bytes([&] {
          auto const start = clock_type::now();
          auto const read = trace::read_nsys(file);
          report::document all{{"read_seconds", seconds_since(start)}};
          trace::view const rows{read};
          for (auto const& each : trace::reports) {
            if (each.name.ends_with("_trace")) { continue; }  // as long as the trace itself
            auto const begin = clock_type::now();
            auto const made = each.make(rows);
            all["report_seconds"][std::string{each.name}] = seconds_since(begin);
            if (made.rows() == 0 && each.name == "cuda_gpu_kern_sum") {
              throw std::runtime_error("an empty report");
            }
          }
          all["seconds"] = seconds_since(start);
          all["kernels"] = read.kernels.size();
          all["calls"] = read.calls.size();
          write_atomically(times, all.dump());
        });
        std::ifstream in{times};
        figures = report::document::parse(in);
        figures["peak_bytes"] = peak;
        figures["file_bytes"] = std::filesystem::file_size(file);
        figures["limit_seconds"] = 3;
        figures["limit_bytes"] = std::size_t{1} << 30U;
        std::cout << figures.dump(1) << '\n';
      });
}
