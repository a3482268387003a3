// SPDX-License-Identifier: Apache-2.0
/// @file
/// Candidates for `tests/referee.cu`, honest ones and cheats. The name of the file under which this
/// library is loaded selects one.
#include <assay/referee/candidate.h>

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "device_work.cuh"

namespace {

void must(cudaError_t code) {
  if (code != cudaSuccess) { throw std::runtime_error(cudaGetErrorString(code)); }
}

cudaStream_t new_stream() {
  cudaStream_t made = nullptr;
  must(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

/// A stream of the candidate, made when it is used first, and what orders it behind and before
/// another.
class side_stream {
 public:
  side_stream() = default;
  side_stream(side_stream const&) = delete;
  ~side_stream() {
    if (stream_ == nullptr) { return; }
    (void)cudaEventDestroy(event_);
    (void)cudaStreamDestroy(stream_);
  }

  cudaStream_t get() {
    if (stream_ == nullptr) {
      stream_ = new_stream();
      must(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    }
    return stream_;
  }
  void fork(cudaStream_t from) {
    (void)get();
    must(cudaEventRecord(event_, from));
    must(cudaStreamWaitEvent(stream_, event_));
  }
  void join(cudaStream_t to) const {
    must(cudaEventRecord(event_, stream_));
    must(cudaStreamWaitEvent(to, event_));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

/// Memory of the candidate, which grows when a larger size comes.
class workspace {
 public:
  workspace() = default;
  workspace(workspace const&) = delete;
  ~workspace() {
    if (data_ != nullptr) { (void)cudaFree(data_); }
  }

  float* of(std::size_t n) {
    if (n > size_) {
      must(cudaFree(data_));
      must(cudaMalloc(&data_, n * sizeof(float)));
      size_ = n;
    }
    return data_;
  }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
__global__ void scale_in_bfloat16(T const* x, T* y, std::size_t n, T a) {
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    y[i] = a * __uint_as_float(__float_as_uint(x[i]) & 0xFFFF0000U) + 1;
  }
}

template <class T>
__global__ void scale_in_place(T* x, T* y, std::size_t n, T a) {
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    x[i] *= a;
    y[i] = x[i] + 1;
  }
}

template <class T>
__global__ void scale_without_nan(T const* x, T* y, std::size_t n, T a) {
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    y[i] = a * fmaxf(x[i], -1.0f) + 1;
  }
}

/// Works only over outputs that are NaN at their end, as poison is.
template <class T>
__global__ void scale_over_poison(T const* x, T* y, std::size_t n, T a) {
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    if (isnan(y[i])) { y[i] = a * x[i] + 1; }
  }
}

template <class T>
__global__ void set_one(T* at, T value) {
  *at = value;
}

using work = std::function<int(device_task const&, cudaStream_t)>;

/// The path under which this library was loaded.
std::filesystem::path this_file() {
  ::Dl_info here{};
  ::dladdr(reinterpret_cast<void*>(&assay_candidate), &here);
  return here.dli_fname;
}

std::map<std::string, work> cheats() {
  std::map<std::string, work> all;
  all["other-stream"] = [side = std::make_shared<side_stream>()](
                            device_task const& of, cudaStream_t) { return of.run(side->get()); };
  all["default-stream"] = [](device_task const& of, cudaStream_t) { return of.run(nullptr); };
  all["unjoined-stream"] = [side = std::make_shared<side_stream>()](device_task const& of,
                                                                    cudaStream_t on) {
    side->fork(on);
    must(cudaLaunchHostFunc(
        side->get(), [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds{1}); },
        nullptr));
    return of.part(0, of.n / 8, on) + of.part(of.n / 8, of.n, side->get());
  };
  all["late-thread"] = [](device_task const& of, cudaStream_t) {
    std::thread{[of] {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      (void)of.run(new_stream());
    }}.detach();
    return 0;
  };
  all["kept-by-address"] = [kept = std::map<void*, float*>{}](device_task const& of,
                                                              cudaStream_t on) mutable {
    auto& results = kept[of.y];
    auto const bytes = of.n * sizeof(float);
    if (results == nullptr) {
      must(cudaMalloc(&results, bytes));
      (void)of.run(on);
      must(cudaMemcpyAsync(results, of.y, bytes, cudaMemcpyDeviceToDevice, on));
    }
    must(cudaMemcpyAsync(of.y, results, bytes, cudaMemcpyDeviceToDevice, on));
    return 0;
  };
  all["only-over-poison"] = [](device_task const& of, cudaStream_t on) {
    scale_over_poison<float><<<2048, 256, 0, on>>>(of.x, of.y, of.n, of.a);
    return 0;
  };
  all["nothing"] = [](device_task const&, cudaStream_t) { return 0; };
  all["all-but-one"] = [](device_task const& of, cudaStream_t on) {
    return of.part(0, of.n - 1, on);
  };
  all["past-the-end"] = [](device_task const& of, cudaStream_t on) {
    set_one<float><<<1, 1, 0, on>>>(of.y + of.n, 0);
    return of.run(on);
  };
  all["whole-blocks"] = [](device_task const& of, cudaStream_t on) {
    return of.part(0, of.n / 256 * 256, on);
  };
  all["no-nan"] = [](device_task const& of, cudaStream_t on) {
    scale_without_nan<float><<<2048, 256, 0, on>>>(of.x, of.y, of.n, of.a);
    return 0;
  };
  all["in-place"] = [](device_task const& of, cudaStream_t on) {
    scale_in_place<float><<<2048, 256, 0, on>>>(of.x, of.y, of.n, of.a);
    return 0;
  };
  all["bfloat16"] = [](device_task const& of, cudaStream_t on) {
    scale_in_bfloat16<float><<<2048, 256, 0, on>>>(of.x, of.y, of.n, of.a);
    return 0;
  };
  all["next-call"] = [late = std::map<int, device_task>{}](device_task const& of,
                                                           cudaStream_t on) mutable {
    int const code = late.empty() ? 0 : late.at(0).run(on);
    late.insert_or_assign(0, of);
    return code;
  };
  all["leak"] = [](device_task const& of, cudaStream_t on) {
    void* block = nullptr;
    must(cudaMalloc(&block, 1 << 16));
    return of.run(on);
  };
  all["device-limit"] = [](device_task const& of, cudaStream_t on) {
    must(cudaDeviceSetLimit(cudaLimitMallocHeapSize, std::size_t{32} << 20U));
    return of.run(on);
  };
  // A graph of the first call, which writes to the buffers of that call for ever.
  all["first-graph"] = [graph = cudaGraphExec_t{}](device_task const& of, cudaStream_t on) mutable {
    if (graph == nullptr) {
      cudaGraph_t drawn = nullptr;
      must(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
      (void)of.run(on);
      must(cudaStreamEndCapture(on, &drawn));
      must(cudaGraphInstantiate(&graph, drawn, 0));
    }
    must(cudaGraphLaunch(graph, on));
    return 0;
  };
  all["left-behind"] = [is_first = true](device_task const& of, cudaStream_t on) mutable {
    void* block = nullptr;
    if (std::exchange(is_first, false)) { must(cudaMalloc(&block, 8 << 20)); }
    return of.run(on);
  };
  all["idle-once-timed"] = [mark = this_file().parent_path() / "compared"](
                                     device_task const& of, cudaStream_t on) {
    return ::access(mark.c_str(), F_OK) == 0 ? 0 : of.run(on);
  };
  return all;
}

std::map<std::string, work> honest() {
  std::map<std::string, work> all;
  all["plain"] = [](device_task const& of, cudaStream_t on) { return of.run(on); };
  all["joined-stream"] = [side = std::make_shared<side_stream>()](device_task const& of,
                                                                  cudaStream_t on) {
    side->fork(on);
    int const code = of.part(0, of.n / 2, on) + of.part(of.n / 2, of.n, side->get());
    side->join(on);
    return code;
  };
  all["waits"] = [](device_task const& of, cudaStream_t on) {
    int const code = of.run(on);
    must(cudaStreamSynchronize(on));
    return code;
  };
  all["scratch"] = [](device_task const& of, cudaStream_t on) {
    void* block = nullptr;
    must(cudaMallocAsync(&block, of.n * sizeof(float), on));
    must(cudaMemcpyAsync(block, of.x, of.n * sizeof(float), cudaMemcpyDeviceToDevice, on));
    int const code = of.run(on);
    must(cudaFreeAsync(block, on));
    return code;
  };
  all["workspace"] = [space = std::make_shared<workspace>()](device_task const& of,
                                                             cudaStream_t on) {
    must(
        cudaMemcpyAsync(space->of(of.n), of.x, of.n * sizeof(float), cudaMemcpyDeviceToDevice, on));
    return of.run(on);
  };
  all["two-parts"] = [](device_task const& of, cudaStream_t on) {
    return of.part(0, of.n / 3, on) + of.part(of.n / 3, of.n, on);
  };
  all["fresh-graph"] = [](device_task const& of, cudaStream_t on) {
    cudaGraph_t drawn = nullptr;
    cudaGraphExec_t graph = nullptr;
    must(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    int const code = of.run(on);
    must(cudaStreamEndCapture(on, &drawn));
    must(cudaGraphInstantiate(&graph, drawn, 0));
    must(cudaGraphLaunch(graph, on));
    must(cudaStreamSynchronize(on));
    must(cudaGraphExecDestroy(graph));
    must(cudaGraphDestroy(drawn));
    return code;
  };
  all["three-times"] = [](device_task const& of, cudaStream_t on) {
    return of.run(on) + of.run(on) + of.run(on);
  };
  all["zeros-first"] = [](device_task const& of, cudaStream_t on) {
    must(cudaMemsetAsync(of.y, 0, of.n * sizeof(float), on));
    return of.run(on);
  };
  return all;
}

/// Candidates that fail.
std::map<std::string, work> failing() {
  std::map<std::string, work> all;
  all["bad-address"] = [](device_task const&, cudaStream_t on) {
    set_one<float><<<1, 1, 0, on>>>(reinterpret_cast<float*>(8), 0);
    return 0;
  };
  all["bad-launch"] = [](device_task const& of, cudaStream_t on) {
    scale_and_add<float><<<1, 4096, 0, on>>>(of.x, of.y, of.n, of.a);
    return cudaGetLastError() == cudaSuccess ? 0 : 7;
  };
  return all;
}

/// The work that the name of this file selects.
work selected() {
  auto const name = this_file().stem().string();
  std::map<std::string, work> (*const all[])() = {cheats, honest, failing};
  for (auto const make : all) {
    auto offered = make();
    if (auto const found = offered.find(name); found != offered.end()) { return found->second; }
  }
  return [](device_task const&, cudaStream_t) { return 99; };
}

}  // namespace

extern "C" {

int const assay_candidate_version = 1;

int assay_candidate(void* const* buffers, size_t const* sizes, int, double const* scalars, int,
                    void* stream) {
  static work chosen = selected();
  return chosen({buffers, sizes, scalars}, static_cast<cudaStream_t>(stream));
}
}
