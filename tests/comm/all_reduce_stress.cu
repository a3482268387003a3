// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 7200
/// @file
/// Operations back to back without the host's waiting: sizes, types, algorithms, placements and
/// offsets change at random, ranks come late, other kernels run beside them, batches are recorded
/// into graphs, numbers that stand for long are renewed, and every element of every operation is
/// checked. ASSAY_STRESS_SECONDS=N goes on for so long.

#include "comm/numbers.cuh"
#include "ranks/rank_threads.cuh"

#include <assay/workload/all_reduce.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using comm::algorithm;
using comm::reduction;

namespace {

/// One operation, the same for all ranks.
struct operation {
  int engine;
  int type;
  std::size_t count, in_late, out_late;
  unsigned in_place;  ///< a bit for each rank
  int late;           ///< the rank that has something else to do first
  unsigned late_by;   ///< kernels of a few microseconds
  reduction what;
  std::uint64_t seed;
};

/// Engines of all algorithms over the same ranks, and buffers that all operations share.
class stress {
 public:
  static constexpr std::size_t most_bytes = std::size_t{8} << 20U;
  static constexpr std::size_t slack = 256;

  explicit stress(int ranks, std::uint64_t seed, bool dependent)
      : team_(test::peers_of(ranks).devices()),
        in_(test::peers_of(ranks), most_bytes + slack),
        out_(test::peers_of(ranks), most_bytes + slack),
        other_(test::peers_of(ranks), other_bytes),
        wrong_(test::peers_of(ranks), 256),
        random_(seed) {
    // By few blocks the slots of rings come round within an operation.
    std::vector<std::pair<algorithm, unsigned>> engines{
        {algorithm::automatic, 0}, {algorithm::fifo_one_shot, 8}, {algorithm::fifo_two_shot, 8}};
    for (auto const how : test::all_algorithms) { engines.emplace_back(how, 0); }
    for (auto const& [how, blocks] : engines) {
      if (!test::has_code(how, ranks)) { continue; }
      comm::all_reduce_options options;
      options.how = how;
      options.blocks = blocks;
      options.timeout_seconds = 30;
      options.scratch_bytes = std::size_t{1} << 20U;
      options.checked = how == algorithm::automatic || blocks != 0;
      options.dependent_launch = dependent;
      engines_.emplace_back(test::peers_of(ranks), options);
      engines_.back().prepare<float>();
      engines_.back().prepare<__half>();
      engines_.back().prepare<__nv_bfloat16>();
    }
    begin_before_renewals();
    for (int rank = 0; rank < ranks; ++rank) {
      beside_.emplace_back(team_.place(rank));
      wrong_.set(rank, 0, 0, 8);
    }
    // Loads what fills and checks, before anything waits.
    for (auto const& each : make(60)) {
      team_.run([&](int rank, ::cuda::stream_ref on) { prepare_and_check(rank, on, each, false); });
      team_.synchronize();
    }
    for (int rank = 0; rank < ranks; ++rank) { wrong_.set(rank, 0, 0, 8); }
  }

  /// A batch enqueued at once, or recorded and replayed; returns how many operations ran.
  int run_batch(int operations, bool recorded) {
    auto const batch = make(operations);
    auto const enqueue = [&](int rank, ::cuda::stream_ref on) {
      for (auto const& each : batch) { prepare_and_check(rank, on, each, true); }
    };
    int const replays = recorded ? 3 : 1;
    if (recorded) {
      auto const graphs =
          team_.record(1, [&](int rank, ::cuda::stream_ref on, int) { enqueue(rank, on); });
      team_.run([&](int rank, ::cuda::stream_ref on) {
        for (int i = 0; i < replays; ++i) {
          graphs.launch(rank, on);
          disturb(rank);
        }
      });
      team_.synchronize();  // before the graphs end
    } else {
      // In pieces, so that no rank's thread runs ahead of the others' by more launches than a
      // stream takes: it would block, and could keep the others from launching what its kernels
      // wait for.
      constexpr std::size_t piece = 25;
      for (std::size_t begin = 0; begin < batch.size(); begin += piece) {
        auto const end = std::min(batch.size(), begin + piece);
        team_.run([&](int rank, ::cuda::stream_ref on) {
          for (std::size_t i = begin; i < end; ++i) {
            prepare_and_check(rank, on, batch[i], true);
            if (i % 16 == 0) { disturb(rank); }
          }
        });
      }
      team_.synchronize();
    }
    for (auto& each : engines_) { each.synchronize(0, team_.on(0)); }
    return operations * replays;
  }

  std::uint64_t wrong() const {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < team_.ranks(); ++rank) {
      unsigned long long found = 0;
      check(cudaMemcpy(&found, wrong_.at(rank), 8, cudaMemcpyDefault));
      sum += found;
    }
    return sum;
  }

  /// Between batches: sets each engine's item numbers to just before some renewal, also one where
  /// numbers wrap. Counts and flags become as old as most are.
  void begin_before_renewals() {
    constexpr unsigned period = comm::protocol::renewal_period;
    count_renewals();
    for (auto const& engine : engines_) {
      auto const renewal = static_cast<unsigned>(random_()) / period * period;
      auto const before = renewal - 4 - static_cast<unsigned>(random_() % 100);
      test::numbers const at{engine};
      at.set_items(before, before - period / 2);
      begun_at_.push_back(before);
    }
  }
  /// Renewals of item numbers so far.
  int renewals() {
    count_renewals();
    return renewals_;
  }

  /// Damages one element between an operation and its check.
  void damage_next() { damage_ = true; }

 private:
  static constexpr std::size_t other_bytes = std::size_t{1} << 20U;

  void count_renewals() {
    for (std::size_t i = 0; i < begun_at_.size(); ++i) {
      test::numbers const at{engines_[i]};
      if (comm::protocol::renews(begun_at_[i], at.items(0))) { ++renewals_; }
    }
    begun_at_.clear();
  }

  std::vector<operation> make(int operations) {
    std::vector<operation> batch;
    auto const below = [&](std::uint64_t n) { return random_() % n; };
    for (int i = 0; i < operations; ++i) {
      operation one;
      one.engine = static_cast<int>(below(engines_.size()));
      one.type = static_cast<int>(below(3));
      std::size_t const element = one.type == 0 ? 4 : 2;
      auto const& options = engines_[static_cast<std::size_t>(one.engine)].options();
      auto most = std::min(most_bytes, comm::capacity_bytes(options.how, options.scratch_bytes));
      // As many of each order of magnitude.
      most = std::max<std::size_t>(most >> below(18), 16);
      one.count = 1 + below(most / element);
      one.in_late = below(4) == 0 ? below(8) : 0;
      one.out_late = below(4) == 0 ? below(8) : one.in_late;
      unsigned const all = (1U << static_cast<unsigned>(team_.ranks())) - 1;
      auto const placement = below(6);
      one.in_place = placement < 3 ? 0 : placement < 5 ? all : static_cast<unsigned>(below(all));
      one.late = static_cast<int>(below(static_cast<std::uint64_t>(team_.ranks())));
      one.late_by = below(8) == 0 ? static_cast<unsigned>(below(30)) : 0;
      one.what = static_cast<reduction>(below(3));
      one.seed = random_();
      batch.push_back(one);
    }
    return batch;
  }

  void prepare_and_check(int rank, ::cuda::stream_ref on, operation const& what, bool reduce) {
    if (what.type == 0) { typed<float>(rank, on, what, reduce); }
    if (what.type == 1) { typed<__half>(rank, on, what, reduce); }
    if (what.type == 2) { typed<__nv_bfloat16>(rank, on, what, reduce); }
  }

  template <class T>
  void typed(int rank, ::cuda::stream_ref on, operation const& what, bool reduce) {
    comm::rank_buffers<T> at;
    for (int each = 0; each < team_.ranks(); ++each) {
      auto const e = static_cast<std::size_t>(each);
      at.out[e] = reinterpret_cast<T*>(out_.at(each)) + what.out_late;
      bool const in_place = (what.in_place >> e & 1U) != 0;
      at.in[e] = in_place ? at.out[e] : reinterpret_cast<T*>(in_.at(each)) + what.in_late;
    }
    auto const r = static_cast<std::size_t>(rank);
    if (at.in[r] != at.out[r]) {
      check(cudaMemsetAsync(at.out[r], 0xFF, what.count * sizeof(T), on.get()));
    }
    workloads::reduction_inputs const inputs{what.seed, team_.ranks()};
    workloads::enqueue_input(team_.place(rank), on, const_cast<T*>(at.in[r]), what.count, inputs,
                             rank);
    if (reduce) {
      for (unsigned i = 0; rank == what.late && i < what.late_by; ++i) { be_busy(rank, on); }
      engines_[static_cast<std::size_t>(what.engine)].enqueue(rank, on, at, what.count, what.what);
      if (rank == 0 && damage_) {
        check(cudaMemsetAsync(at.out[0] + what.count / 2, 0x7F, sizeof(T), on.get()));
        damage_ = false;
      }
    }
    auto* const counter = reinterpret_cast<unsigned long long*>(wrong_.at(rank));
    workloads::enqueue_count_wrong(team_.place(rank), on, static_cast<T const*>(at.out[r]),
                                   what.count, inputs, what.what, counter);
  }

  /// Runs other kernels on the same device.
  void disturb(int rank) { be_busy(rank, beside_[static_cast<std::size_t>(rank)]); }
  void be_busy(int rank, ::cuda::stream_ref on) {
    workloads::enqueue_input(team_.place(rank), on, reinterpret_cast<float*>(other_.at(rank)),
                             other_bytes / 4, workloads::reduction_inputs{}, rank);
  }

  examples::rank_threads team_;
  test::rank_blocks in_, out_, other_, wrong_;
  std::vector<stream> beside_;
  std::deque<comm::all_reduce> engines_;
  std::vector<unsigned> begun_at_;  ///< the number of each engine
  int renewals_ = 0;
  std::mt19937_64 random_;
  bool damage_ = false;
};

}  // namespace

TEST_CASE("operations of changing kind, back to back, never lose an element", "[comm]") {
  if (test::small()) { return; }           // they need kernels side by side
  std::vector<std::pair<int, bool>> ways;  // ranks, and dependent launch
  for (int const ranks : {2, 4}) {
    if (ranks > 2 && !test::one_device(2) && test::one_device(4)) { continue; }
    for (bool const dependent : {false, true}) {
      if (!dependent || !test::one_device(ranks)) { ways.emplace_back(ranks, dependent); }
    }
  }
  char const* const asked = std::getenv("ASSAY_STRESS_SECONDS");
  double const seconds = asked == nullptr ? 0 : std::atof(asked);
  double const share = seconds / static_cast<double>(ways.size());
  unsigned long long in_all = 0;
  for (auto const& [ranks, dependent] : ways) {
    auto const seed = test::fresh_seed();
    auto const way = std::to_string(ranks) + " ranks" + (dependent ? ", dependent launch" : "");
    INFO(way << ", seed " << seed);
    stress all{ranks, seed, dependent};
    auto const begun = std::chrono::steady_clock::now();
    double elapsed = 0, told = 0;
    unsigned long long operations = 0;
    for (int batch = 0; operations < 10'000 || elapsed < share; ++batch) {
      operations += static_cast<unsigned long long>(
          all.run_batch(batch % 2 == 1 ? 100 : 500, batch % 2 == 1));
      INFO("after batch " << batch);
      REQUIRE(all.wrong() == 0);
      // Of an odd number of batches, so that renewals fall into recorded ones and others.
      if (batch % 3 == 2) { all.begin_before_renewals(); }
      elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      if (elapsed < told + 30) { continue; }
      told = elapsed;
      std::fprintf(stderr, "%s: %llu operations in %.0f of %.0f s\n", way.c_str(), operations,
                   elapsed, share);
    }
    int const renewals = all.renewals();
    CHECK(renewals >= 20);  // four FIFO engines begin before a renewal some nine times each
    std::printf("%s: %llu operations, %d renewals in %.1f s, all right (seed %llu)\n", way.c_str(),
                operations, renewals, elapsed, static_cast<unsigned long long>(seed));
    std::fflush(stdout);  // a run that is ended keeps what was told
    in_all += operations;
  }
  std::printf("%llu operations in all, all right\n", in_all);
}

TEST_CASE("the stress finds one damaged element", "[comm]") {
  if (test::small()) { return; }
  stress all{2, 11, false};
  all.run_batch(20, false);
  CHECK(all.wrong() == 0);
  all.damage_next();
  all.run_batch(20, false);
  CHECK(all.wrong() >= 1);
}
