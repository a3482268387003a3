// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the copy-strategy experiment beside the shared options.
#pragma once

#include "copy_strategies.hpp"

#include <assay/cli/parse.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace assay::examples {

/// The options of the experiment.
class copy_options {
 public:
  void add_to(CLI::App& app) {
    app.add_option("--bytes", bytes_,
                   "what a workload reads; above twice the L2 cache (default 256MiB; 32MiB with "
                   "--quick)");
    app.add_option("--sms", given_.sms, "numbers of SMs, one block on each; 0: all SMs, full")
        ->delimiter(',');
    app.add_option("--workload", given_.workloads, "of " + cli::joined(copy_workloads()) + "; all")
        ->delimiter(',');
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible on a device
  /// with so many SMs; the host, which has none, gives 0 and takes any number.
  copy_parameters read(bool quick, int device_sms) const {
    auto of = given_;
    auto const text = !bytes_.empty() ? bytes_ : quick ? "32MiB" : "256MiB";
    of.bytes =
        static_cast<std::int64_t>(cli::value_of("--bytes", [&] { return cli::parse_bytes(text); }));
    cli::require_between("--bytes", of.bytes, std::int64_t{1} << 16, std::int64_t{1} << 36);
    if (of.sms.empty()) {
      of.sms = quick ? std::vector{4, 0} : std::vector{4, 16, 64, device_sms, 0};
      std::erase_if(of.sms, [&](int each) { return each > device_sms; });
    }
    auto const most = device_sms == 0 ? std::numeric_limits<int>::max() : device_sms;
    for (int const each : of.sms) { cli::require_between("--sms", each, 0, most); }
    for (auto const& each : of.workloads) {
      cli::choose("--workload", "workload", each, copy_workloads());
    }
    if (of.workloads.empty() && quick) {
      of.workloads = {"streaming_sum", "row_gather_1024", "scale_add", "transpose"};
    }
    if (of.workloads.empty()) { of.workloads = copy_workloads(); }
    return of;
  }

 private:
  copy_parameters given_;
  std::string bytes_;
};

}  // namespace assay::examples
