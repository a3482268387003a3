// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every benchmark that needs no GPU does alike: its options, its environment, its JSON.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/report/json.hpp>
#include <assay/report/json_values.hpp>

#include <filesystem>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::benchmark {

/// The command line of a benchmark on the host: `--json PATH`, `--quick`.
struct host_options {
  std::filesystem::path json;
  bool quick = false;
};

inline host_options parse_host(int argc, char const* const* argv) {
  host_options chosen;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word == "--json" && i + 1 < argc) {
      chosen.json = argv[++i];
    } else if (word == "--quick") {
      chosen.quick = true;
    } else {
      throw std::invalid_argument("unknown option '" + std::string{word} +
                                  "', or one without its value: there are --json PATH and --quick");
    }
  }
  return chosen;
}

/// Runs `body(options, figures&)`, and writes the figures with the environment in which they were
/// measured; returns the exit code.
inline int run_on_host(int argc, char const* const* argv, std::string const& name,
                       std::function<void(host_options const&, report::document&)> const& body) {
  try {
    auto const chosen = parse_host(argc, argv);
    if (!chosen.json.empty()) { require_writable(chosen.json); }
#ifdef ASSAY_COMMIT
    std::string const commit = ASSAY_COMMIT;
#else
    std::string const commit;
#endif
    report::document all;
    all["schema"] = "assay.benchmark";
    all["schema_version"] = 1;
    all["benchmark"] = name;
    all["environment"] =
        report::to_json(machine::host_environment(commit, machine::command_line(argc, argv)));
    body(chosen, all["figures"]);
    if (!chosen.json.empty()) { write_atomically(chosen.json, all.dump(1) + '\n'); }
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
