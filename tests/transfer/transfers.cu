// SPDX-License-Identifier: Apache-2.0
/// @file
/// All transfers on a GPU: right to the bit from every kind of memory, in stream order, captured,
/// from several threads, and after failures.

#include "catch.hpp"
#include "memory/limited.hpp"
#include "transfer/host_memory.hpp"
#include "transfer/jobs.hpp"

#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/memory/async.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/pool/pool.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace assay::kernel {

template <int Bytes>
__device__ unsigned load_bytes(unsigned char const* from) {
  unsigned value = 0;
  for (int k = 0; k < Bytes; ++k) { value |= static_cast<unsigned>(from[k]) << (8 * k); }
  return value;
}

/// `test::block_work`, a thread to a block, byte by byte: arrays may begin at odd addresses.
template <class Wide>
__global__ void test_blocks(std::int64_t count, std::int64_t granularity, unsigned char const* a,
                            unsigned char const* b, unsigned char* out0, unsigned char* out1) {
  for (auto const block : grid_stride((count + granularity - 1) / granularity)) {
    auto const first = block * granularity;
    auto const end = first + granularity < count ? first + granularity : count;
    Wide sum = 0;
    for (auto i = first; i < end; ++i) { sum += load_bytes<2>(b + 2 * i); }
    for (auto i = first; i < end; ++i) {
      Wide const wide = Wide{3} * load_bytes<4>(a + 4 * i) + sum;
      for (int k = 0; k < 8; ++k) { out0[8 * i + k] = static_cast<unsigned char>(wide >> (8 * k)); }
      out1[i] = static_cast<unsigned char>(a[4 * i] ^ b[2 * i]);
    }
  }
}

}  // namespace assay::kernel

namespace {

using namespace assay;
using namespace assay::literals;
using test::held;

using kinds = std::array<held, 4>;
constexpr kinds pageable{};
constexpr kinds pinned{held::pinned, held::pinned, held::pinned, held::pinned};
constexpr kinds registered{held::registered, held::registered, held::pinned, held::registered};
constexpr kinds mixed{held::pageable, held::pinned, held::managed, held::registered};
constexpr kinds mixed_other{held::managed, held::pageable, held::pageable, held::pinned};

struct device_compute {
  std::int64_t granularity = 1;
  int fails_at = -1;
  void operator()(::cuda::stream_ref on, transfer::chunk const& part) const {
    if (part.number == fails_at) { throw std::runtime_error("the kernel refuses"); }
    auto const run = kernel::test_blocks<unsigned long long>;
    auto const blocks = static_cast<std::uint64_t>((part.count + granularity - 1) / granularity);
    kernel::launch(run, kernel::stride_shape(run, on::device{0}, blocks, 128), 0, on, part.count,
                   granularity, part.input<unsigned char>(0), part.input<unsigned char>(1),
                   part.output<unsigned char>(0), part.output<unsigned char>(1));
  }
};

/// The arrays of a job, each of its own kind and alignment.
struct data {
  data(std::int64_t elements, kinds const& of, std::uint64_t seed)
      : count(elements),
        a(of[0], bytes(0), 3),
        b(of[1], bytes(1), 0),
        out0(of[2], bytes(2), 1),
        out1(of[3], bytes(3), 129) {
    renew(seed);
  }
  std::size_t bytes(std::size_t array) const {
    return static_cast<std::size_t>(count) * test::widths[array];
  }
  void renew(std::uint64_t seed) {
    test::fill_random(a.get(), a.size(), seed);
    test::fill_random(b.get(), b.size(), seed + 1);
    out0.fill(0x7F);
    out1.fill(0x7F);
  }
  std::string wrong(std::int64_t granularity) const {
    if (!out0.guarded() || !out1.guarded()) { return "an output is written outside"; }
    return test::wrong_outputs(count, granularity, a.get(), b.get(), out0.get(), out1.get());
  }
  transfer::job<device_compute> job(std::int64_t granularity, int fails_at = -1) const {
    transfer::job<device_compute> made;
    made.elements = count;
    made.granularity = granularity;
    made.inputs = {{a.get(), 4}, {b.get(), 2}};
    made.outputs = {{out0.get(), 8}, {out1.get(), 1}};
    made.compute = device_compute{granularity, fails_at};
    return made;
  }

  std::int64_t count;
  test::host_bytes a, b, out0, out1;
};

constexpr on::device place{0};

template <class Policy, class Resource>
void require_right(Policy const& how, kinds const& of, Resource memory) {
  auto const seed = test::fresh_seed();
  stream const caller{place};
  auto engine = how.open(place, memory);
  auto const run = [&](std::int64_t count, std::int64_t granularity) {
    INFO(describe(how) << ", seed " << seed << ", " << count << " elements in blocks of "
                       << granularity);
    data held{count, of, seed};
    for (int i = 0; i < (test::small() && count < 100 ? 1 : 2); ++i) {
      held.renew(seed + static_cast<std::uint64_t>(i));
      engine.run(caller, held.job(granularity));
      caller.synchronize();
      REQUIRE(held.wrong(granularity) == "");
    }
  };
  // Under a sanitizer each copy and launch takes a while: ends and remainders, once each.
  auto const counts = test::small() ? std::vector<std::int64_t>{0, 65}
                                    : std::vector<std::int64_t>{0, 1, 63, 65, 4099};
  for (auto const count : counts) { run(count, 7); }
  run(test::small() ? 5'001 : 1'000'003, 1);
  if (!test::small()) { run(1'000'003, 4096); }
}

template <class Policy>
void require_right(Policy const& how, kinds const& of) {
  require_right(how, of, mr::async{}.open(place));
}

}  // namespace

TEST_CASE("every transfer is right", "[transfer]") {
  require_right(transfer::pageable{}, pageable);
  require_right(transfer::pageable{}, pinned);
  require_right(transfer::pinned{}, pinned);
  require_right(transfer::pinned{}, registered);
  require_right(transfer::mapped{}, pinned);
  require_right(transfer::mapped{}, registered);
  require_right(transfer::staged{}, pageable);
  require_right(transfer::staged{.threads = 3, .buffer_bytes = 4096}, pageable);
  require_right(transfer::overlapped{}, pinned);
  require_right(transfer::overlapped{}, pageable);
  using cases = std::vector<int>;
  for (int const chunks : test::small() ? cases{1, 9} : cases{1, 2, 9, 33}) {
    for (int const streams : test::small() ? cases{1, 3} : cases{1, 2, 3, 8}) {
      require_right(transfer::overlapped{chunks, streams}, registered);
    }
  }
  require_right(transfer::overlapped{9, 3}, pageable);
}

TEST_CASE("mixed memory is right where it is taken", "[transfer]") {
  for (auto const& of : {mixed, mixed_other}) {
    require_right(transfer::pageable{}, of);
    require_right(transfer::staged{}, of);
    require_right(transfer::overlapped{9, 2}, of);
    require_right(transfer::overlapped{}, of);
  }
}

TEST_CASE("any memory resource will do", "[transfer]") {
  require_right(transfer::overlapped{9, 3}, pinned, mr::cuda_malloc{}.open(place));
  // Not mapped under a sanitizer: initcheck of CUDA 13.0 forgets what kernels wrote to it.
  require_right(transfer::overlapped{9, 3}, pinned, mr::pool{.mapped = !test::small()}.open(place));
  require_right(transfer::staged{}, pageable, mr::pool{.mapped = !test::small()}.open(place));
}

TEST_CASE("the kind of host memory is what CUDA says it is", "[transfer]") {
  for (auto const& [kind, expected] :
       std::vector<std::pair<held, memory_type>>{{held::pageable, memory_type::pageable},
                                                 {held::pinned, memory_type::page_locked},
                                                 {held::registered, memory_type::page_locked},
                                                 {held::managed, memory_type::managed}}) {
    test::host_bytes const made{kind, 10'000, 77};
    CHECK(memory_type_of(made.get(), made.size()) == expected);
  }
  auto memory = mr::cuda_malloc{}.open(place);
  stream const on{place};
  void* const block = memory.allocate(on, 256);
  CHECK(memory_type_of(block, 256) == memory_type::device);
  memory.deallocate(on, block, 256);

  test::host_bytes const partly{held::pageable, 64 << 10, 0};
  check(cudaHostRegister(partly.get(), 4096, cudaHostRegisterDefault));
  CHECK(memory_type_of(partly.get(), 4096) == memory_type::page_locked);
  CHECK(memory_type_of(partly.get(), partly.size()) == memory_type::pageable);
  check(cudaHostUnregister(partly.get()));
}

TEST_CASE("a job comes after the stream's earlier work and before its later work", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const run = [&](auto const& how) {
    INFO(describe(how));
    auto engine = how.open(place, mr::async{}.open(place));
    stream const caller{place};
    data held{test::small() ? 5'001 : 2'000'003, pinned, seed};
    // The inputs are copied in by the stream itself, and the outputs away.
    test::host_bytes const source{held::pinned, held.a.size(), 0};
    test::host_bytes const result{held::pinned, held.out0.size(), 0};
    std::copy_n(held.a.get(), held.a.size(), source.get());
    held.a.fill(0);
    check(cudaMemcpyAsync(held.a.get(), source.get(), source.size(), cudaMemcpyDefault,
                          caller.get()));
    engine.run(caller, held.job(1));
    check(cudaMemcpyAsync(result.get(), held.out0.get(), result.size(), cudaMemcpyDefault,
                          caller.get()));
    caller.synchronize();
    CHECK(held.wrong(1) == "");
    CHECK(std::equal(result.get(), result.get() + result.size(), held.out0.get()));
  };
  run(transfer::pinned{});
  run(transfer::mapped{});
  run(transfer::overlapped{12, 3});
  run(transfer::overlapped{});
}

TEST_CASE("a captured job replays with the data of the day", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const run = [&](auto const& how, auto memory) {
    INFO(describe(how));
    stream const caller{place};
    auto engine = how.open(place, memory);
    data held{test::small() ? 5'001 : 500'009, pinned, seed};
    auto hold = memory.capture(caller);
    std::optional<submit::graph_exec> graph;
    {
      submit::stream_capture recording{caller};
      engine.run(caller, held.job(1));
      graph.emplace(recording.end());
    }
    hold.end();
    for (std::uint64_t replay = 0; replay < 3; ++replay) {
      held.renew(seed + 10 * replay);
      graph->launch(caller);
      caller.synchronize();
      REQUIRE(held.wrong(1) == "");
    }
    // Beside the graph the engine goes on.
    held.renew(seed + 5);
    engine.run(caller, held.job(1));
    caller.synchronize();
    CHECK(held.wrong(1) == "");
  };
  auto const pool = [] { return mr::pool{.mapped = !test::small()}.open(place); };
  run(transfer::pinned{}, mr::async{}.open(place));
  run(transfer::pinned{}, pool());
  run(transfer::mapped{}, pool());
  run(transfer::overlapped{9, 3}, mr::async{}.open(place));
  run(transfer::overlapped{9, 3}, pool());
  run(transfer::overlapped{9, 1}, pool());
  run(transfer::overlapped{}, pool());
}

TEST_CASE("a capture that cannot be is refused, and one that fails can be ended", "[transfer]") {
  data const locked{20'001, pinned, 1};
  data const plain{20'001, pageable, 1};
  auto const memory = mr::async{}.open(place);
  auto const text = [&](auto const& how, data const& held, int fails_at) {
    stream const caller{place};
    auto engine = how.open(place, memory);
    check(cudaStreamBeginCapture(caller.get(), cudaStreamCaptureModeThreadLocal));
    auto const said = test::message_of([&] { engine.run(caller, held.job(1, fails_at)); });
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(caller.get(), &graph) == cudaSuccess);
    if (graph != nullptr) { check(cudaGraphDestroy(graph)); }
    engine.run(caller, held.job(1));
    caller.synchronize();
    CHECK(held.wrong(1) == "");
    return said;
  };
  auto const blocks = test::contains("cannot be captured into a graph");
  CHECK_THAT(text(transfer::pageable{}, plain, -1), blocks);
  CHECK_THAT(text(transfer::staged{}, plain, -1), blocks);
  CHECK_THAT(text(transfer::overlapped{9, 3}, plain, -1), blocks);
  auto const refuses = test::contains("chunk 5 (elements");
  CHECK_THAT(text(transfer::overlapped{9, 3}, locked, 5), refuses);
}

TEST_CASE("a failure names its chunk, leaves no memory behind, and the engine goes on",
          "[transfer]") {
  auto const run = [](auto const& how, kinds const& of, int at) {
    INFO(describe(how));
    auto memory = mr::async{}.open(place);
    stream const caller{place};
    data held{test::small() ? 5'001 : 300'007, of, 1};
    auto engine = how.open(place, memory);
    for (int i = 0; i < 2; ++i) {
      CHECK_THAT(test::message_of([&] { engine.run(caller, held.job(1, at)); }),
                 test::contains("the computation of chunk " + std::to_string(at)) &&
                     test::contains("the kernel refuses"));
      caller.synchronize();
      CHECK(memory.stats().live_bytes == 0);
      engine.run(caller, held.job(1));
      caller.synchronize();
      CHECK(held.wrong(1) == "");
    }
    // A job has one block of device memory.
    auto starved =
        how.open(place, test::limited{mr::async{}, std::size_t{1} << 40U, 1}.open(place));
    CHECK_THROWS_AS(starved.run(caller, held.job(1)), mr::out_of_memory);
    starved.run(caller, held.job(1));
    caller.synchronize();
    CHECK(held.wrong(1) == "");
  };
  run(transfer::pageable{}, pageable, 0);
  run(transfer::pinned{}, pinned, 0);
  run(transfer::staged{}, pageable, 0);
  run(transfer::overlapped{9, 3}, pinned, 6);
  run(transfer::overlapped{9, 3}, pageable, 6);
  run(transfer::overlapped{9, 3}, mixed, 8);
}

TEST_CASE("threads with an engine each do not disturb each other", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const memory = mr::pool{.mapped = !test::small()}.open(place);
  std::array<std::string, 6> wrong;
  {
    std::vector<std::jthread> crew;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      crew.emplace_back([&, t] {
        try {
          check(cudaSetDevice(0));
          stream const caller{place};
          data held{test::small() ? 3'001 : 400'009,
                    t % 3 == 0   ? pinned
                    : t % 3 == 1 ? pageable
                                 : mixed,
                    seed + t};
          auto engine = transfer::overlapped{7, 3}.open(place, memory);
          for (std::uint64_t i = 0; i < (test::small() ? 2U : 5U) && wrong[t].empty(); ++i) {
            held.renew(seed + t + 100 * i);
            engine.run(caller, held.job(1));
            caller.synchronize();
            wrong[t] = held.wrong(1);
          }
        } catch (std::exception const& error) { wrong[t] = error.what(); }
      });
    }
  }
  for (auto const& each : wrong) { CHECK(each == ""); }
}
