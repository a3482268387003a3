// SPDX-License-Identifier: Apache-2.0
// While one thread waits for all work of a device, which calls of other threads does the driver
// hold back? And which of these waits come after the work of a stream that was destroyed, and leave
// the capture of another thread alone?
// Predicts: cudaFree holds every call back that submits work; cudaDeviceSynchronize and a query of
// an event of the whole context hold nothing back, and end captures.

#include "support/held_work.cuh"
#include "support/result.hpp"

#include <assay/core/driver_call.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>

#include <cudaTypedefs.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::kernel {

/// Work.
template <class T>
__global__ void set(T* out) {
  *out = 1;
}

}  // namespace assay::kernel

namespace {

using namespace assay;
using namespace std::chrono_literals;

/// Memory and streams that both threads have before the wait begins.
struct state {
  explicit state(on::device where) : place(where), lane(where), other(where) {
    check(cudaMalloc(&block, size));
    check(cudaMalloc(&token, 1));
    check(cudaMallocManaged(&managed, size));
    check(cudaMallocHost(&pinned, size));
    check(cudaMallocHost(&pinned_token, size));
    check(cudaMallocAsync(&pooled, size, lane.get()));
    check(cudaMallocAsync(&pooled_token, size, lane.get()));
    kernel::launch(kernel::set<int>, 1, 1, 0, lane, block);  // what is lazy is loaded
    check(cudaMemcpyAsync(pinned, block, 4, cudaMemcpyDefault, lane.get()));
    marked.record(lane);
    lane.synchronize();
    check(cudaDeviceSynchronize());
  }
  state(state const&) = delete;
  state& operator=(state const&) = delete;
  ~state() {
    check_noexcept(cudaFree(block));
    check_noexcept(cudaFree(token));
    check_noexcept(cudaFree(managed));
    check_noexcept(cudaFreeHost(pinned));
    check_noexcept(cudaFreeHost(pinned_token));
    check_noexcept(cudaFreeAsync(pooled, lane.get()));
    if (pooled_token != nullptr) { check_noexcept(cudaFreeAsync(pooled_token, lane.get())); }
    lane.synchronize();
  }

  static constexpr std::size_t size = 1 << 20;
  on::device place;
  stream lane, other;
  event marked, whole;
  // Found before the wait: a search of the driver may be held back too.
  PFN_cuStreamIsCapturing_v10000 is_capturing =
      driver_call<PFN_cuStreamIsCapturing_v10000>("cuStreamIsCapturing", 10000);
  PFN_cuStreamGetId_v12000 get_id = driver_call<PFN_cuStreamGetId_v12000>("cuStreamGetId", 12000);
  PFN_cuMemCreate_v10020 create = driver_call<PFN_cuMemCreate_v10020>("cuMemCreate", 10020);
  PFN_cuMemRelease_v10020 release = driver_call<PFN_cuMemRelease_v10020>("cuMemRelease", 10020);
  int* block = nullptr;
  void *token = nullptr, *managed = nullptr, *pinned = nullptr, *pinned_token = nullptr,
       *pooled = nullptr, *pooled_token = nullptr;
};

struct named_call {
  std::string name;
  std::function<void(state&)> make;
};

void record_context(state& with) {
  auto const record = driver_call<PFN_cuCtxRecordEvent_v12050>("cuCtxRecordEvent", 12050);
  CUcontext context = nullptr;
  check(driver_call<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 4000)(&context));
  check(record(context, with.whole.get()));
}

std::vector<named_call> all_waits() {
  return {{"cudaFree", [](state& with) { check(cudaFree(std::exchange(with.token, nullptr))); }},
          {"cudaFree, managed memory",
           [](state& with) { check(cudaFree(std::exchange(with.managed, nullptr))); }},
          {"cudaFree, memory of cudaMallocAsync",
           [](state& with) { check(cudaFree(std::exchange(with.pooled_token, nullptr))); }},
          {"cudaFreeHost",
           [](state& with) { check(cudaFreeHost(std::exchange(with.pinned_token, nullptr))); }},
          {"cudaHostUnregister",
           [](state&) {
             std::vector<char> own(1 << 16);
             check(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault));
             check(cudaHostUnregister(own.data()));
           }},
          {"cudaFreeArray",
           [](state&) {
             auto const format = cudaCreateChannelDesc<float>();
             cudaArray_t made = nullptr;
             check(cudaMallocArray(&made, &format, 16));
             check(cudaFreeArray(made));
           }},
          {"cudaDeviceSynchronize", [](state&) { check(cudaDeviceSynchronize()); }},
          {"cuCtxRecordEvent and cudaEventQuery",
           [](state& with) {
             record_context(with);
             for (cudaError_t code; (code = cudaEventQuery(with.whole.get())) != cudaSuccess;) {
               if (code != cudaErrorNotReady) { check(code); }
               (void)cudaGetLastError();
               std::this_thread::sleep_for(100us);
             }
           }},
          {"cuCtxRecordEvent and cudaEventSynchronize", [](state& with) {
             record_context(with);
             with.whole.synchronize();
           }}};
}

std::vector<named_call> all_calls() {
  return {{"cuStreamIsCapturing",
           [](state& with) {
             auto status = CU_STREAM_CAPTURE_STATUS_NONE;
             check(with.is_capturing(with.lane.get(), &status));
           }},
          {"cuStreamGetId",
           [](state& with) {
             unsigned long long id = 0;
             check(with.get_id(with.lane.get(), &id));
           }},
          {"cudaStreamIsCapturing",
           [](state& with) {
             auto status = cudaStreamCaptureStatusNone;
             check(cudaStreamIsCapturing(with.lane.get(), &status));
           }},
          {"cudaEventCreate", [](state&) { event const made; }},
          {"cudaEventRecord", [](state& with) { with.marked.record(with.lane); }},
          {"cudaEventQuery",
           [](state& with) {
             auto const code = cudaEventQuery(with.marked.get());
             if (code != cudaErrorNotReady) { check(code); }
           }},
          {"cudaStreamWaitEvent",
           [](state& with) { check(cudaStreamWaitEvent(with.other.get(), with.marked.get(), 0)); }},
          {"a kernel",
           [](state& with) { kernel::launch(kernel::set<int>, 1, 1, 0, with.lane, with.block); }},
          {"cudaMemcpyAsync",
           [](state& with) {
             check(cudaMemcpyAsync(with.pinned, with.block, 4, cudaMemcpyDefault, with.lane.get()));
           }},
          {"cudaLaunchHostFunc",
           [](state& with) { check(cudaLaunchHostFunc(with.lane.get(), [](void*) {}, nullptr)); }},
          {"cudaStreamSynchronize", [](state& with) { with.lane.synchronize(); }},
          {"cudaMallocAsync and cudaFreeAsync",
           [](state& with) {
             void* made = nullptr;
             check(cudaMallocAsync(&made, 4096, with.lane.get()));
             check(cudaFreeAsync(made, with.lane.get()));
           }},
          {"cudaMalloc",
           [](state&) {
             void* made = nullptr;
             check(cudaMalloc(&made, 1 << 20));  // not given back: cudaFree waits itself
           }},
          {"cudaHostAlloc",
           [](state&) {
             void* made = nullptr;
             check(cudaMallocHost(&made, 1 << 20));
           }},
          {"cuMemCreate and cuMemRelease",
           [](state& with) {
             CUmemAllocationProp property{};
             property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
             property.location = {CU_MEM_LOCATION_TYPE_DEVICE, with.place.id};
             CUmemGenericAllocationHandle made = 0;
             check(with.create(&made, std::size_t{2} << 20U, &property, 0));
             check(with.release(made));
           }},
          {"cudaStreamCreate and cudaStreamDestroy",
           [](state& with) { stream const made{with.place}; }}};
}

/// A call on a thread of its own, which tells when it is over.
class running_call {
 public:
  running_call(state& with, named_call const& what)
      : thread_([this, &with, &what] {
          check(cudaSetDevice(with.place.id));
          relaxed_capture_guard const relaxed;
          began_ = true;
          try {
            what.make(with);
          } catch (std::exception const& error) { failure_ = error.what(); }
          (void)cudaGetLastError();
          over_ = true;
        }) {
    while (!began_) { std::this_thread::yield(); }
  }
  /// False if it is not over within this time.
  bool over_within(std::chrono::milliseconds limit) const {
    for (auto const end = std::chrono::steady_clock::now() + limit; !over_;) {
      if (std::chrono::steady_clock::now() > end) { return false; }
      std::this_thread::sleep_for(100us);
    }
    return true;
  }
  std::string const& failure() {
    thread_.join();
    return failure_;
  }

 private:
  std::atomic<bool> began_{false}, over_{false};
  std::string failure_;
  std::jthread thread_;
};

report::document beside_capture(on::device place, named_call const& wait) {
  state with{place};
  stream const captured{place};
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  running_call running{with, wait};
  auto const failure = running.failure();
  cudaGraph_t graph = nullptr;
  auto const end = cudaStreamEndCapture(captured.get(), &graph);
  (void)cudaGetLastError();
  if (graph != nullptr) { check(cudaGraphDestroy(graph)); }
  return {{"failure_beside_a_capture", failure}, {"capture_ends_with", cudaGetErrorName(end)}};
}

void try_all(benchmark::options const& chosen, report::document& figures) {
  for (auto const& wait : all_waits()) {
    auto row = beside_capture(chosen.place, wait);
    row["wait"] = wait.name;
    bool waits = true;
    std::string held;
    for (auto const& call : all_calls()) {
      state with{chosen.place};
      {
        benchmark::held_work busy{chosen.place};
        running_call waiting{with, wait};
        waits = !waiting.over_within(30ms);
        running_call other{with, call};
        if (waits && !other.over_within(200ms)) {
          held += (held.empty() ? "" : ", ") + call.name;
          row["held_back"].push_back(call.name);
        }
        busy.let_go();
        for (auto const& failure : {waiting.failure(), other.failure()}) {
          if (!failure.empty()) { row["failures"].push_back(call.name + ": " + failure); }
        }
      }
      if (!waits) { break; }
    }
    row["waits_for_destroyed_streams"] = waits;
    std::printf("%s %s for work of a destroyed stream; a capture beside it: %s\n  holds back: %s\n",
                wait.name.c_str(), waits ? "waits" : "does not wait",
                row["capture_ends_with"].get<std::string>().c_str(),
                held.empty() ? "nothing" : held.c_str());
    if (row.contains("failures")) { std::printf("  %s\n", row["failures"].dump().c_str()); }
    std::fflush(stdout);
    figures["waits"].push_back(std::move(row));
    if (chosen.save) { chosen.save(figures); }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "driver_locks", try_all);
}
