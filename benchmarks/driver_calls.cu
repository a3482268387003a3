// SPDX-License-Identifier: Apache-2.0
// What do the calls of the driver cost that a stream-ordered pool can choose from, when 1 to 16
// threads make them at once, each on a stream of its own? And does an event of the whole context
// come after the work of a stream that was destroyed with work pending?
// Predicts: cudaStreamGetId 0.1 us from one thread and 2 us from 16; an event 0.5 us from one;
// cudaStreamIsCapturing like cudaStreamGetId; the event of a context comes after such work.

#include "support/result.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/stats/summary.hpp>

#include <cudaTypedefs.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::kernel {

/// Sets `*done` to 1 after `nanoseconds`.
template <class T>
__global__ void set_late(T* done, long long nanoseconds) {
  long long begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  for (long long now = begin; now - begin < nanoseconds;) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  }
  *done = 1;
}

}  // namespace assay::kernel

namespace {

using namespace assay;

/// What one thread calls: a stream, an event that has passed, and the context's entry point.
struct thread_state {
  stream on;
  event marked;
  PFN_cuCtxRecordEvent_v12050 record_context = nullptr;
  CUcontext context = nullptr;
};

struct timed_call {
  std::string name;
  std::function<void(thread_state&)> make;
};

template <class F>
void find_driver_call(char const* name, unsigned since, F& into) {
  void* entry = nullptr;
  auto status = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(name, &entry, since, cudaEnableDefault, &status));
  into = status == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(entry) : nullptr;
}

/// The driver's entry for an event of the whole context, null before CUDA 12.5, and the context.
void find_context(thread_state& here) {
  find_driver_call("cuCtxRecordEvent", 12050, here.record_context);
  PFN_cuCtxGetCurrent_v4000 current = nullptr;
  find_driver_call("cuCtxGetCurrent", 4000, current);
  if (current != nullptr) { check(static_cast<cudaError_t>(current(&here.context))); }
}

std::vector<timed_call> all_calls() {
  std::vector<timed_call> calls;
  calls.push_back({"cudaStreamGetId", [](thread_state& here) {
                     unsigned long long id = 0;
                     check(cudaStreamGetId(here.on.get(), &id));
                   }});
  calls.push_back({"cudaStreamIsCapturing", [](thread_state& here) {
                     auto status = cudaStreamCaptureStatusNone;
                     check(cudaStreamIsCapturing(here.on.get(), &status));
                   }});
  calls.push_back({"cudaEventRecord", [](thread_state& here) { here.marked.record(here.on); }});
  calls.push_back({"cudaEventQuery", [](thread_state& here) {
                     if (cudaEventQuery(here.marked.get()) != cudaSuccess) {
                       (void)cudaGetLastError();
                     }
                   }});
  calls.push_back({"cudaStreamWaitEvent", [](thread_state& here) {
                     check(cudaStreamWaitEvent(here.on.get(), here.marked.get(), 0));
                   }});
  calls.push_back(
      {"cudaEventCreate and cudaEventDestroy", [](thread_state&) { event const made; }});
  calls.push_back(
      {"cuCtxRecordEvent", [](thread_state& here) {
         check(static_cast<cudaError_t>(here.record_context(here.context, here.marked.get())));
       }});
  calls.push_back({"cudaMallocAsync and cudaFreeAsync, 4 KiB", [](thread_state& here) {
                     void* block = nullptr;
                     check(cudaMallocAsync(&block, 4096, here.on.get()));
                     check(cudaFreeAsync(block, here.on.get()));
                   }});
  return calls;
}

/// Seconds of each call, of all threads together. Streams are drained now and then, so that no
/// queue of the device fills up; those calls are not timed.
std::vector<double> time_calls(on::device place, timed_call const& what, int threads, int rounds) {
  using clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> seconds(static_cast<std::size_t>(threads));
  std::barrier together{threads};
  std::vector<std::jthread> team;
  for (auto& mine : seconds) {
    team.emplace_back([&] {
      device_guard const guard{place};
      thread_state here{stream{place}, event{}};
      find_context(here);
      mine.reserve(static_cast<std::size_t>(rounds));
      for (int i = -100; i < rounds; ++i) {
        if (i % 256 == 0) {
          here.on.synchronize();
          together.arrive_and_wait();
        }
        auto const begin = clock::now();
        what.make(here);
        auto const end = clock::now();
        if (i >= 0) { mine.push_back(std::chrono::duration<double>(end - begin).count()); }
      }
    });
  }
  team.clear();
  std::vector<double> all;
  for (auto const& mine : seconds) { all.insert(all.end(), mine.begin(), mine.end()); }
  std::sort(all.begin(), all.end());
  return all;
}

/// Whether the event of a context waits for the kernel of a stream that was destroyed meanwhile.
bool covers_destroyed_streams(on::device place) {
  device_guard const guard{place};
  int* done = nullptr;
  check(cudaMallocHost(&done, sizeof *done));
  *done = 0;
  event mark;
  thread_state here{stream{place}, event{}};
  find_context(here);
  {
    stream const gone{place};
    kernel::launch(kernel::set_late<int>, 1, 1, 0, gone, done, 50'000'000LL);
  }
  check(static_cast<cudaError_t>(here.record_context(here.context, mark.get())));
  mark.synchronize();
  bool const covered = *static_cast<int volatile*>(done) == 1;
  check(cudaDeviceSynchronize());
  check(cudaFreeHost(done));
  return covered;
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  device_guard const guard{chosen.place};
  thread_state here{stream{chosen.place}, event{}};
  find_context(here);
  int const rounds = chosen.quick ? 512 : 8192;
  for (auto const& what : all_calls()) {
    if (what.name == "cuCtxRecordEvent" && here.record_context == nullptr) { continue; }
    for (int const threads : {1, 4, 16}) {
      auto const sorted = time_calls(chosen.place, what, threads, rounds);
      auto const p50 = stats::quantile(sorted, 0.5);
      auto const p99 = stats::quantile(sorted, 0.99);
      std::printf("%-40s %2d threads: %8.0f ns, p99 %8.0f ns\n", what.name.c_str(), threads,
                  p50 * 1e9, p99 * 1e9);
      figures["rows"].push_back(
          {{"call", what.name}, {"threads", threads}, {"p50_seconds", p50}, {"p99_seconds", p99}});
    }
  }
  if (here.record_context == nullptr) { return; }
  bool const covered = covers_destroyed_streams(chosen.place);
  std::printf("the event of a context %s the work of a destroyed stream\n",
              covered ? "waits for" : "does not wait for");
  figures["context_event_covers_destroyed_streams"] = covered;
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "driver_calls", measure_all);
}
