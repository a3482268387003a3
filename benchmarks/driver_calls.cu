// SPDX-License-Identifier: Apache-2.0
// What do the calls of the driver cost that a stream-ordered pool can choose from, when 1 to 16
// threads make them at once, each on a stream of its own? Does an event of the whole context come
// after the work of a stream that was destroyed with work pending? Which calls fail beside a stream
// that is being captured, and which of them break its capture?
// Predicts: cudaStreamGetId 0.1 us from one thread and 2 us from 16; an event 0.5 us from one;
// cudaStreamIsCapturing like cudaStreamGetId; the event of a context comes after such work.

#include "support/result.hpp"

#include <assay/core/driver_call.hpp>
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
  PFN_cuStreamGetId_v12000 driver_id = nullptr;
  PFN_cuStreamIsCapturing_v10000 driver_capturing = nullptr;
  CUcontext context = nullptr;
};

struct timed_call {
  std::string name;
  std::function<void(thread_state&)> make;
};

/// The driver's entries (that for an event of the whole context is null before CUDA 12.5), and the
/// context.
void find_context(thread_state& here) {
  here.record_context =
      driver_call_or_null<decltype(here.record_context)>("cuCtxRecordEvent", 12050);
  here.driver_id = driver_call<decltype(here.driver_id)>("cuStreamGetId", 12000);
  here.driver_capturing =
      driver_call<decltype(here.driver_capturing)>("cuStreamIsCapturing", 10000);
  check(driver_call<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000)(&here.context));
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
  calls.push_back({"cudaStreamGetId and cudaStreamIsCapturing", [](thread_state& here) {
                     unsigned long long id = 0;
                     auto status = cudaStreamCaptureStatusNone;
                     check(cudaStreamIsCapturing(here.on.get(), &status));
                     check(cudaStreamGetId(here.on.get(), &id));
                   }});
  calls.push_back({"cuStreamGetId", [](thread_state& here) {
                     unsigned long long id = 0;
                     check(here.driver_id(here.on.get(), &id));
                   }});
  calls.push_back({"cuStreamIsCapturing", [](thread_state& here) {
                     auto status = CU_STREAM_CAPTURE_STATUS_NONE;
                     check(here.driver_capturing(here.on.get(), &status));
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
  calls.push_back({"cuCtxRecordEvent", [](thread_state& here) {
                     check(here.record_context(here.context, here.marked.get()));
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
  check(here.record_context(here.context, mark.get()));
  mark.synchronize();
  bool const covered = *static_cast<int volatile*>(done) == 1;
  check(cudaDeviceSynchronize());
  check(cudaFreeHost(done));
  return covered;
}

/// Whether `cudaFree`, on a thread in the relaxed mode and beside a capture, waits for the kernel
/// of a stream that was destroyed with work pending, and what that does to the capture.
report::document free_beside_capture(on::device place) {
  device_guard const guard{place};
  int* done = nullptr;
  check(cudaMallocHost(&done, sizeof *done));
  *done = 0;
  void* block = nullptr;
  check(cudaMalloc(&block, 1 << 20));
  stream const captured{place};
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  auto mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode));
  {
    stream const gone{place};
    kernel::launch(kernel::set_late<int>, 1, 1, 0, gone, done, 50'000'000LL);
  }
  auto const code = cudaFree(block);
  bool const waited = *static_cast<int volatile*>(done) == 1;
  check(cudaThreadExchangeStreamCaptureMode(&mode));
  (void)cudaGetLastError();
  cudaGraph_t graph = nullptr;
  auto const end = cudaStreamEndCapture(captured.get(), &graph);
  if (graph != nullptr) { (void)cudaGraphDestroy(graph); }
  (void)cudaGetLastError();
  check(cudaDeviceSynchronize());
  check(cudaFreeHost(done));
  std::printf("cudaFree beside a capture %s the work of a destroyed stream: %s, capture: %s\n",
              waited ? "waits for" : "does not wait for", cudaGetErrorName(code),
              cudaGetErrorName(end));
  return {{"waits_for_destroyed_streams", waited},
          {"returns", cudaGetErrorName(code)},
          {"capture_ends_with", cudaGetErrorName(end)}};
}

/// A call of the runtime beside a capture. `captured` is the stream of the capture, `other` is not
/// part of it, and the event was recorded on `other` before.
struct call_beside_capture {
  std::string name;
  std::function<cudaError_t(stream const& captured, thread_state& other)> make;
};

cudaError_t map_and_unmap(on::device place) {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location = {CU_MEM_LOCATION_TYPE_DEVICE, place.id};
  auto const create = driver_call<PFN_cuMemCreate_v10020>("cuMemCreate", 10020);
  auto const release = driver_call<PFN_cuMemRelease_v10020>("cuMemRelease", 10020);
  CUmemGenericAllocationHandle made = 0;
  auto const code = create(&made, std::size_t{2} << 20U, &property, 0);
  if (code == CUDA_SUCCESS) { release(made); }
  return static_cast<cudaError_t>(code);
}

std::vector<call_beside_capture> calls_beside_capture(on::device place) {
  auto const id_of = [](cudaStream_t of) {
    unsigned long long id = 0;
    return cudaStreamGetId(of, &id);
  };
  auto const status_of = [](cudaStream_t of) {
    auto status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(of, &status);
  };
  return {
      {"cudaStreamGetId, the captured stream",
       [=](stream const& captured, thread_state&) { return id_of(captured.get()); }},
      {"cudaStreamGetId, another stream",
       [=](stream const&, thread_state& other) { return id_of(other.on.get()); }},
      {"cudaStreamGetId, the legacy stream",
       [=](stream const&, thread_state&) { return id_of(cudaStreamLegacy); }},
      {"cudaStreamIsCapturing, the captured stream",
       [=](stream const& captured, thread_state&) { return status_of(captured.get()); }},
      {"cudaStreamIsCapturing, another stream",
       [=](stream const&, thread_state& other) { return status_of(other.on.get()); }},
      {"cudaStreamIsCapturing, the legacy stream",
       [=](stream const&, thread_state&) { return status_of(cudaStreamLegacy); }},
      {"cudaEventRecord, another stream",
       [](stream const&, thread_state& other) {
         return cudaEventRecord(other.marked.get(), other.on.get());
       }},
      {"cudaEventQuery",
       [](stream const&, thread_state& other) { return cudaEventQuery(other.marked.get()); }},
      {"cudaEventSynchronize",
       [](stream const&, thread_state& other) { return cudaEventSynchronize(other.marked.get()); }},
      {"cudaStreamWaitEvent, another stream",
       [](stream const&, thread_state& other) {
         return cudaStreamWaitEvent(other.on.get(), other.marked.get(), 0);
       }},
      {"cudaStreamWaitEvent, the captured stream",
       [](stream const& captured, thread_state& other) {
         return cudaStreamWaitEvent(captured.get(), other.marked.get(), 0);
       }},
      {"cudaEventCreate",
       [](stream const&, thread_state&) {
         cudaEvent_t made = nullptr;
         auto const code = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
         if (code == cudaSuccess) { (void)cudaEventDestroy(made); }
         return code;
       }},
      {"cudaMalloc",
       [](stream const&, thread_state&) {
         void* made = nullptr;
         auto const code = cudaMalloc(&made, 1 << 20);
         if (code == cudaSuccess) { (void)cudaFree(made); }
         return code;
       }},
      {"cuMemCreate and cuMemRelease",
       [place](stream const&, thread_state&) { return map_and_unmap(place); }},
      {"cudaStreamSynchronize, another stream",
       [](stream const&, thread_state& other) { return cudaStreamSynchronize(other.on.get()); }},
      {"cudaDeviceSynchronize",
       [](stream const&, thread_state&) { return cudaDeviceSynchronize(); }},
      {"cuCtxRecordEvent", [](stream const&, thread_state& other) {
         return static_cast<cudaError_t>(other.record_context(other.context, other.marked.get()));
       }}};
}

/// Makes one call while a stream is captured in the mode `global`, on the capturing thread or on
/// another; `relaxed`: the caller's own mode is relaxed for the call.
report::document beside_capture(on::device place, call_beside_capture const& what, bool same_thread,
                                bool relaxed) {
  stream const captured{place};
  thread_state other{stream{place}, event{}};
  find_context(other);
  other.marked.record(other.on);
  other.on.synchronize();
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  cudaError_t code = cudaSuccess;
  auto const call = [&] {
    device_guard const guard{place};
    auto mode = relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
    check(cudaThreadExchangeStreamCaptureMode(&mode));
    code = what.make(captured, other);
    check(cudaThreadExchangeStreamCaptureMode(&mode));
    (void)cudaGetLastError();
  };
  if (same_thread) {
    call();
  } else {
    std::jthread{call}.join();
  }
  cudaGraph_t graph = nullptr;
  auto const end = cudaStreamEndCapture(captured.get(), &graph);
  if (graph != nullptr) { (void)cudaGraphDestroy(graph); }
  (void)cudaGetLastError();
  (void)cudaDeviceSynchronize();
  return {{"call", what.name},
          {"thread", same_thread ? "capturing" : "another"},
          {"mode", relaxed ? "relaxed" : "global"},
          {"returns", cudaGetErrorName(code)},
          {"capture_ends_with", cudaGetErrorName(end)}};
}

void call_all_beside_captures(on::device place, report::document& figures) {
  for (auto const& what : calls_beside_capture(place)) {
    for (bool const same_thread : {false, true}) {
      for (bool const relaxed : {false, true}) {
        auto row = beside_capture(place, what, same_thread, relaxed);
        std::printf("%-44s %-10s %-8s %-36s capture: %s\n", what.name.c_str(),
                    row["thread"].get<std::string>().c_str(),
                    row["mode"].get<std::string>().c_str(),
                    row["returns"].get<std::string>().c_str(),
                    row["capture_ends_with"].get<std::string>().c_str());
        figures["beside_captures"].push_back(std::move(row));
      }
    }
  }
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
  call_all_beside_captures(chosen.place, figures);
  figures["free_beside_capture"] = free_beside_capture(chosen.place);
  bool const covered = covers_destroyed_streams(chosen.place);
  std::printf("the event of a context %s the work of a destroyed stream\n",
              covered ? "waits for" : "does not wait for");
  figures["context_event_covers_destroyed_streams"] = covered;
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "driver_calls", measure_all);
}
