// assay-grouped: no, since its headers add a second namespace kernel
// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// How often does a comparison of equal work say FASTER or SLOWER? The default path with default
// options: 100 comparisons of each of 14 kinds of work, by launches and by factories in turn.
// --bursts: two kinds, while a second process loads the GPU. --processes: two processes of this
// program. A later run continues the file that --json names.
// Predicts: at most 38 of 1,000 and no kind above 10 of 100, so that the rate is below 5 % at 95 %
// confidence; UNPROVEN at most 3 %.

#include "support/bursts.hpp"
#include "support/calibration.cuh"
#include "support/resumable_trials.hpp"
#include "support/served_copy.cuh"

#include <assay/core/child_process.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>
#include <assay/pool/pool.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

#include <cub/device/device_reduce.cuh>

#include <cublas_v2.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::benchmark {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20U;

/// 16-byte vectors of a copy that reads half of `moved` bytes and writes the other half.
constexpr std::size_t vectors_moving(std::size_t moved) { return moved / 2 / sizeof(uint4); }

void require(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) { return; }
  throw std::runtime_error(std::string{"cuBLAS: "} + cublasGetStatusString(status));
}

/// One handle for the whole program, as programs have it.
cublasHandle_t cublas() {
  static cublasHandle_t const handle = [] {
    cublasHandle_t made = nullptr;
    require(cublasCreate(&made));
    return made;
  }();
  return handle;
}

/// A product of two square bfloat16 matrices by cuBLAS.
work_maker gemm(int n) {
  return [n](setup& make) -> enqueue_function {
    auto const count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    constexpr uniform<std::uint16_t> bits{0x3F00, 0x3FFF};  // bfloat16 values from 0.5 to 2
    auto const a = make.random<std::uint16_t>(count, bits);
    auto const b = make.random<std::uint16_t>(count, bits);
    auto const c = make.output<std::uint16_t>(count);
    make.does(2.0 * n * n * n);
    return [=, handle = cublas()](cudaStream_t on) {
      float const one = 1, zero = 0;
      require(cublasSetStream(handle, on));
      require(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b.data(), CUDA_R_16BF,
                           n, a.data(), CUDA_R_16BF, n, &zero, c.data(), CUDA_R_16BF, n,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
  };
}

enqueue_function cub_sum(setup& make) {
  constexpr int count = 1 << 24;
  auto const x = make.random<float>(count);
  auto const y = make.output<float>(1);
  std::size_t bytes = 0;
  check(cub::DeviceReduce::Sum(nullptr, bytes, x.data(), y.data(), count));
  auto const temporary = make.scratch<std::byte>(bytes);
  return [=](cudaStream_t on) {
    auto size = temporary.size();
    check(cub::DeviceReduce::Sum(temporary.data(), size, x.data(), y.data(), count, on));
  };
}

enqueue_function pageable_copy(setup& make) {
  auto const to = make.output<std::byte>(4 * mib);
  auto const from = std::make_shared<std::vector<std::byte>>(to.size(), std::byte{1});
  return [=](cudaStream_t on) {
    check(cudaMemcpyAsync(to.data(), from->data(), to.size(), cudaMemcpyHostToDevice, on));
  };
}

/// A copy of 4 MiB into memory from the driver's pool.
work_maker allocate_launch_free(on::device place) {
  return [place](setup& make) -> enqueue_function {
    constexpr auto count = vectors_moving(8 * mib);
    auto const from = make.random<std::uint32_t>(4 * count);
    return [=](cudaStream_t on) {
      void* to = nullptr;
      check(cudaMallocAsync(&to, count * sizeof(uint4), on));
      enqueue_copy(place, on, reinterpret_cast<uint4 const*>(from.data()), static_cast<uint4*>(to),
                   count);
      check(cudaFreeAsync(to, on));
    };
  };
}

/// A graph of ten copies, each of 128 KiB.
work_maker graph_of_ten(on::device place) {
  return [place](setup& make) -> enqueue_function {
    auto const copy = copy_of(place, vectors_moving(mib / 4))(make);
    stream const recording{place};
    check(cudaStreamBeginCapture(recording.get(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 10; ++i) { copy(recording.get()); }
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(recording.get(), &graph));
    cudaGraphExec_t made = nullptr;
    auto const code = cudaGraphInstantiate(&made, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(code);
    std::shared_ptr<CUgraphExec_st> const owner{made, cudaGraphExecDestroy};
    return [owner](cudaStream_t on) { check(cudaGraphLaunch(owner.get(), on)); };
  };
}

/// Compares work with itself: each in buffers of its own, or both over the program's buffers.
trial_kind equal_work(std::string name, on::device const& place, work_maker const& make,
                      bool cold_cache = false) {
  return {std::move(name), {"launch", "factory"}, [=, &place](std::string const& form) {
            measure::options chosen{.place = place, .cold_cache = cold_cache};
            if (form == "factory") { return compare("a", make, "b", make, chosen); }
            stream const filled_on{place};
            auto own = own_arrays(place, filled_on, stats::draw_seed());
            auto const work = make(own);
            filled_on.synchronize();
            chosen.same_buffers = true;
            return compare("a", work, "b", work, chosen);
          }};
}

template <class Memory, class Submit>
trial_kind equal_pipelines(std::string name, on::device const& place, Memory memory,
                           Submit submit) {
  return {std::move(name), {"pipeline"}, [=, &place](std::string const&) {
            pipeline const one{workloads::null_cast<std::int32_t>{.rows = 1 << 21}, place, memory,
                               submit};
            return compare(one, one);
          }};
}

std::vector<trial_kind> kinds_of(on::device const& place) {
  // A maker is called in a comparison, when the device of the command line is in `place`.
  auto const on_place = [&place](auto of) {
    return [&place, of](setup& make) { return of(place)(make); };
  };
  auto const copy = [&](std::size_t moved, bool checked) {
    return on_place([=](on::device at) { return copy_of(at, vectors_moving(moved), checked); });
  };
  submit::concurrent const at_once{.items = 10};
  submit::serialized const in_turn{.items = 10};
  mr::pool const pool{.initial_bytes = 256 * mib};
  return {equal_work("gemm_512", place, gemm(512)),
          equal_work("gemm_2048", place, gemm(2048)),
          equal_work("copy_beyond_l2", place, copy(256 * mib, false)),
          equal_work("copy_within_l2", place, copy(8 * mib, true)),
          equal_work("copy_cold_cache", place, copy(8 * mib, false), true),
          equal_work("short_kernel", place, copy(2 * mib, false)),
          equal_work("cub_sum", place, cub_sum),
          equal_work("pageable_copy", place, pageable_copy),
          equal_work("allocate_launch_free", place, on_place(allocate_launch_free)),
          equal_work("graph_of_ten", place, on_place(graph_of_ten)),
          equal_pipelines("null_cast_pool_concurrent", place, pool, at_once),
          equal_pipelines("null_cast_pool_serialized", place, pool, in_turn),
          equal_pipelines("null_cast_async_concurrent", place, mr::async{}, at_once),
          equal_pipelines("null_cast_async_serialized", place, mr::async{}, in_turn)};
}

std::vector<trial_kind> under_bursts(std::vector<trial_kind> const& all) {
  std::vector<trial_kind> found;
  for (auto const& each : all) {
    if (each.name == "copy_beyond_l2" || each.name == "cub_sum") { found.push_back(each); }
  }
  return found;
}

/// Two processes of this program, which copy the same number of vectors.
trial_kind equal_processes(on::device const& place) {
  return {"copy_100us", {"process"}, [&place](std::string const&) {
            static auto const vectors = vectors_for(place, 100e-6);
            return compare_processes(place, vectors, vectors);
          }};
}

/// This program as the load, `--load DEVICE SEED`: copies in bursts.
[[noreturn]] void load_in_bursts(int argc, char** argv) {
  if (argc < 4) { throw std::invalid_argument("--load takes DEVICE and SEED"); }
  on::device const place{std::stoi(argv[2])};
  check(cudaSetDevice(place.id));
  stream const where{place};
  auto own = own_arrays(place, where, 1);
  auto const copy = copy_of(place, vectors_moving(512 * mib))(own);
  work_in_bursts(std::stoull(argv[3]), true, [&] {
    copy(where.get());
    where.synchronize();
  });
}

/// The load as a process, which is killed and reaped with this object.
class bursts {
 public:
  explicit bursts(on::device place)
      : child_({this_program(), "--load", std::to_string(place.id), seed_}) {
    std::printf("bursts of load, seed %s\n", seed_.c_str());
    std::this_thread::sleep_for(std::chrono::seconds{3});  // a context takes about 1 s
    require_alive();
  }
  std::string const& seed() const noexcept { return seed_; }
  void require_alive() {
    if (auto const end = child_.wait_for(std::chrono::seconds{0})) {
      throw std::runtime_error("the process that loads the GPU " + end->text());
    }
  }

 private:
  std::string seed_ = std::to_string(stats::draw_seed());
  child_process child_;
};

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  std::string_view const first = argc > 1 ? argv[1] : "";
  try {
    if (first == "--serve") { return serve_copy(argc, argv); }
    if (first == "--load") { load_in_bursts(argc, argv); }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 4;
  }
  on::device place;
  auto const kinds = kinds_of(place);
  if (lists_kinds(argc, argv, kinds)) { return 0; }
  trial_plan plan;
  std::string section = "as_used";
  auto more = plan.options();
  more.push_back({"--bursts", "", "while another process loads the GPU",
                  [&](std::string const&) { section = "bursts"; }});
  more.push_back(
      {"--processes", "[N]", "N comparisons (100) of two processes", [&](std::string const& text) {
         section = "processes";
         if (!text.empty()) { plan.count = trial_plan::positive(text); }
       }});
  return benchmark::run(
      argc, argv, "false_alarms",
      [&](benchmark::options const& chosen, report::document& figures) {
        place = chosen.place;
        if (chosen.quick) { plan.count = 2; }
        resumable_trials trials{chosen, plan, figures};
        auto const asked = section == "bursts"      ? under_bursts(kinds)
                           : section == "processes" ? std::vector{equal_processes(place)}
                                                    : kinds;
        std::optional<bursts> load;
        if (section == "bursts") {
          load.emplace(place);
          figures[section]["load_seeds"].push_back(load->seed());
        }
        trials.run(section, asked);
        if (load) { load->require_alive(); }
        trials.count_false_alarms(section, asked);
      },
      more);
}
