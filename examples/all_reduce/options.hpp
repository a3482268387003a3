// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the all-reduce experiment beside the shared options.
#pragma once

#include "all_reduce.hpp"

#include <assay/cli/options.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/device.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

/// The options of the experiment.
class all_reduce_options {
 public:
  void add_to(CLI::App& app) {
    app.get_option("--clock")->default_val("gpu");       // `wall` has the start of a graph in it
    app.get_option("--max-seconds")->default_val("25");  // of all comparisons together
    app.add_option("-g,--ngpus", devices_, "devices; 0: all that there are");
    app.add_option("--same-device", on_one_,
                   "put so many ranks on one device, for a machine with one GPU; 0: do not");
    app.add_option("--strategy-sizes", compared_,
                   "a rank's data where strategies are compared (default 256KiB to 64MiB)")
        ->delimiter(',');
    app.add_option("--sweep-size", sweep_,
                   "a rank's data where the number of SMs varies (default 8MiB)");
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible.
  all_reduce_parameters read(cli::options const& chosen) const {
    auto const refuse = [](std::string const& why) { throw std::invalid_argument(why); };
    if (chosen.host) { refuse("--host: an all-reduce between GPUs has no half on the host"); }
    if (on_one_ != 0 && devices_ != 0) {
      refuse("-g " + std::to_string(devices_) +
             ": ranks have devices of their own, or --same-device");
    }
    if (on_one_ == 0 && chosen.device_named) {
      refuse("--device " + std::to_string(chosen.device) +
             ": it is for --same-device; other ranks take the first devices");
    }
    if (on_one_ != 0) { cli::require_between("--same-device", on_one_, 2, comm::max_ranks); }
    if (devices_ != 0) { cli::require_between("-g", devices_, 2, comm::max_ranks); }

    auto sizes = compared_;
    if (sizes.empty()) { sizes = {"256KiB", "1MiB", "4MiB", "16MiB", "64MiB"}; }
    if (chosen.quick && compared_.empty()) { sizes = {"256KiB", "1MiB"}; }
    all_reduce_parameters of;
    cli::value_of("--strategy-sizes", [&] {
      for (auto const& each : sizes) { of.compared.push_back(cli::parse_bytes(each)); }
    });
    std::string const sweep = sweep_.empty() ? "8MiB" : sweep_;
    of.sweep = cli::value_of("--sweep-size", [&] { return cli::parse_bytes(sweep); });
    // 16 blocks of 512 threads load 512 KiB at once, and each of eight ranks reduces an eighth.
    if (of.sweep < 4 << 20) { refuse("--sweep-size " + sweep + ": 16 SMs need 4MiB or more"); }
    if (chosen.quick) { of.sms = {2, 8}; }
    return of;
  }

  /// The devices of the ranks. Throws `std::invalid_argument` where there are too few.
  comm::peers peers(cli::options const& chosen) const {
    if (on_one_ != 0) { return comm::peers::on_one(on::device{chosen.device}, on_one_); }
    int const ranks = devices_ != 0 ? devices_ : std::min(device_count(), comm::max_ranks);
    if (ranks >= 2) { return comm::peers::first(ranks); }
    throw std::invalid_argument("this process sees " + std::to_string(ranks) +
                                " GPUs: --same-device 2 puts two ranks on one");
  }

 private:
  std::vector<std::string> compared_;
  std::string sweep_;
  int devices_ = 0, on_one_ = 0;
};

}  // namespace assay::examples
