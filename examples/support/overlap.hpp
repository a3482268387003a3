// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlap experiment's parameters, its files, and its host half.
#pragma once

#include "cli.hpp"
#include "overlap_rows.hpp"

#include <assay/measure/compare.hpp>
#include <assay/rig.hpp>
#include <assay/workload/vector_add.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// The parameters of the overlap experiment beside those that all examples have.
struct overlap_parameters {
  std::string max = "4GiB";
  std::vector<std::string> sweep{"64MiB", "1GiB"};
  std::string compare = "64MiB";
  int flops = 2;
  int repetitions = 7;

  void add_to(CLI::App& app) {
    auto const group = "Experiment";
    app.add_option("--max-bytes", max,
                   "largest size each way, from 1MiB by doubling (--quick: "
                   "16MiB)")
        ->capture_default_str()
        ->group(group);
    app.add_option("--sweep-bytes", sweep,
                   "sizes of the sweep over chunks and streams, at most "
                   "the largest")
        ->delimiter(',')
        ->capture_default_str()
        ->group(group);
    app.add_option("--compare-bytes", compare,
                   "size each way at which verdicts are given "
                   "(--quick: 4MiB)")
        ->capture_default_str()
        ->group(group);
    app.add_option("--flops", flops, "arithmetic for each element of 4 bytes")
        ->capture_default_str()
        ->group(group);
    app.add_option("--repetitions", repetitions, "of each time (--quick: 3)")
        ->capture_default_str()
        ->group(group);
  }

  /// Refuses what makes no sense, by name and value, before anything is allocated.
  void check(cli::options const& given, CLI::App const& app) {
    if (given.quick) {
      if (app.count("--max-bytes") == 0) { max = "16MiB"; }
      if (app.count("--compare-bytes") == 0) { compare = "4MiB"; }
      if (app.count("--repetitions") == 0) { repetitions = 3; }
    }
    cli::require_count("--repetitions", repetitions);
    cli::require_between("--flops", flops, 0, 1 << 24);
    if (flops % 2 != 0) {
      throw std::invalid_argument("--flops " + std::to_string(flops) +
                                  ": it must be even, as each step multiplies and adds");
    }
    require_size("--max-bytes", max_bytes());
    require_size("--compare-bytes", compare_bytes());
    for (auto const each : sweep_bytes()) { require_size("--sweep-bytes", each); }
  }

  std::size_t max_bytes() const { return bytes("--max-bytes", max); }
  std::size_t compare_bytes() const { return bytes("--compare-bytes", compare); }
  /// Those that are not beyond the largest.
  std::vector<std::size_t> sweep_bytes() const {
    std::vector<std::size_t> sizes;
    for (auto const& each : sweep) {
      if (bytes("--sweep-bytes", each) <= max_bytes()) {
        sizes.push_back(bytes("--sweep-bytes", each));
      }
    }
    return sizes;
  }
  /// From 1 MiB by doubling.
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> all;
    for (std::size_t each = std::size_t{1} << 20U; each <= max_bytes(); each *= 2) {
      all.push_back(each);
    }
    return all;
  }

 private:
  static std::size_t bytes(std::string_view option, std::string const& text) {
    return cli::detail::value_of(option, [&] { return cli::parse_bytes(text); });
  }
  static void require_size(std::string_view option, std::size_t size) {
    cli::require_between(option, size, std::size_t{1} << 20U, std::size_t{16} << 30U);
  }
};

/// Everything that was measured beside the comparison.
struct overlap_findings {
  std::vector<overlap_row> rows;
  std::vector<sweep_cell> sweep;
  pin_costs pin;
  report::document ceilings;
  std::string no_timeline;  ///< why overlap is known by events only; empty where it is not
};

/// Files beside those of the comparison: X.transfers.csv, X.sweep.csv, X.curves.json.
inline std::vector<std::filesystem::path> overlap_outputs(cli::options const& of) {
  std::vector<std::filesystem::path> paths;
  if (!of.csv.empty()) {
    paths.insert(paths.end(), {cli::beside(of.csv, "transfers"), cli::beside(of.csv, "sweep")});
  }
  if (!of.json.empty()) { paths.push_back(cli::beside(of.json, "curves")); }
  return paths;
}

inline void write_overlap(cli::options const& of, overlap_findings const& found) {
  if (!of.csv.empty()) {
    report::write_atomically(cli::beside(of.csv, "transfers"), rows_csv(found.rows, found.pin));
    report::write_atomically(cli::beside(of.csv, "sweep"), sweep_csv(found.sweep));
  }
  if (!of.json.empty()) {
    auto all = curves_json(found.rows, found.sweep, found.pin);
    all["ceilings"] = found.ceilings;
    report::write_atomically(cli::beside(of.json, "curves"), all.dump(1) + '\n');
  }
}

/// The host half: the same sum by one thread, by all, and by twice as many.
inline std::optional<measure::comparison> overlap_on_host(overlap_parameters const& given,
                                                          cli::options const& chosen) {
  int const all = host::all_threads();
  // Two inputs and an output: together as much as goes each way over a link, twice.
  auto const elements = static_cast<std::int64_t>(given.compare_bytes() / sizeof(float));
  pipeline const control{workloads::vector_add<float>{.elements = elements}, on::host{1}};
  auto const every = control.with(on::host{std::max(2, all)});
  auto const twice = control.with(on::host{2 * std::max(2, all)});
  if (chosen.list) {
    for (auto const& each :
         {describe(control.place), describe(every.place), describe(twice.place)}) {
      std::cout << each << '\n';
    }
    return {};
  }
  auto options = chosen.measuring();
  options.title = "Adding two arrays on the CPU: by one thread, by all, by twice as many";
  return compare_all(options, control, every, twice);
}

/// The program: parses the command line, checks it, and returns the exit code of `body(parameters,
/// options)`, an optional comparison.
template <class Body>
int run_overlap(int argc, char const* const* argv, std::string const& description, Body const& body,
                std::ostream& out = std::cout, std::ostream& err = std::cerr) {
  overlap_parameters given;
  CLI::App const* parser = nullptr;
  return cli::run(
      argc, argv, description,
      [&](CLI::App& app) {
        given.add_to(app);
        parser = &app;
      },
      [&](cli::options const& chosen) {
        given.check(chosen, *parser);
        return body(std::as_const(given), chosen);
      },
      out, err);
}

}  // namespace assay::examples
