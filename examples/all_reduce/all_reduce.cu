// SPDX-License-Identifier: Apache-2.0
#include "all_reduce.hpp"
#include "collective_subject.cuh"
#include "strategy_variants.cuh"

#include <nccl_contender.cuh>

#include <assay/measure/procedure.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/summary.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <tuple>

namespace assay::examples {

namespace {

comm::reduction reduction_of(std::string const& name) {
  if (name == "max") { return comm::reduction::max; }
  return name == "avg" ? comm::reduction::average : comm::reduction::sum;
}

/// Times and checks contenders as nccl-tests does: by the host's clock around all iterations. The
/// thread of each rank then waits for its stream and for errors of the engine.
template <class T>
class table_bench {
 public:
  table_bench(all_reduce_parameters const& given, examples::rank_threads& team)
      : given_(given),
        team_(team),
        what_(reduction_of(given.operation)),
        ended_(static_cast<std::size_t>(team.ranks())) {}

  all_reduce_row row(contender<T>& of, std::size_t bytes) {
    all_reduce_row made;
    made.count = bytes / sizeof(T);
    made.bytes = made.count * sizeof(T);
    made.out_of_place = placed(of, made.count, false);
    made.in_place = placed(of, made.count, true);
    return made;
  }

 private:
  placement_result placed(contender<T>& of, std::size_t count, bool in_place) {
    auto const buffers = in_place ? of.arrays->in_place() : of.arrays->out_of_place();
    auto const once = [&](int rank, ::cuda::stream_ref on) {
      of.enqueue(rank, on, buffers, count, what_);
    };
    (void)timed(of, std::max(1, given_.warm_up), 1, once);
    placement_result found;
    found.seconds =
        (given_.graphs > 0 ? replayed(of, once) : timed(of, given_.iterations, 1, once)) /
        given_.iterations;
    for (int i = 0; i < given_.check; ++i) {
      found.wrong = found.wrong.value_or(0) + of.check(team_, count, what_, in_place);
    }
    return found;
  }

  /// Seconds of one replay.
  template <class Once>
  double replayed(contender<T> const& of, Once const& once) {
    auto const graphs = team_.record(given_.iterations,
                                     [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
    auto const replay = [&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); };
    (void)timed(of, 1, given_.iterations, replay);
    return timed(of, given_.graphs, given_.iterations, replay) / given_.graphs;
  }

  /// Seconds from when all ranks' threads begin until the last has waited for its stream; `once` is
  /// so many `launches`.
  template <class Once>
  double timed(contender<T> const& of, int times, int launches, Once const& once) {
    // On a shared device, a rank that is far ahead would fill its queue. Its kernels would wait for
    // a rank that cannot launch. So the ranks synchronise every few hundred launches.
    constexpr int room = 400;
    bool const shared = comm::shares_a_device(team_.places());
    int const at_once = shared ? std::max(1, room / launches) : times;
    submit::host_clock::time_point begin;
    for (int done = 0; done < times; done += at_once) {
      int const now = std::min(at_once, times - done);
      auto const began = team_.run([&](int rank, ::cuda::stream_ref on) {
        for (int i = 0; i < now; ++i) { once(rank, on); }
        if (done + now < times) { return; }
        of.synchronize(rank, on);
        ended_[static_cast<std::size_t>(rank)] = submit::host_clock::now();
      });
      if (done == 0) { begin = began; }
    }
    return submit::seconds_between(begin, *std::ranges::max_element(ended_));
  }

  all_reduce_parameters const& given_;
  examples::rank_threads& team_;
  comm::reduction what_;
  std::vector<submit::host_clock::time_point> ended_;
};

/// Ours, and NCCL's modes where there is NCCL, each with buffers for the largest size.
template <class T>
std::vector<contender<T>> contenders(all_reduce_parameters const& given, comm::peers const& peers,
                                     examples::rank_threads& team, std::uint64_t seed) {
  auto const most_bytes = given.sizes.back();
  auto const count = std::max<std::size_t>(1, most_bytes / sizeof(T));
  comm::all_reduce_options options;
  options.how = given.algorithm;
  options.blocks = static_cast<unsigned>(given.blocks);
  if (options.how == comm::algorithm::lamport_push) {
    options.scratch_bytes = std::max(std::size_t{1} << 20U, most_bytes);
  }
  auto const engine = std::make_shared<comm::all_reduce>(peers, options);
  engine->template prepare<T>();
  std::vector<contender<T>> all{make_contender<T>(
      engine->describe(), engine, std::make_shared<rank_arrays<T>>(team, count, seed))};
  if (!given.nccl) { return all; }
  if (!has_nccl && given.windows) {
    throw std::invalid_argument(
        "-R 2: this program was built without NCCL, whose windows they are");
  }
  for (auto const how : {nccl_buffers::plain, nccl_buffers::windows}) {
    if (!given.windows && how == nccl_buffers::windows) { continue; }
    if (auto theirs = nccl_contender<T>(team, count, seed, how)) { all.push_back(*theirs); }
  }
  return all;
}

template <class T>
std::vector<all_reduce_table> tables_of(all_reduce_parameters const& given,
                                        comm::peers const& peers, cli::options const& chosen) {
  examples::rank_threads team{peers.devices()};
  auto all = contenders<T>(given, peers, team, chosen.seed);
  table_bench<T> bench{given, team};
  std::vector<all_reduce_table> tables;
  for (auto const& each : all) { tables.push_back({each.name, {}}); }
  for (std::size_t s = 0; s < given.sizes.size(); ++s) {
    chosen.say(static_cast<int>(s) + 1, static_cast<int>(given.sizes.size()),
               "table: " + report::byte_size(static_cast<double>(given.sizes[s])));
    for (std::size_t i = 0; i < all.size(); ++i) {
      tables[i].rows.push_back(bench.row(all[i], given.sizes[s]));
    }
  }
  return tables;
}

/// Enough operations in a graph for its start to be lost in them, and 5 where one takes longer.
int operations_at(std::size_t bytes) { return bytes >= std::size_t{8} << 20U ? 5 : 20; }

measure::comparison compare_at(std::size_t bytes, std::vector<staged_strategy> const& strategies,
                               comm::peers const& peers, examples::rank_threads& team,
                               measure::options const& measuring) {
  auto const count = bytes / sizeof(float);
  epoch_arrays arrays{team, count};
  std::vector<measure::variant> variants;
  std::vector<measure::contrast> contrasts;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    auto const& each = strategies[i];
    auto const stages = each.stages + (each.stages == "1" ? " stage, " : " stages, ");
    variants.push_back(examples::collective_variant(
        stages + each.strategy, {{"stages", each.stages}, {"strategy", each.strategy}},
        [&, bytes, count](measure::epoch const& now) {
          return work_of(each.make_engine(0), peers, operations_at(bytes), count, arrays.of(now));
        }));
    variants.back().bytes = static_cast<double>(bytes) * operations_at(bytes);
    // Each strategy is held against the first at as many stages.
    auto const control = static_cast<std::size_t>(
        std::ranges::find(strategies, each.stages, &staged_strategy::stages) - strategies.begin());
    if (i == control) { continue; }
    contrasts.push_back({stages + each.strategy + " against " + strategies[control].strategy,
                         measure::contrast::kind::difference,
                         std::vector<double>(strategies.size(), 0.0)});
    contrasts.back().weights[control] = -1;
    contrasts.back().weights[i] = 1;
  }
  auto const watch = watch_of(peers);
  auto found = measure::run(variants, contrasts, measure::watched(measuring, watch));
  watch.describe(found);
  return found;
}

auto arrays_of(examples::rank_threads& team, std::size_t bytes, std::uint64_t seed) {
  return std::make_shared<rank_arrays<float>>(team, bytes / sizeof(float), seed);
}

/// One operation, for a team to run.
auto one_of(contender<float> const& of, std::size_t bytes) {
  return [of, buffers = of.arrays->out_of_place(), bytes](int rank, ::cuda::stream_ref on) {
    of.enqueue(rank, on, buffers, bytes / sizeof(float), comm::reduction::sum);
  };
}

block_row block_row_of(staged_strategy const& of, contender<float>& run,
                       examples::rank_threads& team, std::size_t bytes, bool quick) {
  if (auto const wrong = run.check(team, bytes / sizeof(float), comm::reduction::sum, false)) {
    throw std::runtime_error(of.strategy + ": " + std::to_string(wrong) + " elements are wrong");
  }
  int const operations = quick ? 2 : 5;
  auto const once = one_of(run, bytes);
  auto const graphs =
      team.record(operations, [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
  std::vector<double> seconds;
  for (int i = 0; i < (quick ? 3 : 7); ++i) {
    auto const time = team.time(graphs, 1, operations).gpu / operations;
    if (i > 0) { seconds.push_back(time); }
  }
  auto const times = stats::summarise(seconds);
  return {0,
          of.stages,
          of.strategy,
          times.median,
          times.min,
          times.max,
          bus_gigabytes(static_cast<double>(bytes), times.median, team.ranks())};
}

}  // namespace

std::vector<std::string> all_reduce_strategies() {
  std::vector<std::string> all;
  each_compared_strategy([&](auto const& strategy) { all.push_back(describe(strategy)); });
  return all;
}

std::vector<all_reduce_table> all_reduce_tables(all_reduce_parameters const& given,
                                                comm::peers const& peers,
                                                cli::options const& chosen) {
  if (given.type == "half") { return tables_of<__half>(given, peers, chosen); }
  if (given.type == "bfloat16") { return tables_of<__nv_bfloat16>(given, peers, chosen); }
  return tables_of<float>(given, peers, chosen);
}

std::vector<cli::named_comparison> compare_strategies(all_reduce_parameters const& given,
                                                      comm::peers const& peers,
                                                      cli::options const& chosen,
                                                      measure::clock clock) {
  examples::rank_threads team{peers.devices()};
  auto const strategies = staged_strategies(peers);
  auto measuring = chosen.measuring();
  measuring.clock = clock;
  measuring.alpha /= static_cast<double>(given.compared.size());
  std::vector<cli::named_comparison> all;
  for (auto const bytes : given.compared) {
    all.emplace_back(report::byte_size(static_cast<double>(bytes)),
                     compare_at(bytes, strategies, peers, team, measuring));
  }
  return all;
}

std::vector<block_row> sweep_blocks(all_reduce_parameters const& given, comm::peers const& peers,
                                    cli::options const& chosen) {
  examples::rank_threads team{peers.devices()};
  auto const arrays = arrays_of(team, given.sweep, chosen.seed);
  // Each block has an SM of its own, also where ranks share a device.
  auto const most =
      attribute(peers.device(0), cudaDevAttrMultiProcessorCount) / peers.most_on_one();
  std::vector<int> counts;
  for (int each = 1; each < most; each *= 2) { counts.push_back(each); }
  counts.push_back(most);
  std::vector<block_row> rows;
  for (int const blocks : counts) {
    chosen.say(blocks, most, "busbw by SMs");
    for (auto const& each : staged_strategies(peers)) {
      // A strategy gets no more blocks than there are tiles.
      auto const reduced =
          given.sweep / (each.stages == "1" ? 1U : static_cast<unsigned>(peers.ranks()));
      if (reduced / each.tile_bytes < static_cast<unsigned>(blocks)) { continue; }
      contender<float> run{each.strategy, arrays, each.make_engine(static_cast<unsigned>(blocks))};
      rows.push_back(block_row_of(each, run, team, given.sweep, chosen.quick));
      rows.back().blocks = blocks;
    }
  }
  return rows;
}

std::vector<named_trace> trace_strategies(all_reduce_parameters const& given,
                                          comm::peers const& peers, cli::options const& chosen,
                                          cli::tracing const& by) {
  examples::rank_threads team{peers.devices()};
  auto const bytes = given.compared.front();
  auto const arrays = arrays_of(team, bytes, chosen.seed);
  std::vector<contender<float>> all;
  for (auto const& each : staged_strategies(peers)) {
    all.push_back({each.strategy + ", " + each.stages, arrays, each.make_engine(0)});
  }
  comm::all_reduce_options options;
  options.dependent_launch = false;
  all.push_back({"automatic", arrays, engine_function<copy::regular<>>(peers, options)});
  options.dependent_launch = true;
  if (peers.most_on_one() == 1) {  // refused where ranks share a device
    all.push_back(
        {"automatic, dependent launch", arrays, engine_function<copy::regular<>>(peers, options)});
  }
  constexpr int operations = 50;
  std::vector<named_trace> traces;
  for (auto const& each : all) {
    chosen.say(0, 1, "tracing " + each.name);
    auto const once = one_of(each, bytes);
    traces.emplace_back(each.name + ", launched", by.record([&] {
      team.run([&](int rank, ::cuda::stream_ref on) {
        for (int i = 0; i < operations; ++i) { once(rank, on); }
      });
      team.synchronize();
    }));
    auto const graphs =
        team.record(operations, [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
    traces.emplace_back(each.name + ", in a graph", by.record([&] {
      team.run([&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); });
      team.synchronize();
    }));
  }
  return traces;
}

}  // namespace assay::examples
