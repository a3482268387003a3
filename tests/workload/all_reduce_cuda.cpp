// SPDX-License-Identifier: Apache-2.0
/// @file
/// An all-reduce as a callable of each rank. The ranks are threads here, and reduce host memory.
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/workload/all_reduce.hpp>

#include <cuda_bf16.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// All ranks of an all-reduce in host memory. A fault changes a rank's output.
struct host_ranks {
  int count;
  std::barrier<> together{count};
  std::array<void const*, comm::max_ranks> in{};
  std::function<void(int rank, void* out)> fault = [](int, void*) {};
};

class host_end {
 public:
  host_end(host_ranks& all, int rank) : all_(all), rank_(rank) {}
  int rank() const { return rank_; }
  int ranks() const { return all_.count; }
  int device() const { return 0; }
  template <class T>
  void enqueue(::cuda::stream_ref, T const* in, T* out, std::size_t count,
               comm::reduction what) const {
    all_.in[static_cast<std::size_t>(rank_)] = in;
    all_.together.arrive_and_wait();
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0, most = 0;
      for (int from = 0; from < all_.count; ++from) {
        auto const each =
            static_cast<double>(static_cast<T const*>(all_.in[static_cast<std::size_t>(from)])[i]);
        sum += each;
        most = std::max(most, each);
      }
      out[i] = static_cast<T>(what == comm::reduction::max   ? most
                              : what == comm::reduction::sum ? sum
                                                             : sum / all_.count);
    }
    all_.fault(rank_, out);
    all_.together.arrive_and_wait();
  }
  void synchronize(::cuda::stream_ref) const {}

 private:
  host_ranks& all_;
  int rank_;
};
static_assert(comm::collective<host_end>);

/// What each rank finds wrong in its output.
template <class T>
std::vector<std::string> run(host_ranks& all, std::size_t count, comm::reduction what,
                             std::uint64_t seed) {
  std::vector<std::string> found(static_cast<std::size_t>(all.count));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < all.count; ++rank) {
    threads.emplace_back([&, rank] {
      host_end const end{all, rank};
      auto const work = workloads::all_reduce<T>(end, count, what, seed);
      setup make{std::make_shared<arrays::host_array_store>(seed), seed};
      auto const call = work(make);
      make.poison();
      call(nullptr);
      found[static_cast<std::size_t>(rank)] = make.verify().value_or("");
    });
  }
  threads.clear();
  return found;
}

template <class T>
void check_right(std::uint64_t seed) {
  for (int const ranks : {1, 2, 3, 8}) {
    for (auto const what : {comm::reduction::sum, comm::reduction::max, comm::reduction::average}) {
      host_ranks all{ranks};
      INFO(ranks << " ranks, " << comm::to_string(what) << ", seed " << seed);
      for (auto const& each : run<T>(all, 1000, what, seed)) { CHECK(each == ""); }
    }
  }
}

}  // namespace

TEST_CASE("each rank checks its own output against float64", "[comm]") {
  auto const seed = test::fresh_seed();
  check_right<float>(seed);
  check_right<double>(seed);
  check_right<std::int32_t>(seed);
}

TEST_CASE("a rank whose output is wrong says so, and no other", "[comm]") {
  host_ranks all{3};
  all.fault = [](int rank, void* out) {
    if (rank == 1) { static_cast<float*>(out)[17] += 1; }
  };
  auto const found = run<float>(all, 1000, comm::reduction::sum, 1);
  CHECK(found[0] == "");
  CHECK_THAT(found[1], contains("element 17 of array 1 is "));
  CHECK(found[2] == "");
}

TEST_CASE("inputs follow from seed and rank", "[comm]") {
  workloads::reduction_inputs const of{7, 2}, other{8, 2};
  int same_rank = 0, same_seed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(of.input(1, i) == workloads::reduction_inputs{7, 8}.input(1, i));
    CHECK(of.input(0, i) + of.input(1, i) == of.output(comm::reduction::sum, i));
    same_rank += of.input(0, i) == of.input(1, i);
    same_seed += of.input(0, i) == other.input(0, i);
  }
  CHECK(same_rank < 100);  // 1000 / 32 on average
  CHECK(same_seed < 100);
}

TEST_CASE("averages may be rounded where the number of ranks has no exact reciprocal", "[comm]") {
  using workloads::reduction_inputs;
  auto const average = comm::reduction::average;
  CHECK(reduction_inputs{.ranks = 4}.tolerance<float>(average) == 0);
  CHECK(reduction_inputs{.ranks = 3}.tolerance<float>(comm::reduction::sum) == 0);
  CHECK(reduction_inputs{.ranks = 3}.tolerance<float>(average) == 5 * 0x1p-24);
  CHECK(reduction_inputs{.ranks = 3}.tolerance<double>(average) == 5 * 0x1p-53);
  CHECK(reduction_inputs{.ranks = 3}.tolerance<std::int32_t>(average) == 0);
  auto const sum = comm::reduction::sum;  // bfloat16 holds those of 8 ranks
  CHECK(reduction_inputs{.ranks = 8}.tolerance<__nv_bfloat16>(sum) == 0);
  CHECK(reduction_inputs{.ranks = 16}.tolerance<__nv_bfloat16>(sum) == 18 * 0x1p-8);
  CHECK(reduction_inputs{.ranks = 64}.tolerance<__nv_bfloat16>(comm::reduction::max) == 0);
  CHECK(reduction_inputs{.ranks = 64}.tolerance<std::int32_t>(sum) == 0);
}
