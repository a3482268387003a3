// SPDX-License-Identifier: Apache-2.0
// Does the verdict hold for the callables that a stranger writes first? Launches of which some are
// slow, equal work over buffers that the program keeps, kernels without work, work in place.
// Predicts: 12 of 12 variants with slow launches are SLOWER and the true ratio of means lies in 10
// of 12 intervals; at most 5 signs in 112 comparisons of equal work over own buffers, and 60
// decided; no sign for kernels without work; a sort in place and one of a copy have the same sign.

#include "support/calibration.cuh"
#include "support/resumable_trials.hpp"

#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace assay::benchmark {

namespace kernel {

template <class Count>
__global__ void spin(Count cycles) {
  auto const begin = clock64();
  while (clock64() - begin < cycles) {}
}

template <class T>
__global__ void scale_in_place(T* x, std::size_t count, T by) {
  for (std::size_t const i : assay::kernel::grid_stride(count)) { x[i] *= by; }
}

/// Sorts blocks of 1024 elements by odd-even passes, and ends early where a block is sorted.
template <class T>
__global__ void sort_blocks(T* all, int rounds) {
  __shared__ T part[1024];
  auto const mine = blockIdx.x * 1024 + threadIdx.x;
  part[threadIdx.x] = all[mine];
  __syncthreads();
  bool changed = true;
  for (int round = 0; round < rounds && changed; ++round) {
    changed = false;
    for (unsigned pass = 0; pass < 2; ++pass) {
      auto const left = 2 * threadIdx.x + pass;
      if (left + 1 < 1024 && part[left] > part[left + 1]) {
        T const kept = part[left];
        part[left] = part[left + 1];
        part[left + 1] = kept;
        changed = true;
      }
      __syncthreads();
    }
    changed = __syncthreads_or(changed);
  }
  all[mine] = part[threadIdx.x];
}

}  // namespace kernel

namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;

void enqueue_spin(cudaStream_t on, long long cycles) { kernel::spin<<<1, 1, 0, on>>>(cycles); }

/// Cycles of a spinning kernel that takes so long.
long long cycles_for(on::device place, double seconds) {
  stream const where{place};
  std::array<event, 2> marks{event{event::kind::timed}, event{event::kind::timed}};
  constexpr long long probe = 10'000'000;
  for (int i = 0; i < 2; ++i) {
    marks[0].record(where);
    enqueue_spin(where.get(), probe);
    marks[1].record(where);
    where.synchronize();
  }
  return static_cast<long long>(probe * seconds / marks[1].seconds_since(marks[0]));
}

/// One launch in `period` takes three times as long. The row has the true ratio of mean times.
trial_kind slow_launches(on::device const& place, int period, double seconds) {
  auto name = "1 in " + std::to_string(period) + ", " +
              std::to_string(static_cast<int>(seconds * 1e6)) + " us";
  return {std::move(name), {"launch"}, [&place, period, seconds](std::string const&) {
            auto const cycles = cycles_for(place, seconds);
            auto const triple = 3 * cycles;
            long calls = 0;
            auto const steady = [=](cudaStream_t on) { enqueue_spin(on, cycles); };
            auto const uneven = [&calls, cycles, triple, period](cudaStream_t on) {
              enqueue_spin(on, ++calls % period == 0 ? triple : cycles);
            };
            auto row = trial_of(compare("steady", steady, "uneven", uneven, {.place = place}));
            // A launch costs some microseconds beside its cycles, of which slow ones have as many.
            auto const found = row.at("launch_seconds").get<double>();
            row["truth"] = 1 + 2.0 / period * seconds / found;
            return row;
          }};
}

/// Equal work over buffers that the program allocates once and keeps.
trial_kind own_buffers(on::device const& place, std::size_t mebibytes) {
  return {std::to_string(mebibytes) + " MiB", {"launch"}, [&place, mebibytes](std::string const&) {
            device_guard const guard{place};
            auto const count = mebibytes * mib / sizeof(float);
            device_block const x{place, mebibytes * mib};
            device_block const y{place, mebibytes * mib};
            auto const scaling = [count](void* data) {
              check(cudaMemset(data, 0, count * sizeof(float)));
              return [at = static_cast<float*>(data), count](cudaStream_t on) {
                kernel::scale_in_place<<<1056, 256, 0, on>>>(at, count, 1.5F);
              };
            };
            return compare("x", scaling(x.get()), "y", scaling(y.get()), {.place = place});
          }};
}

/// A kernel whose work was removed, or that has none.
trial_kind without_work(on::device const& place) {
  return {"kernel without work", {"launch"}, [&place](std::string const&) {
            auto const idle = [](cudaStream_t on) { enqueue_spin(on, 0); };
            return compare("a", idle, "b", idle, {.place = place});
          }};
}

/// 64 rounds of sorting against as many as it takes: in place from `inout`, or of a copy.
trial_kind in_place(on::device const& place) {
  return {"sort", {"in place", "copied first"}, [&place](std::string const& form) {
            constexpr std::size_t count = 1 << 18;
            std::vector<int> data(count);
            std::mt19937 numbers{1};
            for (auto& each : data) { each = static_cast<int>(numbers()); }
            auto const sorting = [&](int rounds) -> work_maker {
              return [&, rounds](setup& make) -> enqueue_function {
                if (form == "in place") {
                  auto const x = make.inout(data);
                  return [=](cudaStream_t on) {
                    kernel::sort_blocks<<<count / 1024, 1024, 0, on>>>(x.data(), rounds);
                  };
                }
                auto const from = make.from(data);
                auto const x = make.scratch<int>(count);
                return [=](cudaStream_t on) {
                  check(cudaMemcpyAsync(x.data(), from.data(), count * sizeof(int),
                                        cudaMemcpyDeviceToDevice, on));
                  kernel::sort_blocks<<<count / 1024, 1024, 0, on>>>(x.data(), rounds);
                };
              };
            };
            return compare("all rounds", sorting(1024), "64 rounds", sorting(64), {.place = place});
          }};
}

/// Adds up how many intervals hold the truth.
report::document coverage_of(std::vector<trial> const& rows) {
  report::document found;
  int covered = 0;
  for (auto const& each : rows) {
    bool const bounded = !each.at("low").is_null() && !each.at("high").is_null();
    covered += bounded && each.at("low") <= each.at("truth") && each.at("truth") <= each.at("high");
  }
  found["trials"] = rows.size();
  found["slower"] = count_of(rows, measure::verdict::slower);
  found["covered"] = covered;
  std::printf("slow launches: %d of %zu SLOWER, truth in %d intervals\n",
              found["slower"].get<int>(), rows.size(), covered);
  return found;
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  on::device place;
  std::vector<trial_kind> slow, own;
  for (int const period : {5, 7, 9, 20}) {
    for (double const seconds : {10e-6, 100e-6, 1e-3}) {
      slow.push_back(slow_launches(place, period, seconds));
    }
  }
  for (std::size_t const mebibytes : {1, 2, 4, 8, 16, 64, 256}) {
    own.push_back(own_buffers(place, mebibytes));
  }
  std::vector const empty{without_work(place)};
  std::vector const sorts{in_place(place)};
  trial_plan const plan;
  return benchmark::run(
      argc, argv, "plain_callables",
      [&](benchmark::options const& chosen, report::document& figures) {
        place = chosen.place;
        resumable_trials trials{chosen, plan, figures};
        int const many = chosen.quick ? 1 : 16;
        trials.run("slow_launches", slow, 1);
        figures["slow_launches"]["total"] = coverage_of(trials.rows("slow_launches"));
        trials.run("own_buffers", own, many);
        trials.count_false_alarms("own_buffers", own);
        trials.run("without_work", empty, many);
        trials.count_false_alarms("without_work", empty);
        trials.run("in_place", sorts, 2);
        for (auto const& row : trials.rows("in_place")) {
          std::printf("sort, %s: %s, %.3f\n", row.at("form").get<std::string>().c_str(),
                      row.at("outcome").get<std::string>().c_str(), row.at("ratio").get<double>());
        }
      });
}
