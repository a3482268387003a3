// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlap experiment's parameters, its files, and its host half.
#pragma once

#include "cli.hpp"
#include "overlap_rows.hpp"

#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
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

  void add_to(cli::command_line& line) {
    line.group("Experiment");
    line.option("--max-bytes", max,
                "largest size each way, from 1MiB by doubling (--quick: "
                "16MiB)");
    line.list("--sweep-bytes", sweep,
              "sizes of the sweep over chunks and streams, at most "
              "the largest");
    line.option("--compare-bytes", compare,
                "size each way at which verdicts are given "
                "(--quick: 4MiB)");
    line.option("--flops", flops, "arithmetic for each element of 4 bytes");
    line.option("--repetitions", repetitions, "of each time (--quick: 3)");
  }

  /// Refuses what makes no sense, by name and value, before anything is allocated.
  void check(cli::options const& given, cli::command_line const& line) {
    if (given.quick) {
      if (!line.given("--max-bytes")) { max = "16MiB"; }
      if (!line.given("--compare-bytes")) { compare = "4MiB"; }
      if (!line.given("--repetitions")) { repetitions = 3; }
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

/// The host half: the same sum by one thread, by all, and by twice as many.
std::optional<measure::comparison> overlap_on_host(overlap_parameters const& given,
                                                   cli::options const& chosen);

/// The program: parses the command line, checks it, and returns the exit code of `body(parameters,
/// options)`, an optional comparison. `configure(line)` adds more options.
template <class Configure, class Body>
int run_overlap(int argc, char const* const* argv, std::string const& description,
                Configure const& configure, Body const& body, std::ostream& out = std::cout,
                std::ostream& err = std::cerr) {
  overlap_parameters given;
  cli::command_line const* parser = nullptr;
  return cli::run(
      argc, argv, description,
      [&](cli::command_line& line) {
        given.add_to(line);
        configure(line);
        parser = &line;
      },
      [&](cli::options const& chosen) {
        given.check(chosen, *parser);
        return body(std::as_const(given), chosen);
      },
      out, err);
}

}  // namespace assay::examples
