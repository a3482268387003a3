// SPDX-License-Identifier: Apache-2.0
//
// What do choices cost while others use the GPU? The regret of `load::ignored` beside that of
// `load::watched` 0.6 s after its start: alone, beside a process that never leaves the GPU, and
// beside one that comes in bursts. Calls have their
// arrays in the memory of each path, or in page-locked memory. The time of a call is its mean,
// since bursts delay few calls, and for long. The calibration sees an idle machine. Predicts: the
// regret of `watched` is at most 10 %, that of `ignored` far above it, and the watcher takes at
// most 0.2 % of a core.

#include "support/bursts.hpp"
#include "support/result.hpp"

#include <time.h>

#include <assay/core/child_process.hpp>
#include <assay/core/stream.hpp>
#include <assay/dispatch/device_load.cuh>
#include <assay/host/parallel_for.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/measure/calibrate.hpp>
#include <assay/measure/regret.hpp>
#include <assay/transfer/cuda_link.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::benchmark {
namespace {

constexpr int steps = 64;

/// 64 steps of a generator of random numbers: exact on every path, and more work for each byte than
/// a copy is.
__host__ __device__ inline std::uint32_t mapped(std::uint32_t x) {
  for (int i = 0; i < steps; ++i) {
    x ^= x << 13U;
    x ^= x >> 17U;
    x ^= x << 5U;
  }
  return x;
}

template <class T>
__global__ void map_elements(T const* from, T* to, std::size_t count) {
  for (std::size_t const i : assay::kernel::grid_stride(count)) { to[i] = mapped(from[i]); }
}

struct random_map {
  on::device place;
  std::span<std::uint32_t const> x;
  std::span<std::uint32_t> y;
  static constexpr std::string_view name = "random_map";
  dispatch::work work() const {
    auto const n = static_cast<double>(x.size());
    return {.size = x.size(), .bytes = 8 * n, .flops = 6.0 * steps * n};
  }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::out(y)}; }
  void run(on::host where, std::uint32_t const* from, std::uint32_t* to) const {
    host::parallel_for(where.threads, std::ssize(x), 1024, [=](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) { to[i] = mapped(from[i]); }
    });
  }
  void run(cudaStream_t stream, std::uint32_t const* from, std::uint32_t* to) const {
    auto const body = map_elements<std::uint32_t>;
    kernel::launch(body, kernel::stride_shape(body, place, x.size(), 256), 0,
                   ::cuda::stream_ref{stream}, from, to, x.size());
  }
};

auto make_on(on::device place) {
  return [place](setup& arrays, std::size_t size) -> random_map {
    auto const x = arrays.random<std::uint32_t>(size);
    auto const y = arrays.output<std::uint32_t>(size);
    return {place, {x.data(), size}, {y.data(), size}};
  };
}

/// This program as a load: `--load gpu DEVICE SEED` or `--load bursts DEVICE SEED`. Runs until it
/// is killed.
[[noreturn]] void load_gpu(on::device place, bool bursts, std::uint64_t seed) {
  check(cudaSetDevice(place.id));
  constexpr std::size_t count = std::size_t{1} << 24U;  // a kernel of some tenths of a millisecond
  stream const on{place};
  device_block const memory{place, 2 * count * sizeof(std::uint32_t)};
  auto* const from = static_cast<std::uint32_t*>(memory.get());
  check(cudaMemsetAsync(from, 1, count * sizeof(std::uint32_t), on.get()));
  random_map const call{place, {from, count}, {from + count, count}};
  benchmark::work_in_bursts(seed, bursts, [&] {
    // Several at once: the device never waits for the host.
    for (int i = 0; i < 8; ++i) { call.run(on.get(), from, from + count); }
    on.synchronize();
  });
}
int load(int argc, char** argv) {
  std::string_view const kind = argc > 3 ? argv[2] : "";
  if (argc > 4) {
    load_gpu(on::device{std::stoi(argv[3])}, kind == "bursts", std::stoull(argv[4]));
  }
  throw std::invalid_argument("--load takes gpu DEVICE SEED or bursts DEVICE SEED");
}

/// The choices under a load that was seen, for `measure::judge`.
struct as_seen {
  dispatch::load_now load;
  static constexpr std::string_view name = "load::watched";
  bool operator==(as_seen const&) const = default;
  auto bound(dispatch::costs const& of) const {
    return
        [&of, load = load](dispatch::facts const& known) noexcept { return of.best(known, load); };
  }
};

template <dispatch::chooser C>
report::document regret_of(measure::timed_calls const& timed, dispatch::costs const& of,
                           C const& policy) {
  auto const found = measure::judge(timed, of, policy);
  std::printf("  %s\n", found.describe().c_str());
  report::document made;
  made["total"] = found.total;
  made["mean"] = found.mean;
  made["p95"] = found.p95;
  made["max"] = found.max;
  made["noise_floor"] = found.noise_floor;
  return made;
}

report::document in_json(dispatch::load_now const& seen) {
  report::document row;
  row["wait_us"] = 1e6 * seen.device_wait;
  row["factor"] = seen.device_factor;
  std::printf("  device: wait %.1f us, factor %.2f\n", 1e6 * seen.device_wait, seen.device_factor);
  return row;
}

double own_core_seconds() {
  ::timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// What a watcher takes while this process does nothing else.
double share_of_a_core(double seconds) {
  double const before = own_core_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
  return (own_core_seconds() - before) / seconds;
}

/// Calls beside one load, or beside none: `load` has the words after `--load`.
report::document trial(on::device place, dispatch::costs const& of, std::size_t calls,
                       std::vector<std::string> const& load) {
  std::optional<child_process> child;
  if (!load.empty()) {
    std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe").string(),
                                     "--load"};
    command.insert(command.end(), load.begin(), load.end());
    child.emplace(command);
    std::this_thread::sleep_for(std::chrono::seconds{3});  // a context takes about 1 s
  }
  auto const watched = dispatch::bound_on(dispatch::task_link{place}, load::watched{}, of);
  std::this_thread::sleep_for(std::chrono::milliseconds{600});
  auto const seen = watched.board().read(0);
  report::document found;
  found["seen_after_600_ms"] = in_json(seen);
  found["watcher_share_of_a_core"] = share_of_a_core(3);
  for (bool const page_locked : {false, true}) {
    auto const* const name = page_locked ? "page_locked" : "resident";
    std::printf("  arrays: %s\n", name);
    std::optional<memory_type> memory;
    if (page_locked) { memory = memory_type::page_locked; }
    auto const timed = measure::time_calls<random_map>(of, {.sizes = {1 << 8, 1 << 22},
                                                            .count = calls,
                                                            .make = make_on(place),
                                                            .seed = 7,
                                                            .memory = memory,
                                                            .means = true});
    auto& section = found[name];
    section["ignored"] = regret_of(timed, of, load::ignored{});
    section["watched_after_600_ms"] = regret_of(timed, of, as_seen{seen});
    section["watched_at_the_end"] = regret_of(timed, of, as_seen{watched.board().read(0)});
  }
  if (child) {
    if (auto const end = child->wait_for(std::chrono::seconds{0})) {
      throw std::runtime_error("the process that makes the load " + end->text());
    }
  }
  return found;
}

void measure_all(options const& chosen, report::document& figures) {
  auto const cores = host::all_threads();
  std::vector<dispatch::path> paths;
  for (int const threads : {1, 4, 8, 16}) {
    if (threads <= cores) { paths.emplace_back(on::host{threads}); }
  }
  paths.emplace_back(chosen.place);
  auto const of = measure::calibrate<random_map>(
      paths, {.sizes = {1 << 8, 1 << 22}, .make = make_on(chosen.place)});
  auto const device = std::to_string(chosen.place.id);
  auto const seed = std::to_string(stats::draw_seed());
  figures["seed_of_bursts"] = seed;
  figures["limit_regret"] = 0.10;
  figures["limit_watcher"] = 0.002;
  std::vector<std::pair<std::string, std::vector<std::string>>> const loads{
      {"alone", {}},
      {"busy_gpu", {"gpu", device, seed}},
      {"gpu_in_bursts", {"bursts", device, seed}}};
  for (auto const& [name, load] : loads) {
    std::printf("%s\n", name.c_str());
    figures[name] = trial(chosen.place, of, chosen.quick ? 2 : 15, load);
    chosen.save(figures);
  }
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay::benchmark;
  if (argc > 1 && std::string_view{argv[1]} == "--load") {
    try {
      return load(argc, argv);
    } catch (std::exception const& error) {
      std::fprintf(stderr, "error: %s\n", error.what());
      return 4;
    }
  }
  return run(argc, argv, "dispatch_load", measure_all);
}
