// SPDX-License-Identifier: Apache-2.0
// What does the way a kernel brings in its tiles do to its rate? The sum of 1 GiB on the full grid
// by every strategy, beside CUB's reduction and the fastest of plain reading kernels in the same
// run; then sum and gather with one block on each of some SMs, and two workloads that should not
// care. Beside each rate stands the most that Little's law allows with the bytes in flight.
// Predicts: on the full grid all sums read at 97 % of the limit or more, and the nulls differ by
// less than 3 %; on 16 SMs bulk<4> is 1.5 to 3 times as fast as plain loads.
// What that missed, on one H200: full grids transpose 6.2 % slower by bulk<4>, 3.1 % faster by
// cp_async<2>. On 16 SMs bulk<4> is 1.18 times as fast for rows of 256 bytes, 1.45 to 1.49 for
// longer ones, and transposes at 0.74 of the rate. It had four times the bytes in flight of plain
// loads: beside it, under caps, strategies that have as many, and half as many. With as many
// cp_async<4> sums 1.6 times as fast; rows come fastest by regular<16, 8>, or bulk from 1 KiB on.

#include "../examples/device_array.hpp"
#include "../examples/workloads/row_gather.cuh"
#include "../examples/workloads/scale_add.cuh"
#include "../examples/workloads/streaming_sum.cuh"
#include "../examples/workloads/transpose.cuh"
#include "support/block_use.cuh"
#include "support/littles_law.cuh"
#include "support/result.hpp"

#include <assay/core/stream.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/stats/summary.hpp>
#include <assay/workload/concepts.hpp>

#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace assay;

template <class Strategy>
using lane_type =
    lane<on::device, ::cuda::stream_ref, mr::cuda_malloc_resource, no_transfer, Strategy>;

/// One way to do the same work.
struct contender {
  std::string name;
  std::function<void(stream const&)> enqueue;
  benchmark::block_use use = {};
  std::vector<double> seconds = {};
};

/// Times all contenders in turn, so that what drifts is shared; returns medians of seconds.
std::vector<double> in_turn(on::device place, std::vector<contender>& all, int rounds) {
  stream const where{place};
  event begin{event::kind::timed};
  event end{event::kind::timed};
  constexpr int launches = 4;
  for (int round = -1; round < rounds; ++round) {
    for (auto& each : all) {
      each.enqueue(where);  // what the one before left in the caches goes
      begin.record(where);
      for (int i = 0; i < launches; ++i) { each.enqueue(where); }
      end.record(where);
      where.synchronize();
      if (round >= 0) { each.seconds.push_back(end.seconds_since(begin) / launches); }
    }
  }
  std::vector<double> medians;
  for (auto const& each : all) { medians.push_back(stats::summarise(each.seconds).median); }
  return medians;
}

/// Adds `work` with one strategy over a state that all strategies share, checked once; unless it
/// cannot run here, which is told.
template <class Strategy, class Work, class State>
void add_strategy(on::device place, Work const& work, std::shared_ptr<State> const& state,
                  std::vector<contender>& all) {
  if (auto const why = workloads::why_unsupported(place, work, Strategy{})) {
    std::printf("left out: %s\n", why->c_str());
    return;
  }
  contender made{describe(Strategy{}),
                 [place, work, state](stream const& where) {
                   lane_type<Strategy> on_lane{place, where, mr::cuda_malloc{}.open(place)};
                   workloads::enqueue(work, on_lane, *state);
                 },
                 benchmark::use_of<Strategy>(work)};
  stream const where{place};
  workloads::poison(work, *state);
  made.enqueue(where);
  where.synchronize();
  if (auto const wrong = workloads::verify(work, *state)) {
    throw std::runtime_error(made.name + ": " + *wrong);
  }
  all.push_back(std::move(made));
}

/// Strategies, the one first that the others are held against.
template <class... Strategies>
struct strategies {
  template <class Work, class State>
  static std::vector<contender> of(on::device place, Work const& work,
                                   std::shared_ptr<State> const& state) {
    std::vector<contender> all;
    (add_strategy<Strategies>(place, work, state, all), ...);
    return all;
  }
};
using one_of_each = strategies<copy::regular<>, copy::cp_async<2>, copy::bulk<4>>;
/// With as many bytes in flight as cp_async<2>: regular<16, 8> and bulk<2>; as bulk<4>:
/// cp_async<4>.
using by_bytes = strategies<copy::regular<>, copy::cp_async<2>, copy::bulk<4>, copy::regular<16, 8>,
                            copy::cp_async<4>, copy::bulk<2>>;

template <class Work>
auto prepared(on::device place, Work const& work) {
  stream const where{place};
  lane_type<copy::regular<>> on_lane{place, where, mr::cuda_malloc{}.open(place)};
  return std::make_shared<decltype(workloads::prepare(work, on_lane, 1))>(
      workloads::prepare(work, on_lane, 1));
}

/// CUB's sum of the same array.
contender cub_sum(float const* x, std::int64_t count) {
  auto const out = std::make_shared<examples::device_array<float>>(1);
  std::size_t bytes = 0;
  check(cub::DeviceReduce::Sum(nullptr, bytes, x, out->get(), count));
  auto const room = std::make_shared<examples::device_array<std::byte>>(bytes);
  return {"cub::DeviceReduce::Sum", [=](stream const& where) {
            auto size = bytes;
            check(cub::DeviceReduce::Sum(room->get(), size, x, out->get(), count, where.get()));
          }};
}

struct bench {
  on::device place;
  report::document& figures;
  int rounds;
  benchmark::little_terms terms;
  double copy_limit = machine::device_copy_ceiling(place).per_second;

  /// Times them, prints them, and writes them with the rate of each and the most that Little's law
  /// allows.
  template <class Work>
  std::vector<double> report_on(std::string const& workload, Work const& work,
                                std::vector<contender> all) const {
    auto const medians = in_turn(place, all, rounds);
    auto const moved = work.item_traffic();
    auto const bytes = moved.bytes();
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const rate = bytes / medians[i];
      auto const [in_flight, most] = allowed(work, moved, all[i].use);
      std::string const bound{to_string(most.by)};
      figures["rows"].push_back(report::document{{"workload", workload},
                                                 {"sms", work.max_sms},
                                                 {"strategy", all[i].name},
                                                 {"seconds", medians[i]},
                                                 {"bytes", bytes},
                                                 {"bytes_per_second", rate},
                                                 {"in_flight_bytes", in_flight},
                                                 {"most_bytes_per_second", most.bytes_per_second},
                                                 {"bound", bound},
                                                 {"of_first", medians[0] / medians[i]}});
      std::printf(
          "%-22s %4s SMs  %-24s %7.1f GB/s  %5.2fx  at most %7.1f GB/s by %s\n", workload.c_str(),
          work.max_sms == 0 ? "all" : std::to_string(work.max_sms).c_str(), all[i].name.c_str(),
          rate * 1e-9, medians[0] / medians[i], most.bytes_per_second * 1e-9, bound.c_str());
    }
    std::fflush(stdout);
    return medians;
  }

  /// The bytes in flight at most, and the highest rate with them. CUB's are unknown: the memory
  /// limits its rate.
  template <class Work>
  std::pair<double, benchmark::little_rate> allowed(Work const& work, traffic const& moved,
                                                    benchmark::block_use const& use) const {
    auto const mix = moved.bytes() / moved.bytes_read;  // the traffic has writes too
    auto const limit = mix < 1.001 ? terms.read_bytes_per_second : copy_limit;
    if (use.in_flight == 0) { return {0.0, {limit, benchmark::little_bound::memory}}; }
    bool const capped = work.max_sms > 0;
    int const sms = capped ? work.max_sms : attribute(place, cudaDevAttrMultiProcessorCount);
    int const blocks = capped ? 1 : benchmark::resident_blocks(place, use, work.threads);
    auto const in_flight = use.in_flight * sms * blocks;
    return {in_flight,
            terms.most(in_flight, sms, mix, limit, std::is_same_v<Work, workloads::row_gather>)};
  }

  /// One workload with some strategies under caps.
  template <class Strategies, class Work>
  void under_caps(std::string const& name, Work work, std::vector<int> const& caps) const {
    auto const state = prepared(place, work);
    for (int const sms : caps) {
      work.max_sms = sms;
      report_on(name, work, Strategies::of(place, work, state));
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "copy_strategies", [](auto const& chosen, report::document& figures) {
        auto const place = chosen.place;
        auto const terms = benchmark::little_terms_of(place);
        figures["latency_seconds"] = terms.latency_seconds;
        figures["random_latency_seconds"] = terms.random_latency_seconds;
        figures["read_bytes_per_second"] = terms.read_bytes_per_second;
        figures["sm_bytes_per_second"] = terms.sm_bytes_per_second;
        std::printf(
            "latency %.0f ns, at random %.0f ns; reads %.1f GB/s, an SM %.1f; %.2f MiB in flight\n",
            terms.latency_seconds * 1e9, terms.random_latency_seconds * 1e9,
            terms.read_bytes_per_second * 1e-9, terms.sm_bytes_per_second * 1e-9,
            terms.bytes_needed() / 0x1p20);
        bench const with{place, figures, chosen.quick ? 3 : 21, terms};
        std::int64_t const bytes = chosen.quick ? std::int64_t{1} << 26 : std::int64_t{1} << 30;
        {
          workloads::streaming_sum<float> const sum{.elements = bytes / 4};
          auto const state = prepared(place, sum);
          auto all = one_of_each::of(place, sum, state);
          add_strategy<copy::regular<16, 8>>(place, sum, state, all);
          all.push_back(cub_sum(state->arrays(0).x, sum.elements));
          auto const medians = with.report_on("streaming_sum", sum, all);
          auto const ours = *std::min_element(medians.begin(), medians.end() - 1);
          auto const limit =
              std::max(terms.read_bytes_per_second, static_cast<double>(bytes) / medians.back());
          figures["sum_share_of_read_limit"] = static_cast<double>(bytes) / ours / limit;
          figures["sum_of_cub"] = medians.back() / ours;
          std::printf("best sum: %.1f %% of the read limit, %.3fx CUB\n",
                      100.0 * static_cast<double>(bytes) / ours / limit, medians.back() / ours);
        }
        std::vector<int> caps{4, 8, 16, 32, 64, attribute(place, cudaDevAttrMultiProcessorCount)};
        if (chosen.quick) { caps = {4}; }
        with.under_caps<by_bytes>("streaming_sum",
                                  workloads::streaming_sum<float>{.elements = bytes / 16}, caps);
        for (std::int64_t const row : {256, 1024, 4096, 16'384}) {
          with.under_caps<by_bytes>(
              "row_gather " + std::to_string(row),
              workloads::row_gather{
                  .rows = bytes / 4 / row, .table_rows = bytes / 2 / row, .row_bytes = row},
              chosen.quick ? caps : std::vector<int>{4, 16, 64, 0});
        }
        with.under_caps<one_of_each>("scale_add",
                                     workloads::scale_add<float>{.elements = bytes / 16},
                                     chosen.quick ? caps : std::vector<int>{16, 0});
        with.under_caps<one_of_each>("transpose",
                                     workloads::transpose{.rows = chosen.quick ? 1024 : 8192,
                                                          .columns = chosen.quick ? 1024 : 8192},
                                     chosen.quick ? caps : std::vector<int>{16, 0});
      });
}
