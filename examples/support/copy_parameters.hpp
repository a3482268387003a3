// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the copy-strategy experiment beside the shared options.
#pragma once

#include "cli.hpp"
#include "command_line.hpp"
#include "options.hpp"
#include "parse.hpp"

#include <assay/workload/capped_grid.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// The workloads and numbers of SMs of a run.
struct copy_parameters {
  std::string bytes_text = "256MiB";
  std::vector<int> sms{};
  std::vector<std::string> workloads{};
  int threads = 256;
  std::vector<std::int64_t> row_bytes{256, 1024, 4096, 16'384};  ///< of gathers

  static std::vector<std::string> all_workloads() {
    return {"streaming_sum", "row_gather", "scale_add", "transpose"};
  }

  void add_to(cli::command_line& line) {
    line.option("--bytes", bytes_text, "what a workload reads; above twice the L2 cache");
    line.list("--sms", sms, "numbers of SMs, one block on each; 0: all SMs, full");
    line.list("--workload", workloads, "of " + cli::joined(all_workloads()) + "; all");
    line.option("--threads", threads, "in a block: 128, 256 or 512");
  }

  /// Resolves defaults by the machine and `--quick`, and refuses values that are not possible. The
  /// host half, which has no SMs, takes any number.
  void settle(cli::options const& chosen, int device_sms) {
    if (chosen.quick) { row_bytes = {1024}; }
    if (chosen.quick && bytes_text == copy_parameters{}.bytes_text) { bytes_text = "32MiB"; }
    (void)bytes();
    if (sms.empty() && chosen.quick) { sms = {4, 0}; }
    if (sms.empty()) { sms = {4, 16, 64, device_sms, 0}; }
    for (int& each : sms) { cli::require_between("--sms", each, 0, device_sms); }
    if (workloads.empty()) { workloads = all_workloads(); }
    for (auto const& each : workloads) { cli::choose("workload", each, all_workloads()); }
    workloads::require_caps("--threads", 0, threads);
  }

  std::int64_t bytes() const {
    auto const given = static_cast<std::int64_t>(
        cli::detail::value_of("--bytes", [&] { return cli::parse_bytes(bytes_text); }));
    cli::require_between("--bytes", given, std::int64_t{1} << 16, std::int64_t{1} << 36);
    return given;
  }
  bool runs(std::string_view workload) const {
    return std::find(workloads.begin(), workloads.end(), workload) != workloads.end();
  }

  /// The number of cells with verdicts, after defaults are resolved: each workload, and each length
  /// of a gather's rows, on each number of SMs.
  std::size_t cells() const {
    std::size_t count = 0;
    for (auto const& each : all_workloads()) {
      if (runs(each)) { count += each == "row_gather" ? row_bytes.size() : 1; }
    }
    return count * sms.size();
  }
};

}  // namespace assay::examples
