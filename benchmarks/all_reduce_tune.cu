// SPDX-License-Identifier: Apache-2.0
// Which algorithm of comm::all_reduce is the fastest for which size? Races of those that the
// engine's table may name, in graphs of 20 operations, checked, with engines made anew for each
// epoch. Those that are equal within 1 % are decided by the order lamport_push, FIFO, two_shot.
// --header FILE writes the table. For two GPUs it is include/assay/comm/tuned_2_ranks.hpp, with an
// include and two comments that headers of the library have.
// --settings also races each algorithm with other numbers of blocks and without dependent launch.
// Predicts for two GPUs: lamport_push up to some 3 MiB, fifo_one_shot above, each race decided
// within 3 s. For four: lamport_push to 256 KiB, two_shot to 8 MiB, fifo_two_shot above. Settings
// gain less than 2 %. On all GPUs, up to 4; ASSAY_RANKS=N takes the first N.

#include "../examples/ranks/reduction_work.cuh"
#include "support/ranks.hpp"
#include "support/result.hpp"

#include <assay/comm/all_reduce.cuh>
#include <assay/measure/options.hpp>
#include <assay/race/by_size.hpp>
#include <assay/race/json.hpp>
#include <assay/race/run_race.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using comm::algorithm;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
/// The largest message that `lamport_push` is given scratch for.
constexpr std::size_t most_pushed_bytes = 16 * mib;

/// Races of sums over ranks, one size after the other.
class tuner {
 public:
  tuner(comm::peers peers, on::device place)
      : peers_(std::move(peers)), place_(place), watches_(examples::watches_of(peers_)) {}

  comm::peers const& peers() const { return peers_; }

  /// The choices for a size, in the order in which equal ones are preferred. An engine uses one of
  /// the two FIFO algorithms.
  std::vector<comm::all_reduce_options> choices(std::size_t bytes) const {
    bool const two_shot = peers_.ranks() > 2;
    std::vector<comm::all_reduce_options> all;
    if (bytes <= most_pushed_bytes) {
      all.push_back({.how = algorithm::lamport_push, .scratch_bytes = std::max(bytes, 4 * kib)});
    }
    if (comm::has_fifo_code(two_shot, peers_.ranks(), comm::code_of(peers_))) {
      all.push_back({.how = two_shot ? algorithm::fifo_two_shot : algorithm::fifo_one_shot});
    }
    all.push_back({.how = algorithm::two_shot});
    return all;
  }

  measure::race_result race(std::size_t bytes, std::vector<comm::all_reduce_options> const& all) {
    int const operations = bytes >= 16 * mib ? 5 : 20;
    examples::epoch_arrays arrays{peers_, bytes / sizeof(float)};
    std::vector<measure::variant> candidates;
    for (auto const& each : all) {
      candidates.push_back(
          {name_of(each), {}, [&, each](measure::epoch const& now) {
             return arrays.subject(
                 [&] { return examples::engine_function<copy::regular<>>(peers_, each); },
                 operations, now);
           }});
    }
    measure::options chosen;
    chosen.clock = measure::clock::gpu;
    chosen.title = std::to_string(bytes) + " bytes";
    auto made = measure::run_race(candidates, examples::watched(chosen, watches_));
    made.where = machine::host_environment(benchmark::commit(), {});
    machine::describe_device(place_, made.where);
    std::cout << made << std::endl;
    return made;
  }

 private:
  /// The name of an algorithm alone where all else is the default.
  static std::string name_of(comm::all_reduce_options const& of) {
    std::string name{to_string(of.how)};
    if (of.blocks != 0) { name += ", " + std::to_string(of.blocks) + " blocks"; }
    return name + (of.dependent_launch ? "" : ", no dependent launch");
  }

  comm::peers peers_;
  on::device place_;
  std::vector<measure::environment_watch> watches_;
};

std::vector<comm::all_reduce_options> with_settings(
    std::vector<comm::all_reduce_options> const& all) {
  std::vector<comm::all_reduce_options> made;
  for (bool const early : {true, false}) {
    for (unsigned const blocks : {0U, 32U, 64U, 96U, 132U}) {
      for (auto each : all) {
        each.blocks = blocks;
        each.dependent_launch = early;
        made.push_back(each);
      }
    }
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  std::string header;
  bool settings = false;
  return benchmark::run(
      argc, argv, "all_reduce_tune",
      [&](benchmark::options const& chosen, report::document& out) {
        tuner of{comm::peers::first(benchmark::ranks_wanted(4)), chosen.place};
        std::vector<std::size_t> sizes{kib,       4 * kib,  16 * kib, 64 * kib, 256 * kib,
                                       512 * kib, mib,      2 * mib,  3 * mib,  4 * mib,
                                       8 * mib,   16 * mib, 64 * mib, 256 * mib};
        if (chosen.quick) { sizes = {16 * kib, mib, 8 * mib}; }
        std::erase_if(sizes, [&](std::size_t bytes) { return of.choices(bytes).size() < 2; });
        auto const table = measure::tabulated(
            sizes, [&](std::size_t bytes) { return of.race(bytes, of.choices(bytes)); });
        auto const ranks = std::to_string(of.peers().ranks());
        auto const text =
            "// SPDX-License-Identifier: Apache-2.0\n/// @file\n/// The algorithm of an all-reduce "
            "over " +
            ranks + " ranks by size. benchmarks/all_reduce_tune wrote it.\n" +
            report::size_header(table, "assay::comm::tuned_" + ranks + "_ranks");
        std::printf("%s", text.c_str());
        if (!header.empty()) { write_atomically(header, text); }
        out["ranks"] = of.peers().ranks();
        out["table"] = report::document::parse(report::json(table));
        if (!settings) { return; }
        chosen.save(out);
        out["settings"] =
            report::document::parse(report::json(measure::tabulated(sizes, [&](std::size_t bytes) {
              return of.race(bytes, with_settings(of.choices(bytes)));
            })));
      },
      {{"--header", "FILE", "writes the table as a header",
        [&](std::string const& path) { header = path; }},
       {"--settings", "", "also races other settings of each algorithm",
        [&](std::string const&) { settings = true; }}});
}
