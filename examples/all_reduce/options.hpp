// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the all-reduce experiment beside the shared options.
#pragma once

#include "all_reduce.hpp"

#include <assay/cli/parse.hpp>
#include <assay/core/device.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// The options of the experiment.
class all_reduce_options {
 public:
  void add_to(CLI::App& app) {
    app.add_option("-g,--ngpus", devices_, "devices; 0: all that there are");
    app.add_option("--same-device", same_device_,
                   "put so many ranks on one device, for a machine with one GPU; 0: do not");
    app.add_option("--strategy-sizes", compared_,
                   "a rank's data where strategies are compared (default 256KiB to 64MiB)")
        ->delimiter(',');
    app.add_option("--sweep-size", sweep_,
                   "a rank's data where the number of SMs varies (default 64MiB)");
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible.
  all_reduce_parameters read(cli::options const& chosen) const {
    if (chosen.host) {
      throw std::invalid_argument("--host: an all-reduce between GPUs has no half on the host");
    }
    require_devices(chosen);
    auto const bytes = [](std::string_view option, std::string const& text) {
      return cli::value_of(option, [&] { return cli::parse_bytes(text); });
    };
    std::vector<std::string> sizes{"256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "16MiB", "64MiB"};
    if (chosen.quick) { sizes = {"256KiB", "1MiB"}; }
    all_reduce_parameters of;
    for (auto const& each : compared_.empty() ? sizes : compared_) {
      of.compared.push_back(bytes("--strategy-sizes", each));
    }
    of.sweep = bytes("--sweep-size", !sweep_.empty() ? sweep_ : chosen.quick ? "8MiB" : "64MiB");
    return of;
  }

  /// The devices of the ranks.
  comm::peers peers(cli::options const& chosen) const {
    if (same_device_ > 0) {
      on::device const place{chosen.device};
      require_device(place);
      return comm::peers::on_one(place, same_device_);
    }
    int const seen = device_count();
    int const wanted = devices_ > 0 ? devices_ : std::min(seen, comm::max_ranks);
    if (wanted < 2 || wanted > seen) {
      throw std::invalid_argument(
          "an all-reduce between GPUs needs 2 or more, and this process sees " +
          std::to_string(seen) + (wanted > seen ? " of " + std::to_string(wanted) : "") +
          ": --same-device 2 puts two ranks on one, to see that it works");
    }
    return comm::peers::first(wanted);
  }

 private:
  void require_devices(cli::options const& chosen) const {
    cli::require_between("--same-device", same_device_, 0, comm::max_ranks);
    cli::require_between("-g", devices_, 0, comm::max_ranks);
    if (same_device_ == 1 || devices_ == 1) {
      throw std::invalid_argument((same_device_ == 1 ? "--same-device 1" : "-g 1") +
                                  std::string{": an all-reduce takes 2 ranks or more"});
    }
    if (same_device_ > 0 && devices_ > 0) {
      throw std::invalid_argument("--same-device " + std::to_string(same_device_) +
                                  ": -g is for ranks on devices of their own");
    }
    if (same_device_ == 0 && chosen.device_named) {
      throw std::invalid_argument("--device " + std::to_string(chosen.device) +
                                  ": it is for --same-device; ranks on devices of their own take "
                                  "the first that CUDA_VISIBLE_DEVICES shows");
    }
  }

  std::vector<std::string> compared_;
  std::string sweep_;
  int devices_ = 0, same_device_ = 0;
};

}  // namespace assay::examples
