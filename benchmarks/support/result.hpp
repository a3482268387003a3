// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every benchmark does alike: its options, its environment, its JSON.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/machine/device_environment.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/report/json.hpp>
#include <assay/report/json_values.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::benchmark {

/// The command line of a benchmark: `--json PATH`, `--device N`, `--quick`.
struct options {
  std::filesystem::path json;
  /// Writes the figures so far, so that a long run that is cut short leaves what it had.
  std::function<void(report::document const&)> save = {};
  on::device place;
  bool quick = false;
};

/// An option of one benchmark alone.
struct option {
  std::string name;
  std::string value;  ///< its name in the help: "N"; "[N]" may be left out; "" for a flag
  std::string help;
  std::function<void(std::string const& value)> read;
};

inline options parse(int argc, char const* const* argv, std::vector<option> const& more = {}) {
  options chosen;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    auto const value = [&] {
      if (i + 1 == argc) { throw std::invalid_argument(std::string{word} + " needs a value"); }
      return std::string{argv[++i]};
    };
    if (word == "--json") {
      chosen.json = value();
    } else if (word == "--device") {
      chosen.place.id = std::stoi(value());
    } else if (word == "--quick") {
      chosen.quick = true;
    } else {
      auto const own = std::ranges::find(more, word, &option::name);
      if (own == more.end()) {
        throw std::invalid_argument("unknown option '" + std::string{word} + "': see --help");
      }
      bool const next = i + 1 < argc && std::string_view{argv[i + 1]}.substr(0, 2) != "--";
      bool const takes = own->value.starts_with('[') ? next : !own->value.empty();
      own->read(takes ? value() : std::string{});
    }
  }
  return chosen;
}

/// The commit that was built; empty where it is not known.
inline std::string commit() {
#ifdef ASSAY_COMMIT
  return ASSAY_COMMIT;
#else
  return {};
#endif
}

/// Runs `body(options, json&)`, which fills the figures in, and writes them with the environment in
/// which they were measured; returns the exit code. The clocks and throttle reasons are sampled at
/// the end, when the card is as warm as it was while measuring.
inline int run(int argc, char const* const* argv, std::string const& name,
               std::function<void(options const&, report::document&)> const& body,
               std::vector<option> const& more = {}) {
  try {
    if (argc > 1 && (std::string_view{argv[1]} == "--help" || std::string_view{argv[1]} == "-h")) {
      std::cout << name << ": prints its figures; --json PATH writes them, --device N chooses the "
                << "GPU, --quick takes less time\n";
      for (auto const& each : more) {
        std::cout << "  " << each.name << ' ' << each.value << (each.value.empty() ? "" : " ")
                  << each.help << '\n';
      }
      return 0;
    }
    auto chosen = parse(argc, argv, more);
    if (!chosen.json.empty()) { assay::require_writable(chosen.json); }
    require_device(chosen.place);
    check(cudaSetDevice(chosen.place.id));
    auto where = machine::host_environment(commit(), machine::command_line(argc, argv));
    auto state = machine::watch(chosen.place);
    chosen.save = [&](report::document const& figures) {
      for (auto const& reason : state.sample()) { std::cerr << "note: " << reason << '\n'; }
      machine::describe_device(chosen.place, where);
      state.describe(where);
      report::document all;
      all["schema"] = "assay.benchmark";
      all["schema_version"] = 1;
      all["benchmark"] = name;
      all["environment"] = report::to_json(where);
      all["figures"] = figures;
      if (!chosen.json.empty()) { assay::write_atomically(chosen.json, all.dump(1) + '\n'); }
    };
    report::document figures;
    body(chosen, figures);
    chosen.save(figures);
    return 0;
  } catch (std::invalid_argument const& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  } catch (std::exception const& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 4;
  }
}

}  // namespace assay::benchmark
