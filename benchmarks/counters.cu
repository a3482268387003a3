// SPDX-License-Identifier: Apache-2.0

// assay-uses: cupti

// Do the counters read in the process say what Nsight Compute says, and what is known beforehand?
// Seven kernels: a copy, a chain of FMAs, a pointer chase, and those of null_cast; values for each
// kernel by itself, over a range, and from `ncu --clock-control none` where it is installed.
// Predicts: DRAM bytes, duration and occupancy within 2 % of ncu's, the core set in one pass, the
// copy memory bound, the chain compute bound, the chase latency bound. Durations are judged of
// kernels of 100 us and more: each run adds or takes a microsecond. DRAM bytes are judged of
// kernels that move more than 16 MiB.

#include "../examples/device_array.hpp"
#include "support/counters_json.hpp"
#include "support/kernel_timing.cuh"
#include "support/known_kernels.cuh"
#include "support/ncu.hpp"
#include "support/result.hpp"

#include <assay/cupti/counters.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/report/explanation.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

/// Set for the program that runs under ncu: it launches each kernel `child_launches` times, and
/// counts nothing.
constexpr char const* child_variable = "ASSAY_COUNTERS_CHILD";
constexpr int child_launches = 2;  // the last is looked at: the first also warms

// Kernels below these limits are reported, but not judged.
constexpr double least_seconds = 100e-6;
constexpr double least_dram_bytes = 16.0 * (1U << 20U);

/// A kernel, and the bytes and FLOPs that it needs.
struct known {
  std::string name;
  std::string size;
  traffic required;
  std::function<void()> launch;
};

/// The kernels with all that they work on.
class kernels {
 public:
  kernels(on::device place, bool quick)
      : place_(place),
        elements_(quick ? std::int64_t{1} << 24 : std::int64_t{1} << 27),  // of 16 bytes: 2 GiB
        from_(static_cast<std::size_t>(elements_)),
        to_(static_cast<std::size_t>(elements_)),
        table_(std::size_t{1} << table_log),
        rows_(std::int64_t{1} << (quick ? 22 : 29)),
        columns_(place, {.rows = rows_}, 1) {
    check(cudaMemset(from_.get(), 0x5a, static_cast<std::size_t>(elements_) * sizeof(uint4)));
    auto const fill = kernel::known_chase_table<std::uint32_t>;
    kernel::launch(fill, kernel::stride_shape(fill, place_, 1U << table_log, 256), 0, on_,
                   table_.get(), table_log);
    on_.synchronize();
  }

  std::vector<known> all() {
    auto const bytes = static_cast<double>(elements_) * sizeof(uint4);
    auto const sms = static_cast<unsigned>(attribute(place_, cudaDevAttrMultiProcessorCount));
    auto const chain = kernel::resident_shape(kernel::known_fma_chain<float>, place_, 256);
    constexpr int fma_steps = 16384;
    constexpr int steps = 2000;
    constexpr double flops_a_step = 16;
    auto const flops = flops_a_step * fma_steps * chain.blocks * chain.threads;
    std::vector<known> list{{"known_copy",
                             std::to_string(elements_) + " x 16 bytes",
                             {bytes, bytes, 0},
                             [this] { copy(); }},
                            {"known_fma_chain",
                             std::to_string(fma_steps) + " steps a thread",
                             {0, 0, flops},
                             [this, chain] {
                               kernel::launch(kernel::known_fma_chain<float>, chain, 0, on_, 0.999F,
                                              fma_steps, reinterpret_cast<float*>(to_.get()));
                             }},
                            {"known_chase", std::to_string(steps) + " steps", {}, [this, sms] {
                               kernel::launch(kernel::known_chase<std::uint32_t>, dim3(sms),
                                              dim3(128), 0, on_, table_.get(), table_log, steps,
                                              reinterpret_cast<std::uint32_t*>(to_.get()));
                             }}};
    auto const three = workloads::null_cast<std::int32_t>{.rows = rows_}.kernels();
    auto const fused = workloads::null_cast_fused<std::int32_t>{.rows = rows_}.kernels();
    for (int which = 0; which < 4; ++which) {
      auto const& of = which < 3 ? three[static_cast<std::size_t>(which)] : fused[0];
      list.push_back({std::string{of.name}, std::to_string(rows_) + " rows", of.moves,
                      [this, which] { cast(which); }});
    }
    return list;
  }

  /// Seconds of one launch by events, the median of nine.
  double seconds(known const& which) {
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) {
      begin_.record(on_);
      which.launch();
      end_.record(on_);
      end_.synchronize();
      times.push_back(end_.seconds_since(begin_));
    }
    return median(times);
  }

 private:
  static constexpr int table_log = 26;  // 256 MiB, four times the L2 of an H200

  void copy() {
    auto const kernel = kernel::known_copy<uint4>;
    auto const count = static_cast<std::uint64_t>(elements_);
    kernel::launch(kernel, kernel::stride_shape(kernel, place_, count, 512), 0, on_, from_.get(),
                   to_.get(), elements_);
  }

  void cast(int which) {
    using tuned = kernel::null_cast_tuning<std::int32_t>;
    auto const in = columns_.arrays_of(0);
    auto& via = columns_.with(0);
    if (which == 0) {
      kernel::launch_is_valid<tuned::is_valid>(on_, rows_, in.mask, via.bools.get());
    } else if (which == 1) {
      kernel::launch_copy_if_else<std::int32_t, tuned::copy_if_else>(
          on_, rows_, via.bools.get(), in.values, in.mask, 0, via.data.get(), via.mask.get());
    } else if (which == 2) {
      kernel::launch_cast<std::int32_t, tuned::cast>(on_, rows_, via.data.get(), via.mask.get(),
                                                     in.out, in.out_mask);
    } else {
      kernel::launch_null_cast_fused<std::int32_t, tuned::fused>(on_, rows_, in.values, in.mask,
                                                                 in.out);
    }
  }

  on::device place_;
  std::int64_t elements_;
  stream on_{place_};
  examples::device_array<uint4> from_;
  examples::device_array<uint4> to_;
  examples::device_array<std::uint32_t> table_;
  std::int64_t rows_;
  benchmark::buffer_sets<std::int32_t> columns_;
  event begin_{event::kind::timed};
  event end_{event::kind::timed};
};

/// The three figures that are compared.
struct figures {
  double dram_bytes = 0, seconds = 0, occupancy = 0;
};

report::document to_document(figures const& of) {
  return {{"dram_bytes", of.dram_bytes}, {"seconds", of.seconds}, {"occupancy", of.occupancy}};
}

figures of(trace::counter_range const& range) {
  using namespace trace::metric;
  return {range[dram_read] + range[dram_write], range[gpu_time] * 1e-9, range[occupancy] / 100};
}

/// This program again under ncu, the same kernels; nothing where that cannot be, and why.
std::optional<std::vector<ncu_launch>> run_ncu(benchmark::options const& chosen,
                                               std::string& note) {
  std::string version;
  if (!output_of("ncu --version", version)) {
    note = "ncu is not installed";
    return std::nullopt;
  }
  std::string metrics;
  for (auto const each : {trace::metric::gpu_time, trace::metric::dram_read,
                          trace::metric::dram_write, trace::metric::occupancy}) {
    metrics += (metrics.empty() ? "" : ",") + std::string{each};
  }
  // Caches are left as the launch before left them, as for ours.
  auto const command = std::string{child_variable} + "=1 ncu --clock-control none " +
                       "--cache-control none --csv --print-units base " +
                       "--kernel-name 'regex:known_(copy|fma_chain|chase)$|is_valid|copy_if_else|"
                       "^cast$|null_cast_fused' --metrics " +
                       metrics + " '" + std::filesystem::read_symlink("/proc/self/exe").string() +
                       "' --device " + std::to_string(chosen.place.id) +
                       (chosen.quick ? " --quick" : "");
  std::string text;
  auto const worked = output_of(command, text);
  auto launches = read_ncu(text);
  if (worked && !launches.empty()) {
    note = version.substr(version.rfind("Version"));
    note.erase(note.find_last_not_of(" \n") + 1);
    return launches;
  }
  note = "ncu failed: " + text.substr(text.size() - std::min<std::size_t>(text.size(), 600));
  return std::nullopt;
}

double difference(double ours, double theirs) { return theirs == 0 ? 0 : ours / theirs - 1; }

void print_row(char const* what, figures const& all) {
  std::printf("    %-8s %12.0f DRAM bytes  %10.2f us  %6.2f %% occupancy\n", what, all.dram_bytes,
              all.seconds * 1e6, 100 * all.occupancy);
}

void measure_all(benchmark::options const& chosen, report::document& results) {
  kernels work{chosen.place, chosen.quick};
  auto const list = work.all();
  auto const limit = machine::device_copy_ceiling(chosen.place);
  std::string note;
  auto const peer = run_ncu(chosen, note);
  std::printf("ncu: %s\n", note.c_str());
  results["ncu"] = note;
  results["copy_ceiling"] = limit.per_second;

  trace::counters each_kernel{
      {.place = chosen.place, .scope = trace::counter_scope::kernel, .warm_up = 1}};
  trace::counters whole_range{{.place = chosen.place}};
  trace::counters deep{{.metrics = trace::metric_sets::deep(), .place = chosen.place}};
  double largest = 0;
  std::size_t core_passes = 0;
  results["kernels"] = report::document::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto const& kernel = list[i];
    auto const seconds = work.seconds(kernel);
    auto const begin = std::chrono::steady_clock::now();
    auto const alone = each_kernel.measure(kernel.launch);
    auto const took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!alone.status) { throw std::runtime_error(alone.status.line()); }
    auto const ranged = whole_range.measure(kernel.launch);
    auto const all = deep.measure(kernel.launch);
    if (alone.ranges.size() != 1 || ranged.ranges.size() != 1 || all.ranges.size() != 1) {
      throw std::runtime_error(kernel.name + ": one range was expected of each, there are " +
                               std::to_string(alone.ranges.size()) + ", " +
                               std::to_string(ranged.ranges.size()) + " (" + ranged.status.line() +
                               "), " + std::to_string(all.ranges.size()) + " (" +
                               all.status.line() + ")");
    }
    auto const read =
        trace::find_bound(all.ranges[0], {.required = kernel.required, .seconds = seconds},
                          {.dram_bytes = limit.per_second});

    std::printf("%s, %s: must move %.0f bytes, %.2f us by events\n", kernel.name.c_str(),
                kernel.size.c_str(), kernel.required.bytes(), seconds * 1e6);
    print_row("kernel", of(alone.ranges[0]));
    print_row("range", of(ranged.ranges[0]));
    report::document row{{"kernel", kernel.name},
                         {"size", kernel.size},
                         {"must_bytes", kernel.required.bytes()},
                         {"must_flops", kernel.required.flops},
                         {"event_seconds", seconds},
                         {"alone", to_document(of(alone.ranges[0]))},
                         {"range", to_document(of(ranged.ranges[0]))},
                         {"core_passes", ranged.passes},
                         {"deep_passes", all.passes},
                         {"measure_seconds", took},
                         {"sm_hertz", ranged.ranges[0].sm_hertz()},
                         {"bound", report::to_json(read)},
                         {"deep", report::to_json(all)}};
    core_passes = std::max(core_passes, ranged.passes);
    results["core_passes"] = core_passes;
    auto const at = i * child_launches + child_launches - 1;
    if (peer && peer->size() == list.size() * child_launches) {
      auto const value = [&](std::string_view metric) {
        auto const& values = (*peer)[at].values;
        auto const found = values.find(metric);
        return found == values.end() ? std::nan("") : found->second;
      };
      figures const theirs{value(trace::metric::dram_read) + value(trace::metric::dram_write),
                           value(trace::metric::gpu_time) * 1e-9,
                           value(trace::metric::occupancy) / 100};
      auto const ours = of(alone.ranges[0]);
      print_row("ncu", theirs);
      figures const apart{difference(ours.dram_bytes, theirs.dram_bytes),
                          difference(ours.seconds, theirs.seconds),
                          difference(ours.occupancy, theirs.occupancy)};
      std::printf("    against ncu: DRAM bytes %+.2f %%, duration %+.2f %%, occupancy %+.2f %%\n",
                  100 * apart.dram_bytes, 100 * apart.seconds, 100 * apart.occupancy);
      row["ncu"] = to_document(theirs);
      row["ncu"]["kernel"] = (*peer)[at].kernel;
      row["against_ncu"] = to_document(apart);
      // The chain moves next to nothing: a share of nothing says nothing.
      bool const bytes_judged = theirs.dram_bytes >= least_dram_bytes;
      bool const seconds_judged = theirs.seconds >= least_seconds;
      row["judged"] = {{"dram_bytes", bytes_judged}, {"seconds", seconds_judged}};
      if (bytes_judged) { largest = std::max(largest, std::abs(apart.dram_bytes)); }
      if (seconds_judged) { largest = std::max(largest, std::abs(apart.seconds)); }
      largest = std::max(largest, std::abs(apart.occupancy));
    }
    std::printf("    %s\n", report::bound_sentence(read).c_str());
    std::fflush(stdout);
    results["kernels"].push_back(std::move(row));
    chosen.save(results);
  }
  if (peer && peer->size() == list.size() * child_launches) {
    results["largest_difference"] = largest;
    std::printf(
        "largest difference from ncu, of durations from 100 us: %.2f %% (target 2 %%: %s)\n",
        100 * largest, largest <= 0.02 ? "met" : "MISSED");
  } else if (peer) {
    std::printf("ncu saw %zu launches where %zu were made: not compared\n", peer->size(),
                list.size() * child_launches);
  }
}

/// The program that runs under ncu: it launches the kernels to be seen, and no other.
int run_child(int argc, char const* const* argv) {
  try {
    auto const chosen = parse(argc, argv);
    check(cudaSetDevice(chosen.place.id));
    kernels work{chosen.place, chosen.quick};
    for (auto const& each : work.all()) {
      for (int i = 0; i < child_launches; ++i) { each.launch(); }
    }
    check(cudaDeviceSynchronize());
    return 0;
  } catch (std::exception const& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 4;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv(child_variable) != nullptr) { return run_child(argc, argv); }
  return run(argc, argv, "counters", measure_all);
}
