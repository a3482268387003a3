// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the all-reduce example: the letters of nccl-tests, and more.
#pragma once

#include "all_reduce_table.hpp"
#include "cli.hpp"
#include "trace_choice.hpp"

#include <assay/comm/algorithm.hpp>
#include <assay/comm/process_rank.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

/// The parameters of the all-reduce experiment beside those that all examples have.
struct all_reduce_parameters {
  std::string min = "32M", max = "32M", step = "1M", type = "float", operation = "sum";
  int factor = 0, devices = 0, threads = 1, iterations = 20, warm_up = 1, check = 1, graphs = 0,
      blocking = 0, register_windows = 0, root = 0;
  std::string algorithm = "automatic", strategy = "regular";
  int blocks = 0;
  int same_device = 0;  ///< ranks on one device; 0: one on each
  bool table_only = false, no_nccl = false;
  std::vector<std::string> strategy_sizes{"256K", "512K", "1M", "2M", "4M", "16M", "64M"};
  std::string sweep = "64M";
  cli::trace_choice traces;
  bool clock_named = false;
  std::optional<comm::process_rank> job{};  ///< of several processes this is one

  static std::vector<std::string> types() { return {"float", "half", "bfloat16"}; }
  static std::vector<std::string> operations() { return {"sum", "max", "avg"}; }
  static std::vector<std::string> strategies() { return {"regular", "cp_async", "bulk"}; }
  static std::vector<std::string> algorithm_names() {
    std::vector<std::string> all;
    for (int i = 0; i < comm::algorithms; ++i) {
      all.emplace_back(comm::to_string(static_cast<comm::algorithm>(i)));
    }
    return all;
  }

  void add_to(cli::command_line& line) {
    line.group("Table, as nccl-tests");
    line.option("-b,--minbytes", min, "least size of a rank's data: 1024, 8K, 32M, 1G");
    line.option("-e,--maxbytes", max, "largest size");
    line.option("-i,--stepbytes", step, "from size to size, where there is no factor");
    line.option("-f,--stepfactor", factor, "from size to size; 0: steps of -i");
    line.option("-g,--ngpus", devices, "devices for each thread of -t; 0: all that there are");
    line.option("-t,--nthreads", threads,
                "threads; their devices are as many times -g, each driven by a thread of its own");
    line.option("-n,--iters", iterations, "operations that are timed");
    line.option("-w,--warmup_iters", warm_up, "operations before them");
    line.option("-c,--check", check, "check so many times that all elements are right; 0: do not");
    line.option("-d,--datatype", type, "float, half or bfloat16");
    line.option("-o,--op", operation, "sum, max or avg");
    line.option("-r,--root", root, "ignored: an all-reduce has no root");
    line.option("-G,--cudagraph", graphs, "record the operations, and launch the graph so often");
    line.option("-z,--blocking", blocking, "1: wait for each operation before the next");
    line.option("-R,--local_register", register_windows,
                "2: NCCL's buffers are symmetric windows; 0: they are not");
    line.group("All-reduce");
    line.option("--algorithm", algorithm, cli::joined(algorithm_names()));
    line.option(
        "--strategy", strategy,
        "how tiles come in, by the algorithms pull and two_shot: " + cli::joined(strategies()));
    line.option("--blocks", blocks, "blocks of a rank; 0: as many as the size needs");
    line.option("--same-device", same_device,
                "put so many ranks on one device, for a machine with one GPU; 0: do not");
    line.flag("--no-nccl", no_nccl, "leave NCCL out, also where the build has it");
    line.group("Experiment");
    line.flag("--table-only", table_only,
              "print the table and leave the strategies out; --json and --csv are then of the "
              "table alone");
    line.list("--strategy-sizes", strategy_sizes, "sizes at which strategies are compared");
    line.option("--sweep-size", sweep, "size at which busbw is told by the number of SMs");
    traces.add_to(line, "; also prints launches per operation, their cost and their overlap");
  }

  /// Refuses what makes no sense, by name and value, before anything is allocated.
  void settle(cli::options const& given, cli::command_line const& line) {
    clock_named = line.given("--clock");
    if (job) { require_for_processes(line); }
    if (given.quick) {
      if (!line.given("-b")) { min = "1K"; }
      if (!line.given("-e")) { max = "1M"; }
      if (!line.given("-f") && !line.given("-i")) { factor = 4; }
      if (!line.given("--strategy-sizes")) { strategy_sizes = {"256K", "1M"}; }
      if (!line.given("--sweep-size")) { sweep = "8M"; }
    } else if (!line.given("-e") && line.given("-b")) {
      max = bytes("-b", min) > bytes("-e", max) ? min : max;
    }
    if (given.host) {
      throw std::invalid_argument("--host: an all-reduce between GPUs has no half on the host");
    }
    (void)sizes();
    (void)compared_bytes();
    (void)sweep_bytes();
    for (auto const& [name, value] : {std::pair{"-t", threads}, std::pair{"-n", iterations}}) {
      cli::require_count(name, value);
    }
    for (auto const& [name, value] :
         {std::pair{"-w", warm_up}, std::pair{"-c", check}, std::pair{"-G", graphs},
          std::pair{"--blocks", blocks}, std::pair{"-f", factor}}) {
      cli::require_between(name, value, 0, std::numeric_limits<int>::max());
    }
    if (factor == 1) {
      throw std::invalid_argument("-f 1: sizes would never grow; name 2 or more");
    }
    cli::require_between("-z", blocking, 0, 1);
    if (register_windows != 0 && register_windows != 2) {
      throw std::invalid_argument("-R " + std::to_string(register_windows) +
                                  ": 0 or 2, symmetric windows");
    }
    cli::require_between("--same-device", same_device, 0, comm::max_ranks);
    cli::require_between("-g", devices, 0, comm::max_ranks);
    cli::require_between("-t", threads, 1, comm::max_ranks);
    cli::require_between("-g x -t", devices * threads, 0, comm::max_ranks);
    require_devices(given, line);
    (void)cli::choose("-d", type, types());
    (void)cli::choose("-o", operation, operations());
    (void)cli::choose("--strategy", strategy, strategies());
    auto const how = chosen_algorithm();
    if (strategy != strategies().front() && how != comm::algorithm::pull &&
        how != comm::algorithm::two_shot) {
      throw std::invalid_argument("--strategy " + strategy + ": of --algorithm " + algorithm +
                                  " it would change nothing; name pull or two_shot");
    }
    if (table_only && line.given("--text")) {
      throw std::invalid_argument("--text: there is no report with --table-only");
    }
  }

  /// From the least to the largest, as nccl-tests steps.
  std::vector<std::size_t> sizes() const {
    auto const least = bytes("-b", min);
    auto const most = bytes("-e", max);
    if (least > most) { throw std::invalid_argument("-b " + min + " is more than -e " + max); }
    auto const by = bytes("-i", step);
    std::vector<std::size_t> all;
    for (auto size = least; size <= most;
         size = factor > 1 ? size * static_cast<std::size_t>(factor) : size + by) {
      all.push_back(size);
      constexpr std::size_t most_rows = 10000;
      if (all.size() > most_rows) {
        throw std::invalid_argument("-i " + step + ": more than 10000 sizes; name a factor by -f");
      }
    }
    return all;
  }
  std::vector<std::size_t> compared_bytes() const {
    std::vector<std::size_t> all;
    for (auto const& each : strategy_sizes) { all.push_back(bytes("--strategy-sizes", each)); }
    return all;
  }
  std::size_t sweep_bytes() const { return bytes("--sweep-size", sweep); }
  /// As asked for; 0: all that there are.
  int ranks() const { return same_device > 0 ? same_device : devices * threads; }
  comm::algorithm chosen_algorithm() const {
    return static_cast<comm::algorithm>(cli::choose("--algorithm", algorithm, algorithm_names()));
  }

  /// The heading of a table, but for its ranks.
  all_reduce_heading heading(std::string engine) const {
    all_reduce_heading made;
    made.engine = std::move(engine);
    made.threads = threads;
    made.devices = devices;
    made.min_bytes = bytes("-b", min);
    made.max_bytes = bytes("-e", max);
    made.step_is_factor = factor > 1;
    made.step = factor > 1 ? static_cast<std::size_t>(factor) : bytes("-i", step);
    made.warm_up = warm_up;
    made.iterations = iterations;
    made.check = check;
    made.graphs = graphs;
    return made;
  }

 private:
  /// Refuses what does not say which devices there are to be, or what would say nothing.
  void require_devices(cli::options const& given, cli::command_line const& line) const {
    if (job) { return; }
    if (same_device == 1 || devices * threads == 1) {
      throw std::invalid_argument(
          (same_device == 1 ? std::string{"--same-device 1"} : std::string{"-g 1 -t 1"}) +
          ": an all-reduce takes 2 ranks or more");
    }
    if (same_device == 0 && threads > 1 && devices == 0) {
      throw std::invalid_argument("-t " + std::to_string(threads) +
                                  ": name by -g how many devices each thread has");
    }
    if (same_device > 0 && (line.given("-g") || line.given("-t"))) {
      throw std::invalid_argument("--same-device " + std::to_string(same_device) +
                                  ": -g and -t are for ranks on devices of their own");
    }
    if (same_device == 0 && given.device_named) {
      throw std::invalid_argument("--device " + std::to_string(given.device) +
                                  ": it is for --same-device; ranks on devices of their own take "
                                  "the first that CUDA_VISIBLE_DEVICES shows");
    }
  }

  /// Refuses what one of several processes does not do.
  void require_for_processes(cli::command_line const& line) const {
    for (auto const* name : {"-g", "-t", "--algorithm", "--strategy", "--blocks", "--same-device",
                             "--no-nccl", "--strategy-sizes", "--sweep-size", "--trace", "--sqlite",
                             "--stats", "--device", "--seed", "--text", "--fail-if"}) {
      if (!line.given(name)) { continue; }
      throw std::invalid_argument(std::string{name} + ": " + job->launcher +
                                  " started this program as rank " + std::to_string(job->rank) +
                                  " of " + std::to_string(job->ranks) +
                                  ", which print NCCL's table and do nothing else; start it alone");
    }
  }

  /// As nccl-tests: K, M and G are powers of 1024; our own units are taken too.
  static std::size_t bytes(std::string_view option, std::string const& text) {
    auto unit = text;
    if (!unit.empty() && std::string_view{"kKmMgG"}.find(unit.back()) != std::string_view::npos) {
      unit += "iB";
    }
    return cli::detail::value_of(option, [&] { return cli::parse_bytes(unit); });
  }
};

/// The program: parses the command line, checks it, and returns the exit code of `body(parameters,
/// options)`, an optional comparison; 1 where `wrong()` says that an element was, whatever came
/// after.
template <class Body, class Wrong>
int run_all_reduce(int argc, char const* const* argv, std::string const& description,
                   Body const& body, Wrong const& wrong, std::ostream& out = std::cout,
                   std::ostream& err = std::cerr) {
  all_reduce_parameters given;
  cli::command_line const* parser = nullptr;
  auto const code = cli::run(
      argc, argv, description,
      [&](cli::command_line& line) {
        given.add_to(line);
        parser = &line;
      },
      [&](cli::options const& chosen) {
        given.job = comm::process_rank_of_environment();
        if (given.job && given.job->ranks == 1) { given.job.reset(); }
        given.settle(chosen, *parser);
        return body(std::as_const(given), chosen);
      },
      out, err);
  return code != cli::bad_input && wrong() ? cli::wrong_answer : code;
}

}  // namespace assay::examples
