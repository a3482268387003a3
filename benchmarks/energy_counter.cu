// SPDX-License-Identifier: Apache-2.0
// Can NVML's energy counter tell 2 % more work in 10 s? First a tight loop beside copies: how
// often the counter changes, and by how much. Then pairs of cells of copies in random order, as
// many as fit into 10 s: against equal work, and against 2 % more. A cell's power is that between
// the first and the last change in it. Cells of 1 s would leave five pairs, which no rank test
// decides.

#include "support/result.hpp"

#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/stats/classify.hpp>
#include <assay/stats/summary.hpp>

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <random>

namespace {

using namespace assay;

template <class F>
F* function_of(char const* name) {
  static void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, name);
  if (found == nullptr) { throw std::runtime_error(std::string{"no function of NVML: "} + name); }
  return reinterpret_cast<F*>(found);
}

/// Millijoules of a device by its bus id. Throws where NVML does not tell them.
unsigned long long energy_of(std::string const& bus_id) {
  static int const begun = function_of<int()>("nvmlInit_v2")();
  static void* const device = [&] {
    void* found = nullptr;
    auto const find = function_of<int(char const*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    return begun == 0 && find(bus_id.c_str(), &found) == 0 ? found : nullptr;
  }();
  static auto* const read =
      function_of<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
  unsigned long long found = 0;
  if (device != nullptr && read(device, &found) == 0) { return found; }
  throw std::runtime_error("NVML does not tell this device's energy");
}

struct cell {
  std::vector<double> seconds, joules;  ///< of each change of the counter
  double per_launch = 0;                ///< seconds
};

/// Reads the counter for as long as launches of so much work run.
cell run(on::device place, double work, int launches) {
  static constexpr std::size_t room = std::size_t{1} << 31U;
  static device_block const from{place, room}, to{place, room};
  static stream const where{place};
  static auto const bus_id = pci_bus_id(place);
  auto const bytes = static_cast<std::size_t>(0.95 * work * room);
  event begin{event::kind::timed}, end{event::kind::timed};
  begin.record(where);
  for (int i = 0; i < launches; ++i) {
    check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, where.get()));
  }
  end.record(where);
  cell found;
  auto const start = std::chrono::steady_clock::now();
  for (auto last = energy_of(bus_id); cudaEventQuery(end.get()) == cudaErrorNotReady;) {
    auto const now = energy_of(bus_id);
    if (now == std::exchange(last, now)) { continue; }
    std::chrono::duration<double> const at = std::chrono::steady_clock::now() - start;
    found.seconds.push_back(at.count());
    found.joules.push_back(1e-3 * static_cast<double>(now));
  }
  where.synchronize();
  found.per_launch = end.seconds_since(begin) / launches;
  if (found.seconds.size() < 3) { throw std::runtime_error("a cell has less than 3 changes"); }
  return found;
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  double const per_launch = run(chosen.place, 1, 1000).per_launch;  // the card gets warm
  auto const launches = [&](double seconds) { return static_cast<int>(seconds / per_launch); };
  auto const seen = run(chosen.place, 1, launches(2));
  for (std::size_t i = 1; i < seen.seconds.size(); ++i) {
    figures["step_seconds"].push_back(seen.seconds[i] - seen.seconds[i - 1]);
    figures["step_joules"].push_back(seen.joules[i] - seen.joules[i - 1]);
  }
  for (char const* name : {"step_seconds", "step_joules"}) {
    auto const all = stats::summarise(figures[name]);
    std::printf("%s: %.4g to %.4g, median %.4g\n", name, all.min, all.max, all.median);
  }
  double const interval = stats::summarise(figures["step_seconds"]).median;
  figures["step"] = {{"seconds", interval},
                     {"joules", stats::summarise(figures["step_joules"]).median}};
  std::mt19937 random{std::random_device{}()};
  for (auto const& [seconds, extra] : {std::pair{0.2, 0.0}, {0.2, 0.02}, {0.5, 0.0}, {0.5, 0.02}}) {
    if (seconds < 5 * interval) {
      std::printf("cells of %.1f s: the counter changes too rarely for them\n", seconds);
      continue;
    }
    auto const energy = [&](double work) {
      auto const in = run(chosen.place, work, launches(seconds));
      return std::log(in.per_launch * (in.joules.back() - in.joules[0]) /
                      (in.seconds.back() - in.seconds[0]));
    };
    int more = 0, less = 0;
    int const trials = chosen.quick ? 1 : 5;
    std::vector<double> widths;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> effects;
      while (static_cast<double>(effects.size() + 1) * 2 * seconds <= 10) {
        bool const swapped = random() % 2 == 0;
        double const a = energy(swapped ? 1 + extra : 1), b = energy(swapped ? 1 : 1 + extra);
        effects.push_back(swapped ? a - b : b - a);
      }
      auto const effect = stats::classify(effects, 0.01, 0.05).effect;
      more += effect.low > 0;
      less += effect.high < 0;
      widths.push_back(effect.high - effect.low);
      figures["trials"].push_back({seconds, extra, effect.low, effect.high});
    }
    figures["cells"].push_back({{"seconds", seconds},
                                {"extra", extra},
                                {"trials", trials},
                                {"more", more},
                                {"less", less},
                                {"median_width", stats::summarise(widths).median}});
    std::printf("cells of %.1f s, %.0f %% more work: more energy in %d of %d, less in %d\n",
                seconds, 100 * extra, more, trials, less);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "energy_counter", measure_all);
}
