// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the two null_cast programs share: their parameters, and the host half of the experiment.
#pragma once

#include "cli.hpp"

#include <assay/measure/compare_pipelines.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Says nothing of why variants differ, as on the host, where there is no device to trace.
struct not_explaining {
  template <class... Pipelines>
  void operator()(cli::options const&, measure::comparison&, std::vector<std::string> const&,
                  Pipelines const&...) const {}
  template <class Pipeline>
  void alone(Pipeline const&, std::string const&) const {}
};

/// The parameters of the null_cast experiment beside those that all examples have.
struct null_cast_parameters {
  std::int64_t rows = 2'684'354;
  double null_fraction = 0.1;
  std::string type = "int32";
  int threads = 4;
  int items = 100;
  bool items_chosen = false;
  bool sync_per_item = false;
  int item_threads = 1;
  std::string pool = "10GiB";
  std::string variant;
  int batches = 0;

  void add_to(cli::command_line& line) {
    line.group("Experiment");
    line.option("--rows", rows, "rows of the column");
    line.option("--null-fraction", null_fraction, "share of nulls, 0 to 1");
    line.option("--type", type, "of the column: int32, int64 or float");
    line.option("--threads", threads, "host threads that submit");
    line.option(
        "--items", items,
        "items that each thread submits in a batch, on the host 2 (--quick: 10, on the host 1)");
    line.flag("--sync-per-item", sync_per_item,
              "wait for each item, as libraries do whose calls block");
    line.option("--pool", pool, "initial size of the pool on a GPU");
    line.option("--item-threads", item_threads, "CPU threads of each item, on the host");
    line.optional(
        "--variant", variant,
        "run this variant alone, without comparing (a profiler's run); --list names them");
    line.optional("--batches", batches, "how many batches of it (default 10)");
  }

  /// Refuses what makes no sense, by name and value, before anything is allocated.
  void check(cli::options const& given, cli::command_line const& line) {
    cli::require_between("--rows", rows, std::int64_t{1}, std::int64_t{1} << 40);
    cli::require_between("--null-fraction", null_fraction, 0.0, 1.0);
    cli::choose("type", type, {"int32", "int64", "float"});
    cli::require_count("--threads", threads);
    cli::require_count("--items", items);
    cli::require_count("--item-threads", item_threads);
    if (line.given("--batches")) {
      cli::require_count("--batches", batches);
      if (variant.empty()) {
        throw std::invalid_argument("--batches " + std::to_string(batches) +
                                    ": it counts the batches of one variant; name it by --variant");
      }
    } else {
      batches = 10;
    }
    items_chosen = line.given("--items");
    if (given.quick && !items_chosen) { items = 10; }
    (void)pool_bytes();  // refuses what is no size
  }

  std::size_t pool_bytes() const {
    return cli::detail::value_of("--pool", [&] { return cli::parse_bytes(pool); });
  }

  /// The same for the host, with so few items, unless told how many, that two cores take five
  /// minutes for 24 epochs of the default rows.
  null_cast_parameters on_host(bool quick) const {
    auto fewer = *this;
    if (!items_chosen) { fewer.items = quick ? 1 : 2; }
    return fewer;
  }

  submit::concurrent concurrent() const { return {threads, items, sync_per_item}; }
  submit::serialized serialized() const { return {threads, items, sync_per_item}; }

  /// The workload for `T`, in the form that `Work` names.
  template <class Work>
  Work work() const {
    return {.rows = rows, .null_fraction = null_fraction};
  }

  /// Calls `body` with a value of the column's type.
  template <class Body>
  auto with_type(Body&& body) const {
    if (type == "int64") { return body(std::int64_t{}); }
    if (type == "float") { return body(float{}); }
    return body(std::int32_t{});
  }

  /// Lists the variants, runs one of them, or crosses two choices on an axis with the two ways to
  /// submit; `first` and `second` are pairs of name and choice. `explain` is told of what ran.
  template <class Control, class First, class Second, class Explain = not_explaining>
  std::optional<measure::comparison> cross(cli::options const& given, std::string title,
                                           Control const& control,
                                           std::pair<char const*, First> const& first,
                                           std::pair<char const*, Second> const& second,
                                           Explain const& explain = {}) const {
    std::string const row[] = {first.first, second.first};
    std::vector<std::string> const names{row[0] + "/concurrent", row[0] + "/serialized",
                                         row[1] + "/concurrent", row[1] + "/serialized"};
    if (given.list) {
      for (auto const& each : names) { std::cout << each << '\n'; }
      return {};
    }
    auto const first_at_once = control.with(first.second).with(concurrent());
    auto const first_in_turn = control.with(first.second).with(serialized());
    auto const second_at_once = control.with(second.second).with(concurrent());
    auto const second_in_turn = control.with(second.second).with(serialized());
    if (variant.empty()) {
      auto options = given.measuring(control.place);
      options.title = std::move(title);
      auto found = factorial(control, levels{first.second, second.second},
                             levels{concurrent(), serialized()}, options);
      explain(given, found, names, first_at_once, first_in_turn, second_at_once, second_in_turn);
      return found;
    }
    switch (cli::choose("variant", variant, names)) {
      case 0:
        run_alone(first_at_once, explain);
        break;
      case 1:
        run_alone(first_in_turn, explain);
        break;
      case 2:
        run_alone(second_at_once, explain);
        break;
      default:
        run_alone(second_in_turn, explain);
    }
    return {};
  }

 private:
  template <class Pipeline, class Explain>
  void run_alone(Pipeline const& what, Explain const& explain) const {
    rig real{what};
    double seconds = 0;
    for (int i = 0; i < batches; ++i) { seconds += real.run().wall; }
    std::cout << variant << ": " << batches << " batches, " << report::duration(seconds / batches)
              << " each\n";
    explain.alone(what, variant);
  }
};

/// The host half: three passes or one, submitted at once or under one mutex.
std::optional<measure::comparison> null_cast_on_host(null_cast_parameters const& given,
                                                     cli::options const& chosen);

/// The program: parses the command line, checks it, and returns the exit code of `body(parameters,
/// options)`, an optional comparison. `more` has options of its own.
template <class Body, class... More>
int run_null_cast(int argc, char** argv, std::string const& description, Body const& body,
                  More&... more) {
  null_cast_parameters given;
  cli::command_line const* parser = nullptr;
  return cli::run(
      argc, argv, description,
      [&](cli::command_line& line) {
        given.add_to(line);
        (more.add_to(line), ...);
        parser = &line;
      },
      [&](cli::options const& chosen) {
        given.check(chosen, *parser);
        (more.check(), ...);
        return body(std::as_const(given), chosen);
      });
}

}  // namespace assay::examples
