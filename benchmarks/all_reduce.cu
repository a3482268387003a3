// SPDX-License-Identifier: Apache-2.0
// What does an all-reduce of float sums cost from 1 KiB to 1 GiB, in graphs of 20 operations? Ours
// with its automatic choice runs beside NCCL with plain buffers and with symmetric windows.
// And called without a graph, up to 16 MiB: on the device, and on the host's thread of each rank?
// Predicts for 2 GPUs: 3.3 us to 16 KiB, 4.0 at 64 KiB, 4.5 at 256 KiB, 6.5 at 1 MiB, 15 at 4 MiB,
// 50 at 16 MiB, 352 GB/s of busbw from 64 MiB: 1.4 to 2 times the better mode of NCCL in between.
// For 4: 3.8, 5.5, 6.5, 9, 22, 78 us and 360 GB/s. In place 2 % more. On all GPUs; ASSAY_RANKS=N
// takes the first N. A call takes the host at most 2 us with a thread for each of 2 or 4 GPUs.
// Beside it, launches of an empty kernel: 4.3 us of 4.9 for two threads, of which the parameters
// take 0.2, the attribute 0.5, the runtime 0.4, and the other thread 1.5. Found on two H200s with
// --quick: 3.2 to 3.9 us of 3.7 to 4.6, so 2 us is less than a launch takes. One thread alone takes
// 2.9 to 3.3, the driver's own function 2.8 to 3.7, few parameters nothing less, and no attribute
// 3.8 to 4.2. The guard of a call's device takes 0.35.
// Beside them kernels that push as many bytes as an all-reduce must and do nothing else: the limit.
// And NCCL with a process for each GPU, for which this program starts itself: within 3 % of NCCL in
// one process, as found up to 16 MiB. Under torchrun, srun or mpirun the program is a rank, and
// measures that alone.
// assay-may-use: nccl

#include "support/contender.cuh"
#include "support/launch_floors.cuh"
#include "support/link_pushes.cuh"
#include "support/rank_job.hpp"
#include "support/ranks.hpp"
#include "support/result.hpp"

#include <nccl_contender.cuh>
#include <nccl_process.cuh>

#include <assay/comm/all_reduce.cuh>
#include <assay/report/format.hpp>
#include <assay/stats/summary.hpp>
#include <assay/world/world.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using examples::contender;
using engine_type = comm::all_reduce;

constexpr int operations = 20;  ///< in a graph
/// Without a graph; held behind a latch they fit into the queue of every contender.
constexpr int calls = 50;
constexpr std::size_t most_called_bytes = std::size_t{16} << 20U;
constexpr std::uint64_t seed = 20261121;

/// One rank's call of some contender.
struct caller {
  std::string name;
  std::function<void(int, ::cuda::stream_ref)> call;
  std::vector<double> device, host;  ///< seconds of a call, one for each repetition
};

/// A contender at one size: its graphs, right results, and its times.
struct entrant {
  std::string name;
  examples::rank_graphs graphs;
  std::vector<double> seconds;  ///< per operation, one for each repetition
};

report::document told(entrant const& of, std::size_t bytes, int ranks) {
  auto const time = stats::summarise(of.seconds);
  auto const busbw = static_cast<double>(bytes) / time.median * 2 * (ranks - 1) / ranks;
  return {{of.name + "_us", time.median * 1e6},
          {of.name + "_q1_us", time.q1 * 1e6},
          {of.name + "_q3_us", time.q3 * 1e6},
          {of.name + "_min_us", time.min * 1e6},
          {of.name + "_max_us", time.max * 1e6},
          {of.name + "_repetitions", time.count},
          {of.name + "_busbw_gb_per_second", busbw * 1e-9}};
}

constexpr std::size_t most_bytes_of(bool quick) { return std::size_t{1} << (quick ? 24U : 30U); }

/// The sizes in a job, in which this process is a rank: NCCL over processes.
void measure_rank(world const& all, benchmark::options const& chosen, report::document& figures) {
  bool const quick = all.broadcast(chosen.quick ? "quick" : "") == "quick";  // rank 0 has options
  auto const most = most_bytes_of(quick);
  examples::nccl_process rank{all, most, seed};
  for (std::size_t bytes = 1024; bytes <= most; bytes *= 4) {
    entrant const found{
        "nccl_processes",
        {},
        rank.seconds(bytes, operations, examples::sampling_of(bytes, operations, quick))};
    if (all.rank() != 0) { continue; }
    auto row = told(found, bytes, all.ranks());
    std::printf("%12zu B  NCCL over %d processes %8.2f us (%.2f..%.2f)\n", bytes, all.ranks(),
                row["nccl_processes_us"].get<double>(), row["nccl_processes_min_us"].get<double>(),
                row["nccl_processes_max_us"].get<double>());
    row["bytes"] = bytes;
    figures["sizes"].push_back(std::move(row));
  }
}

class bench {
 public:
  /// `processes` has the rows of NCCL over processes.
  bench(comm::peers peers, report::document processes, bool quick)
      : peers_(std::move(peers)),
        team_(peers_.devices()),
        quick_(quick),
        processes_(std::move(processes)),
        arrays_(std::make_shared<examples::rank_arrays<float>>(
            team_, most_bytes_of(quick) / sizeof(float), seed)),
        engine_(std::make_shared<engine_type>(peers_)) {
    engine_->prepare<float>();
    all_.push_back(examples::make_contender<float>("ours", engine_, arrays_));
    for (auto const how : {examples::nccl_buffers::plain, examples::nccl_buffers::windows}) {
      auto theirs =
          examples::nccl_contender<float>(team_, most_bytes_of(quick) / sizeof(float), seed, how);
      if (!theirs) { continue; }
      modes_.push_back(std::exchange(
          theirs->name, how == examples::nccl_buffers::plain ? "nccl_default" : "nccl_windows"));
      all_.push_back(std::move(*theirs));
    }
    std::array<void*, comm::max_ranks> room{};
    auto const out = arrays_->out_of_place().out;
    std::copy(out.begin(), out.end(), room.begin());
    pushes_ = std::make_unique<benchmark::link_pushes>(team_, room);
  }

  int ranks() const { return peers_.ranks(); }
  /// NCCL's modes, as it calls itself.
  std::vector<std::string> const& modes() const { return modes_; }

  /// All contenders at one size and the pushes alone, in turn.
  report::document row(std::size_t bytes) {
    auto const count = bytes / sizeof(float);
    std::vector<entrant> all;
    for (auto& each : all_) { all.push_back(enter(each, count, false)); }
    all.push_back(enter(all_.front(), count, true));
    enter_pushes(all, bytes);
    measure_in_turn(all, bytes);
    auto const entrants = std::span<entrant const>{all}.first(all_.size());
    auto const& in_place = all[all_.size()];
    auto const pushes = std::span<entrant const>{all}.subspan(all_.size() + 1);
    report::document made{{"bytes", bytes}, {"kib", bytes >> 10U}, {"operations", operations}};
    made["ours_algorithm"] =
        std::string{comm::to_string(engine_->chosen(arrays_->out_of_place(), count))};
    for (auto const& each : entrants) { made.update(told(each, bytes, ranks())); }
    made.update(told(in_place, bytes, ranks()));
    std::printf("%12zu B", bytes);
    for (auto const& each : entrants) {
      auto const time = stats::summarise(each.seconds);
      std::printf("  %s %8.2f us (%.2f..%.2f)", each.name.c_str(), time.median * 1e6,
                  time.min * 1e6, time.max * 1e6);
    }
    for (auto const& each : processes_) {
      if (each.at("bytes") != bytes) { continue; }
      made.update(each);
      std::printf("  over processes %8.2f us", each.at("nccl_processes_us").get<double>());
    }
    if (entrants.size() > 1) {
      // The better of NCCL's modes in the same repetition, so that drift is in both.
      std::vector<double> ratios;
      for (std::size_t i = 0; i < entrants.front().seconds.size(); ++i) {
        double best = entrants[1].seconds[i];
        for (std::size_t k = 2; k < entrants.size(); ++k) {
          best = std::min(best, entrants[k].seconds[i]);
        }
        ratios.push_back(best / entrants.front().seconds[i]);
      }
      auto const ratio = stats::summarise(ratios);
      made.update(report::document{{"over_better_nccl", ratio.median},
                                   {"over_better_nccl_min", ratio.min},
                                   {"over_better_nccl_max", ratio.max}});
      std::printf("  %.2fx the better", ratio.median);
    }
    made.update(limits(pushes, stats::summarise(entrants.front().seconds).median));
    std::printf("  %.1f GB/s busbw, %s; in place %.2f us; pushed alone %.2f us (%s)\n",
                made["ours_busbw_gb_per_second"].get<double>(),
                made["ours_algorithm"].get<std::string>().c_str(),
                made["ours_in_place_us"].get<double>(), made["pushed_us"].get<double>(),
                made["pushed_how"].get<std::string>().c_str());
    std::fflush(stdout);
    return made;
  }

  /// Calls without graphs at one size. The streams are held until all ranks have made their calls:
  /// the host's time is that of its slowest thread, and no device waits for the host. Ours is also
  /// called with each rank's own buffers alone.
  report::document without_graphs(std::size_t bytes) {
    auto const count = bytes / sizeof(float);
    std::vector<caller> all;
    for (auto& each : all_) {
      auto const buffers = each.arrays->out_of_place();
      all.push_back({each.name,
                     [&each, buffers, count](int rank, ::cuda::stream_ref on) {
                       each.enqueue(rank, on, buffers, count, comm::reduction::sum);
                     },
                     {},
                     {}});
    }
    auto const own = arrays_->out_of_place();
    all.push_back({"ours_own",
                   [this, own, count](int rank, ::cuda::stream_ref on) {
                     auto const r = static_cast<std::size_t>(rank);
                     engine_->enqueue(rank, on, own.in[r], own.out[r], count, comm::reduction::sum);
                   },
                   {},
                   {}});
    for (auto& each : benchmark::launch_floors()) {
      team_.run(each.call);  // loads its kernel, which could not be done behind a latch
      team_.synchronize();
      all.push_back({std::move(each.name), std::move(each.call), {}, {}});
    }
    for (int i = -1; i < (quick_ ? 3 : 31); ++i) {
      for (auto& each : all) {
        auto const took = team_.time([&](int rank, ::cuda::stream_ref on) {
          for (int k = 0; k < calls; ++k) { each.call(rank, on); }
        });
        if (i < 0) { continue; }  // the warm-up
        each.device.push_back(took.gpu / calls);
        each.host.push_back(took.submit / calls);
      }
    }
    arrays_->poison();
    auto const& ours_own = *std::ranges::find(all, "ours_own", &caller::name);
    team_.run([&](int rank, ::cuda::stream_ref on) { ours_own.call(rank, on); });
    team_.synchronize();
    require_right(all_.front(), arrays_->wrong(count, comm::reduction::sum), count);
    report::document made{{"bytes", bytes}, {"kib", bytes >> 10U}, {"calls", calls}};
    std::printf("%12zu B, no graph", bytes);
    for (auto const& each : all) {
      auto const device = stats::summarise(each.device);
      auto const host = stats::summarise(each.host);
      made.update(report::document{{each.name + "_us", device.median * 1e6},
                                   {each.name + "_host_us", host.median * 1e6},
                                   {each.name + "_host_q1_us", host.q1 * 1e6},
                                   {each.name + "_host_q3_us", host.q3 * 1e6}});
      std::printf("  %s %.2f us, host %.2f us", each.name.c_str(), device.median * 1e6,
                  host.median * 1e6);
    }
    made["ours_own_algorithm"] = std::string{comm::to_string(engine_->chosen<float>(count))};
    std::printf("\n");
    std::fflush(stdout);
    return made;
  }

  /// Our algorithms at one size, each asked for by name, in turn: what the automatic choice is
  /// from.
  report::document algorithms(std::size_t bytes) {
    auto const count = bytes / sizeof(float);
    std::vector<contender<float>> named;
    std::vector<entrant> entrants;
    for (int i = 1; i < comm::algorithms; ++i) {
      comm::all_reduce_options options;
      options.how = static_cast<comm::algorithm>(i);
      auto const engine = std::make_shared<engine_type>(peers_, options);
      engine->prepare<float>();
      auto one = examples::make_contender<float>(std::string{comm::to_string(options.how)}, engine,
                                                 arrays_);
      try {
        entrants.push_back(enter(one, count, false));
        named.push_back(std::move(one));                    // lives as long as its graphs
      } catch (std::invalid_argument const&) { continue; }  // more than its scratch holds
    }
    measure_in_turn(entrants, bytes);
    report::document made{{"bytes", bytes}, {"kib", bytes >> 10U}};
    std::printf("%12zu B", bytes);
    for (auto const& each : entrants) {
      auto const time = stats::summarise(each.seconds);
      made[each.name + "_us"] = time.median * 1e6;
      std::printf("  %s %.2f us", each.name.c_str(), time.median * 1e6);
    }
    std::printf("\n");
    std::fflush(stdout);
    return made;
  }

 private:
  /// Checks one operation, records 20, and checks what a replay of them leaves. In place a sum
  /// would be summed again, and a maximum stays.
  entrant enter(contender<float>& what, std::size_t count, bool in_place) {
    auto const reduction = in_place ? comm::reduction::max : comm::reduction::sum;
    require_right(what, what.check(team_, count, reduction, in_place), count);
    auto const buffers = in_place ? what.arrays->in_place() : what.arrays->out_of_place();
    entrant made{
        what.name + (in_place ? "_in_place" : ""),
        team_.record(operations, [&](int rank, ::cuda::stream_ref on,
                                     int) { what.enqueue(rank, on, buffers, count, reduction); }),
        {}};
    in_place ? what.arrays->fill_outputs() : what.arrays->poison();
    team_.run([&](int rank, ::cuda::stream_ref on) { made.graphs.launch(rank, on); });
    team_.synchronize();
    require_right(what, what.arrays->wrong(count, reduction), count);
    return made;
  }

  /// Adds what pushes the same bytes and does nothing else: the limit. With more than
  /// two ranks, also pushes to the next rank alone, as rings do.
  void enter_pushes(std::vector<entrant>& to, std::size_t bytes) {
    for (auto const pattern : {benchmark::push_pattern::to_all, benchmark::push_pattern::to_next}) {
      if (pattern == benchmark::push_pattern::to_next && ranks() == 2) { continue; }  // the same
      for (auto const& how : pushes_->ways()) {
        to.push_back({how.name, pushes_->record(how, pattern, bytes, operations), {}});
      }
    }
  }

  /// The fastest way at this size to push to all, and to the next.
  report::document limits(std::span<entrant const> pushes, double ours) const {
    auto const seconds = [](entrant const& of) { return stats::summarise(of.seconds).median; };
    auto const fastest = [&](std::span<entrant const> of) -> entrant const& {
      return *std::ranges::min_element(of, {}, seconds);
    };
    auto const ways = pushes_->ways().size();
    auto const& to_all = fastest(pushes.first(ways));
    report::document made{{"pushed_us", seconds(to_all) * 1e6},
                          {"pushed_how", to_all.name},
                          {"ours_of_limit", seconds(to_all) / ours}};
    if (pushes.size() > ways) {
      auto const& to_next = fastest(pushes.subspan(ways));
      made["pushed_to_next_us"] = seconds(to_next) * 1e6;
      made["pushed_to_next_how"] = to_next.name;
    }
    return made;
  }

  static void require_right(contender<float> const& what, std::uint64_t wrong, std::size_t count) {
    if (wrong == 0) { return; }
    throw std::runtime_error(what.name + ": " + std::to_string(wrong) + " of " +
                             std::to_string(count) + " elements are wrong on some rank");
  }

  /// Each repetition times all.
  void measure_in_turn(std::vector<entrant>& entrants, std::size_t bytes) {
    auto const [repetitions, launches] = examples::sampling_of(bytes, operations, quick_);
    for (int i = -1; i < repetitions; ++i) {
      for (auto& each : entrants) {
        auto const seconds =
            team_.time(each.graphs, launches, operations).gpu / launches / operations;
        if (i >= 0) { each.seconds.push_back(seconds); }  // the first is the warm-up
      }
    }
  }

  comm::peers peers_;
  examples::rank_threads team_;
  bool quick_;
  report::document processes_;
  std::shared_ptr<examples::rank_arrays<float>> arrays_;
  std::shared_ptr<engine_type> engine_;
  std::vector<contender<float>> all_;
  std::vector<std::string> modes_;
  std::unique_ptr<benchmark::link_pushes> pushes_;
};

void measure_all(benchmark::options const& chosen, report::document& figures) {
  int const gpus = benchmark::ranks_wanted(comm::max_ranks);
  auto const most = most_bytes_of(chosen.quick);
  // Before the others, not in turn with them.
  auto processes = examples::has_nccl ? benchmark::figures_of_job(gpus, chosen.quick).at("sizes")
                                      : report::document::array();
  bench with{comm::peers::first(gpus), std::move(processes), chosen.quick};
  figures["gpus"] = gpus;
  figures["type"] = "float";
  figures["operation"] = "sum";
  figures["placement"] = "out of place, but of ours_in_place, of which the operation is max";
  figures["nccl"] = with.modes();
  figures["multicast"] = false;
  figures["seed"] = seed;
  for (std::size_t bytes = 1024; bytes <= most; bytes *= 4) {
    figures["sizes"].push_back(with.row(bytes));
    chosen.save(figures);
  }
  for (std::size_t bytes = 1024; bytes <= std::min(most, most_called_bytes); bytes *= 4) {
    figures["without_graphs"].push_back(with.without_graphs(bytes));
    chosen.save(figures);
  }
  for (std::size_t bytes = 1024; bytes <= most; bytes *= 4) {
    figures["algorithms"].push_back(with.algorithms(bytes));
    chosen.save(figures);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  auto const all = assay::world::from_environment();
  if (all.ranks() == 1) { return benchmark::run(argc, argv, "all_reduce", measure_all); }
  // Rank 0 has the options and writes the result.
  return benchmark::run(all.rank() == 0 ? argc : 1, argv, "all_reduce",
                        [&](benchmark::options const& chosen, report::document& figures) {
                          try {
                            measure_rank(all, chosen, figures);
                          } catch (std::exception const& error) {
                            all.abandon(error.what());
                            throw;
                          }
                        });
} catch (std::exception const& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
