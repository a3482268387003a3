// SPDX-License-Identifier: Apache-2.0
/// @file
/// The all-reduce experiment's table: ours and NCCL, size by size, timed as nccl-tests times.
#pragma once

#include "all_reduce_options.hpp"
#include "compared_strategies.cuh"
#include "contender.cuh"

#include <nccl_contenders.cuh>

#include <assay/comm/all_reduce.cuh>
#include <assay/comm/process_rank.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::examples {

/// `cp_async` of `copy::cp_async`.
inline std::string short_name(std::string_view name) {
  return std::string{name.substr(name.rfind(':') + 1)};
}

/// Calls `visit` with the strategy of that name. Only `float` comes with all of them: each more
/// takes the compiler 10 s for every type.
template <class T, class Visit>
void with_strategy(std::string const& name, Visit const& visit) {
  if constexpr (std::is_same_v<T, float>) {
    each_compared_strategy([&](auto const& strategy) {
      if (short_name(strategy.name) == name) { visit(strategy); }
    });
  } else {
    if (name != short_name(copy::regular<>::name)) {
      throw std::invalid_argument("--strategy " + name + " is there for -d float only");
    }
    visit(copy::regular<>{});
  }
}

/// Calls `visit` with a value of the element type of that name.
template <class Visit>
void with_element(std::string const& name, Visit const& visit) {
  if (name == "float") { visit(float{}); }
  if (name == "half") { visit(__half{}); }
  if (name == "bfloat16") { visit(__nv_bfloat16{}); }
}

inline comm::reduction reduction_of(std::string const& name) {
  if (name == "max") { return comm::reduction::max; }
  return name == "avg" ? comm::reduction::average : comm::reduction::sum;
}

/// The devices of the ranks, as the options choose them.
inline comm::peers peers_of(all_reduce_parameters const& given, cli::options const& chosen) {
  if (given.same_device > 0) {
    on::device const place{chosen.device};
    require_device(place);
    return comm::peers::on_one(place, given.same_device);
  }
  int const seen = device_count();
  int const wanted = given.devices > 0 ? given.ranks() : std::min(seen, comm::max_ranks);
  if (wanted < 2 || wanted > seen) {
    throw std::invalid_argument(
        "an all-reduce between GPUs needs 2 or more, and this process sees " +
        std::to_string(seen) + (wanted > seen ? " of " + std::to_string(wanted) : "") +
        ": --same-device 2 puts two ranks on one, to see that it works");
  }
  return comm::peers::first(wanted);
}

/// The line of each rank above a table.
inline std::vector<all_reduce_heading::rank_line> rank_lines(comm::rank_threads const& team,
                                                             int first) {
  std::array<char, 256> machine{};
  (void)gethostname(machine.data(), machine.size() - 1);
  std::string name{machine.data()};
  name = name.substr(0, name.find('.'));
  std::vector<all_reduce_heading::rank_line> lines;
  for (int i = 0; i < team.ranks(); ++i) {
    cudaDeviceProp seen{};
    check(cudaGetDeviceProperties(&seen, team.place(i).id));
    lines.push_back({first + i, static_cast<int>(getpid()), name, team.place(i).id,
                     seen.pciDomainID, seen.pciBusID, seen.pciDeviceID, seen.name});
  }
  return lines;
}

/// Times and checks contenders as nccl-tests does: by the host's clock around all iterations. The
/// thread of each rank then waits for its stream and for errors of the engine.
template <class T>
class table_bench {
 public:
  /// `over_all(value, what)` makes one number of those of all processes.
  using agreement = std::function<double(double, comm::reduction)>;

  table_bench(all_reduce_parameters const& given, comm::rank_threads& team, agreement over_all)
      : given_(given),
        team_(team),
        over_all_(std::move(over_all)),
        what_(reduction_of(given.operation)),
        ended_(static_cast<std::size_t>(team.ranks())) {}

  all_reduce_row row(contender<T>& of, std::size_t bytes) {
    all_reduce_row made;
    made.count = bytes / sizeof(T);
    made.bytes = made.count * sizeof(T);
    made.type = given_.type;
    made.operation = given_.operation;
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
        over_all_(given_.graphs > 0 ? replayed(of, once) : timed(of, given_.iterations, 1, once),
                  comm::reduction::max) /
        given_.iterations;
    if (given_.check > 0) {
      std::uint64_t wrong = 0;
      for (int i = 0; i < given_.check; ++i) { wrong += of.check(team_, count, what_, in_place); }
      found.wrong =
          static_cast<std::uint64_t>(over_all_(static_cast<double>(wrong), comm::reduction::sum));
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
        for (int i = 0; i < now; ++i) {
          once(rank, on);
          if (given_.blocking != 0) { of.synchronize(rank, on); }
        }
        if (done + now < times) { return; }
        of.synchronize(rank, on);
        ended_[static_cast<std::size_t>(rank)] = submit::host_clock::now();
      });
      if (done == 0) { begin = began; }
    }
    return submit::seconds_between(begin, *std::ranges::max_element(ended_));
  }

  all_reduce_parameters const& given_;
  comm::rank_threads& team_;
  agreement over_all_;
  comm::reduction what_;
  std::vector<submit::host_clock::time_point> ended_;
};

/// Ours, and NCCL's modes where there is NCCL, each with buffers for the largest size.
template <class T>
std::vector<contender<T>> contenders(all_reduce_parameters const& given, comm::peers const& peers,
                                     comm::rank_threads& team, std::size_t most_bytes,
                                     std::uint64_t seed) {
  auto const count = std::max<std::size_t>(1, most_bytes / sizeof(T));
  std::vector<contender<T>> all;
  with_strategy<T>(given.strategy, [&](auto const& strategy) {
    using engine_type = comm::basic_all_reduce<std::remove_cvref_t<decltype(strategy)>>;
    comm::all_reduce_options options;
    options.how = given.chosen_algorithm();
    options.blocks = static_cast<unsigned>(given.blocks);
    if (options.how == comm::algorithm::lamport_push) {
      options.scratch_bytes = std::max(std::size_t{1} << 20U, most_bytes);
    }
    auto engine = std::make_shared<engine_type>(peers, options);
    engine->template prepare<T>();
    auto arrays = std::make_shared<comm::rank_arrays<T>>(team, count, seed);
    all.push_back(make_contender<T>(engine->describe(), engine, std::move(arrays)));
  });
  // NCCL takes one rank on a device.
  if (given.no_nccl || given.same_device > 0) { return all; }
  if (!has_nccl && given.register_windows != 0) {
    throw std::invalid_argument("-R " + std::to_string(given.register_windows) +
                                ": this program was built without NCCL, whose windows they are");
  }
  for (auto const how : {nccl_buffers::plain, nccl_buffers::windows}) {
    if (given.register_windows == 0 && how == nccl_buffers::windows) { continue; }
    if (auto theirs = nccl_contender<T>(team, count, seed, how)) { all.push_back(*theirs); }
  }
  return all;
}

/// A table for each contender, measured size by size in turn.
template <class T>
std::vector<all_reduce_table> measure_tables(all_reduce_parameters const& given,
                                             cli::options const& chosen, comm::rank_threads& team,
                                             std::vector<contender<T>>& all,
                                             typename table_bench<T>::agreement const& over_all,
                                             int ranks, int first) {
  table_bench<T> bench{given, team, over_all};
  std::vector<all_reduce_table> tables(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    tables[i].heading = given.heading(all[i].name);
    tables[i].heading.devices = std::max(1, team.ranks() / given.threads);
    tables[i].heading.ranks = rank_lines(team, first);
    tables[i].heading.other_ranks = ranks - team.ranks();
    tables[i].ranks = ranks;
  }
  auto const sizes = given.sizes();
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (chosen.progress) {
        (*chosen.progress)(static_cast<int>(s) + 1, static_cast<int>(sizes.size()),
                           "table: " + report::byte_size(static_cast<double>(sizes[s])));
      }
      tables[i].rows.push_back(bench.row(all[i], sizes[s]));
    }
  }
  return tables;
}

/// The tables of the ranks in this process.
inline std::vector<all_reduce_table> tables_of_process(all_reduce_parameters const& given,
                                                       cli::options const& chosen,
                                                       comm::peers const& peers) {
  comm::rank_threads team{peers.devices()};
  std::vector<all_reduce_table> tables;
  with_element(given.type, [&](auto zero) {
    using element_type = decltype(zero);
    auto all = contenders<element_type>(given, peers, team, given.sizes().back(), chosen.seed);
    tables = measure_tables(
        given, chosen, team, all, [](double value, comm::reduction) { return value; },
        peers.ranks(), 0);
  });
  return tables;
}

/// The table of NCCL over several processes, for the rank of this one. All processes get equal
/// figures.
inline std::vector<all_reduce_table> tables_of_processes(all_reduce_parameters const& given,
                                                         cli::options const& chosen,
                                                         comm::process_rank const& me) {
  auto const how = given.register_windows == 2 ? nccl_buffers::windows : nccl_buffers::plain;
  nccl_process job{me, how};
  comm::rank_threads team{{job.place()}};
  // All ranks must fill their inputs from one seed, and --seed is drawn by each for itself.
  constexpr std::uint64_t shared_seed = 1;
  std::vector<all_reduce_table> tables;
  with_element(given.type, [&](auto zero) {
    using element_type = decltype(zero);
    auto const count = std::max<std::size_t>(1, given.sizes().back() / sizeof(zero));
    std::vector all{job.contend<element_type>(team, count, shared_seed)};
    tables = measure_tables(
        given, chosen, team, all,
        [&](double value, comm::reduction what) { return job.over_all(team, value, what); },
        me.ranks, me.rank);
  });
  return tables;
}

}  // namespace assay::examples
