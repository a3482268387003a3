// SPDX-License-Identifier: Apache-2.0
// What does a launch cost when 1 to 16 threads submit at once, each to a stream of its own: freely,
// under one mutex, or as graphs of one launch? And does kernel::launch cost more than the bare
// call? Predicts: free launches gain from threads up to 4 (1.2 us over all), so that there a mutex,
// at one thread's 2.6 us, costs twice as much; kernel::launch is within 2 % of the call.

#include "support/result.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/memory/async.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::kernel {

template <class T>
__global__ void nothing(T) {}

}  // namespace assay::kernel

namespace {

using namespace assay;

// Divisible by every thread count; few enough for a graph of each, many enough for the start and
// the end of a batch (some 20 us) to be lost in it.
constexpr int launches = 1600;

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One mode at one thread count, with what it measured.
struct contender {
  std::string name;
  int threads;
  std::function<submit::batch_times()> batch;
  std::vector<double> per_launch;  ///< seconds, over all threads
  std::vector<double> as_seen;     ///< seconds, by each thread
};

using memory_type = resource_of<mr::async, on::device>;
using lane_type = lane<on::device, ::cuda::stream_ref, memory_type>;

template <class Mode>
contender make(Mode const& mode, std::vector<lane_type> const& lanes) {
  auto runner = std::make_shared<decltype(mode.open(lanes))>(
      mode.open(std::vector(lanes.begin(), lanes.begin() + mode.lanes())));
  auto batch = [runner] {
    return runner->run([](lane_type& where, int number) {
      kernel::launch(kernel::nothing<int>, 1, 1, 0, where.stream, number);
    });
  };
  batch();  // records the graphs, loads the kernel
  return {std::string{Mode::name}, mode.threads, batch, {}, {}};
}

/// Seconds per launch of `launch(stream)` from this thread, until the stream has drained.
template <class Launch>
double timed(stream const& on, Launch const& launch) {
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) { launch(i); }
  on.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / launches;
}

void against_the_bare_call(on::device place, int repetitions, report::document& figures) {
  stream const on{place};
  auto const entry = kernel::nothing<int>;
  auto const ours = [&](int i) { kernel::launch(entry, 1, 1, 0, on, i); };
  auto const bare = [&](int i) {
    void* arguments[] = {&i};
    check(cudaLaunchKernel(reinterpret_cast<void const*>(entry), 1, 1, arguments, 0, on.get()));
  };
  auto const chevrons = [&](int i) {
    entry<<<1, 1, 0, on.get()>>>(i);
    check(cudaGetLastError());
  };
  std::vector<double> of_ours, of_bare, of_chevrons, ratio;
  for (int i = 0; i < repetitions; ++i) {
    of_ours.push_back(timed(on, ours));
    of_bare.push_back(timed(on, bare));
    of_chevrons.push_back(timed(on, chevrons));
    ratio.push_back(of_ours.back() / of_bare.back());
  }
  std::printf(
      "1 thread: kernel::launch %.3f us, cudaLaunchKernel %.3f us, <<<>>> %.3f us; "
      "median ratio to the bare call %.3f\n",
      median(of_ours) * 1e6, median(of_bare) * 1e6, median(of_chevrons) * 1e6, median(ratio));
  figures["single"] = {{"kernel_launch_us", median(of_ours) * 1e6},
                       {"cuda_launch_kernel_us", median(of_bare) * 1e6},
                       {"chevrons_us", median(of_chevrons) * 1e6},
                       {"ratio", median(ratio)}};
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  int const repetitions = chosen.quick ? 5 : 21;
  against_the_bare_call(chosen.place, repetitions, figures);

  std::vector<stream> streams;
  std::vector<lane_type> lanes;
  auto const memory = mr::async{}.open(chosen.place);
  for (int i = 0; i < 16; ++i) {
    streams.emplace_back(chosen.place);
    lanes.push_back({chosen.place, streams.back(), memory, i});
  }
  figures["batch_launches"] = launches;
  figures["modes"] = report::document::array();
  for (int const threads : {1, 2, 4, 8, 16}) {
    int const items = launches / threads;
    std::vector<contender> all;
    all.push_back(make(submit::concurrent{.threads = threads, .items = items}, lanes));
    all.push_back(make(submit::serialized{.threads = threads, .items = items}, lanes));
    all.push_back(make(submit::graph{.threads = threads, .items = items}, lanes));
    for (int i = 0; i < repetitions; ++i) {
      for (auto& one : all) {
        auto const times = one.batch();
        one.per_launch.push_back(times.wall / launches);
        one.as_seen.push_back(times.submit_per_item);
      }
    }
    for (auto const& one : all) {
      auto const over_all = median(one.per_launch);
      auto const as_seen = median(one.as_seen);
      std::printf(
          "%2d threads  %-19s %7.3f us a launch over all, %7.3f us as a thread sees it, "
          "%9.0f launches/s, %5.2f x concurrent\n",
          threads, one.name.c_str(), over_all * 1e6, as_seen * 1e6, 1 / over_all,
          over_all / median(all.front().per_launch));
      figures["modes"].push_back({{"threads", threads},
                                  {"mode", one.name},
                                  {"per_launch_us", over_all * 1e6},
                                  {"per_launch_as_seen_us", as_seen * 1e6},
                                  {"launches_per_second", 1 / over_all}});
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "submit_launch", measure_all);
}
