// SPDX-License-Identifier: Apache-2.0
// One rank of tests/comm/nccl_processes.cu: `nccl_rank_program WHAT`. Prints one line.
#include "support/nccl/nccl_ranks.hpp"

#include <assay/comm/nccl.hpp>
#include <assay/compare.cuh>
#include <assay/compare/ranks.hpp>
#include <assay/report/text.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;

namespace {

/// An input and an output of this rank.
struct two_buffers {
  explicit two_buffers(std::size_t bytes) {
    check(cudaMalloc(&in, bytes));
    check(cudaMalloc(&out, bytes));
  }
  two_buffers(two_buffers const&) = delete;
  two_buffers& operator=(two_buffers const&) = delete;
  ~two_buffers() {
    check_noexcept(cudaFree(in));
    check_noexcept(cudaFree(out));
  }
  void* in = nullptr;
  void* out = nullptr;
};

/// Sums and maxima of small whole numbers, which every type has: any order of sums is exact.
template <class T>
std::size_t wrong_of(comm::nccl const& by, stream const& on, std::size_t count, bool in_place) {
  two_buffers const own{count * sizeof(T)};
  auto const ranks = by.ranks();
  std::size_t wrong = 0;
  for (auto const what : {comm::reduction::sum, comm::reduction::max}) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<T>(static_cast<float>(i % 3 + static_cast<std::size_t>(by.rank())));
    }
    check(cudaMemcpy(own.in, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    auto* const in = static_cast<T*>(own.in);
    auto* const out = in_place ? in : static_cast<T*>(own.out);
    by.enqueue(on, static_cast<T const*>(in), out, count, what);
    by.synchronize(on);
    check(cudaMemcpy(values.data(), out, count * sizeof(T), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < count; ++i) {
      auto const first = static_cast<int>(i % 3);
      int const right = what == comm::reduction::max ? first + ranks - 1
                                                     : ranks * first + ranks * (ranks - 1) / 2;
      wrong += static_cast<float>(values[i]) != static_cast<float>(right);
    }
  }
  return wrong;
}

template <class... T>
std::size_t wrong_of_types(comm::nccl const& by) {
  stream const on{by.device()};
  std::size_t wrong = 0;
  for (std::size_t const count : {std::size_t{1}, std::size_t{1021}, std::size_t{1} << 20U}) {
    for (bool const in_place : {false, true}) {
      ((wrong += wrong_of<T>(by, on, count, in_place)), ...);
    }
  }
  return wrong;
}

std::string types(world const& all) {
  comm::nccl const by{all};
  check(cudaSetDevice(by.device().id));
  auto const wrong = wrong_of_types<float, double, __half, __nv_bfloat16, std::int32_t,
                                    std::uint32_t, std::int64_t, std::uint64_t>(by);
  return std::to_string(wrong) + " wrong";
}

/// Each rank in a part of its own, then all ranks in reversed order, then a part of that part.
std::string split(world const& all) {
  comm::nccl const by{all};
  check(cudaSetDevice(by.device().id));
  auto const single = by.split(all.rank(), 0);
  auto const reversed = by.split(0, -all.rank());
  auto const again = reversed.split(0, reversed.rank());
  bool const right = single.rank() == 0 && single.ranks() == 1 &&
                     reversed.rank() == all.ranks() - 1 - all.rank() &&
                     again.rank() == reversed.rank() && again.ranks() == all.ranks();
  return std::to_string(wrong_of_types<float>(single) + wrong_of_types<float>(reversed) +
                        wrong_of_types<float>(again) + wrong_of_types<float>(by)) +
         (right ? " wrong" : " wrong, and ranks too");
}

/// An operation that works, then one that rank 1 leaves out. Rank 0 tells why it gave up.
std::string without_rank_1(world const& all, std::function<void()> const& of_rank_1) {
  comm::nccl const by{all, on::device{all.local_rank()}, std::chrono::seconds{5}};
  check(cudaSetDevice(by.device().id));
  stream const on{by.device()};
  auto wrong = wrong_of<float>(by, on, 4096, false);
  if (wrong != 0) { return "wrong before"; }
  two_buffers const own{4096};
  if (all.rank() == 1) {
    of_rank_1();
    all.barrier();
  }
  try {
    by.enqueue(on, static_cast<float const*>(own.in), static_cast<float*>(own.out), 1024,
               comm::reduction::sum);
    by.synchronize(on);
  } catch (comm::nccl_error const& cause) {
    all.abandon(cause.what());
    all.barrier();
  }
  return "no error";
}

std::string never_joins(world const& all) {
  if (all.rank() == 1) {  // answers as a rank does that joins, and stays away
    (void)all.gather("another GPU");
    (void)all.broadcast();
    all.barrier();
  }
  try {
    comm::nccl const by{all, on::device{0}, std::chrono::seconds{5}};
  } catch (comm::nccl_error const& cause) {
    all.abandon(cause.what());
    all.barrier();
  }
  return "no error";
}

/// An all-reduce that is wrong, or throws in its `last`th launch, where that is this rank's.
auto reduces(comm::nccl const& by, std::size_t count, int last = 1 << 30, bool wrong = false) {
  return [&by, count, last, wrong](setup& make) {
    auto const x = make.random<float>(count);
    auto const y = make.output<float>(count);
    auto const ranks = static_cast<float>(by.ranks() + (wrong ? 1 : 0));
    make.expect(y, [x, ranks](std::size_t i) { return ranks * x.seeded(i); });
    return [&by, count, x, y, last, calls = 0](cudaStream_t on) mutable {
      if (++calls > last) { throw std::runtime_error("no more room"); }
      by.enqueue(::cuda::stream_ref{on}, x.data(), y.data(), count, comm::reduction::sum);
    };
  };
}

/// Small and large all-reduces on each clock, with and without the barrier of NCCL.
std::string compares(world const& all) {
  comm::nccl const by{all};
  check(cudaSetDevice(by.device().id));
  std::string text;
  for (std::size_t const count : {std::size_t{256}, std::size_t{1} << 20U}) {
    for (auto const on : {measure::clock::gpu, measure::clock::wall}) {
      for (bool const aligned : {true, false}) {
        options chosen{.max_seconds = 2, .clock = on};
        if (aligned) { chosen.barrier = by.barrier(); }
        auto const found =
            compare(all, "a", reduces(by, count), "b", reduces(by, 2 * count), chosen);
        auto const& one = found.findings.at(0);
        text += std::string{to_string(one.outcome)} + ' ' + std::to_string(one.effect.ratio) + '|';
        if (all.rank() == 0) { report::text(std::cerr, found); }
      }
    }
  }
  return text;
}

/// Rank 1 throws in a launch, or has a wrong result. Its card may be that of rank 0.
std::string fails(world const& all, int last, bool wrong) {
  comm::nccl const by{all, on::device{all.local_rank()}, std::chrono::seconds{5}};
  check(cudaSetDevice(by.device().id));
  bool const here = all.rank() == all.ranks() - 1;
  auto const found =
      compare(all, "a", reduces(by, 256), "b",
              reduces(by, 256, here ? last : 1 << 30, here && wrong), {.barrier = by.barrier()});
  return std::string{to_string(found.findings.at(0).outcome)} + ' ' + found.failure;
}

std::string one_gpu_compared(world const& all) {
  check(cudaSetDevice(0));
  auto const nothing = [](setup& make) {
    auto const x = make.output<float>(1 << 20);
    return [x](cudaStream_t on) { check(cudaMemsetAsync(x.data(), 0, 4 << 20, on)); };
  };
  auto const found =
      compare(all, "a", nothing, "b", nothing,
              {.max_seconds = 1, .ranks_share_gpus = std::getenv("SHARED") != nullptr});
  return std::string{to_string(found.findings.at(0).outcome)};
}

std::string one_gpu(world const& all) {
  comm::nccl const by{all, on::device{0}};
  return "no error";
}

}  // namespace

int main(int, char** argv) {
  std::map<std::string, std::function<std::string(world const&)>> const all{
      {"types", types},
      {"split", split},
      {"missing", [](world const& in) { return without_rank_1(in, [] {}); }},
      {"killed", [](world const& in) { return without_rank_1(in, [] { ::raise(SIGKILL); }); }},
      {"never_joins", never_joins},
      {"compares", compares},
      {"throws", [](world const& in) { return fails(in, 40, false); }},
      {"wrong", [](world const& in) { return fails(in, 1 << 30, true); }},
      {"one_gpu_compared", one_gpu_compared},
      {"one_gpu", one_gpu}};
  try {
    examples::without_multicast const no_multicast;
    std::cout << all.at(argv[1])(world::from_environment(std::chrono::seconds{60})) << '\n';
  } catch (std::exception const& cause) { std::cout << cause.what() << '\n'; }
  return 0;
}
