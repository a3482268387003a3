// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the all-reduce experiment: the letters of nccl-tests, and more.
#pragma once

#include "all_reduce.hpp"

#include <assay/cli/parse.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

/// The options of the experiment.
class all_reduce_options {
 public:
  bool table_only = false;

  void add_to(CLI::App& app) {
    app_ = &app;
    app.option_defaults()->always_capture_default()->group("Table, as nccl-tests");
    app.add_option("-b,--minbytes", min_,
                   "least size of a rank's data: 1024, 8K, 32M, 1G (1K with --quick)");
    app.add_option("-e,--maxbytes", max_, "largest size (1M with --quick)");
    app.add_option("-i,--stepbytes", step_, "from size to size, where there is no factor");
    app.add_option("-f,--stepfactor", factor_, "from size to size; 0: steps of -i");
    app.add_option("-g,--ngpus", devices_, "devices; 0: all that there are");
    app.add_option("-n,--iters", given_.iterations, "operations that are timed");
    app.add_option("-w,--warmup_iters", given_.warm_up, "operations before them");
    app.add_option("-c,--check", given_.check,
                   "check so many times that all elements are right; 0: do not");
    app.add_option("-d,--datatype", given_.type, "float, half or bfloat16");
    app.add_option("-o,--op", given_.operation, "sum, max or avg");
    app.add_option("-G,--cudagraph", given_.graphs,
                   "record the operations, and launch the graph so often");
    app.add_option("-R,--local_register", windows_,
                   "2: NCCL's buffers are symmetric windows too; 0: they are not");
    app.option_defaults()->group("All-reduce");
    app.add_option("--algorithm", algorithm_, cli::joined(algorithms()));
    app.add_option("--blocks", given_.blocks, "blocks of a rank; 0: as many as the size needs");
    app.add_option("--same-device", same_device_,
                   "put so many ranks on one device, for a machine with one GPU; 0: do not");
    app.add_flag("--no-nccl", no_nccl_, "leave NCCL out, also where the build has it");
    app.option_defaults()->group("Experiment");
    app.add_flag("--table-only", table_only, "print the table and leave the strategies out");
    app.add_option("--strategy-sizes", compared_, "sizes at which strategies are compared")
        ->delimiter(',');
    app.add_option("--sweep-size", sweep_, "size at which busbw is told by the number of SMs");
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible.
  all_reduce_parameters read(cli::options const& chosen) {
    if (chosen.host) {
      throw std::invalid_argument("--host: an all-reduce between GPUs has no half on the host");
    }
    auto of = given_;
    if (chosen.quick) { shorten(); }
    of.sizes = sizes();
    of.sweep = bytes("--sweep-size", sweep_);
    of.compared.clear();
    for (auto const& each : compared_) { of.compared.push_back(bytes("--strategy-sizes", each)); }
    cli::require_count("-n", of.iterations);
    for (auto const& [name, value] :
         {std::pair{"-w", of.warm_up}, std::pair{"-c", of.check}, std::pair{"-G", of.graphs},
          std::pair{"--blocks", of.blocks}}) {
      cli::require_between(name, value, 0, std::numeric_limits<int>::max());
    }
    if (windows_ != 0 && windows_ != 2) {
      throw std::invalid_argument("-R " + std::to_string(windows_) + ": 0 or 2, symmetric windows");
    }
    cli::choose("-d", of.type, {"float", "half", "bfloat16"});
    cli::choose("-o", of.operation, {"sum", "max", "avg"});
    of.algorithm =
        static_cast<comm::algorithm>(cli::choose("--algorithm", algorithm_, algorithms()));
    of.windows = windows_ == 2;
    of.nccl = !no_nccl_ && same_device_ == 0;  // NCCL takes one rank on a device
    require_devices(chosen);
    for (auto const& [option, path] : chosen.files) {
      if (!table_only || option == "--json") { continue; }
      throw std::invalid_argument(option +
                                  ": with --table-only there is --json alone, of the table");
    }
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

  /// The line of nccl-tests that says how the table is measured.
  std::string heading(all_reduce_parameters const& of) const {
    bool const by_factor = factor_ > 1;
    return "# nGpus " + std::to_string(devices_) + " minBytes " + std::to_string(of.sizes.front()) +
           " maxBytes " + std::to_string(bytes("-e", max_)) + " step: " +
           std::to_string(by_factor ? static_cast<std::size_t>(factor_) : bytes("-i", step_)) +
           (by_factor ? "(factor)" : "(bytes)") + " warmup iters: " + std::to_string(of.warm_up) +
           " iters: " + std::to_string(of.iterations) + " validation: " + std::to_string(of.check) +
           " graph: " + std::to_string(of.graphs);
  }

 private:
  static std::vector<std::string> algorithms() {
    std::vector<std::string> all;
    for (int i = 0; i < comm::algorithms; ++i) {
      all.emplace_back(comm::to_string(static_cast<comm::algorithm>(i)));
    }
    return all;
  }

  bool named(char const* option) const { return app_->count(option) != 0; }

  void shorten() {
    if (!named("-b")) { min_ = "1K"; }
    if (!named("-e")) { max_ = "1M"; }
    if (!named("-f") && !named("-i")) { factor_ = 4; }
    if (!named("--strategy-sizes")) { compared_ = {"256K", "1M"}; }
    if (!named("--sweep-size")) { sweep_ = "8M"; }
  }

  /// From the least to the largest, as nccl-tests steps.
  std::vector<std::size_t> sizes() {
    auto const least = bytes("-b", min_);
    if (!named("-e") && bytes("-e", max_) < least) { max_ = min_; }
    auto const most = bytes("-e", max_);
    if (least > most) { throw std::invalid_argument("-b " + min_ + " is more than -e " + max_); }
    cli::require_between("-f", factor_, 0, std::numeric_limits<int>::max());
    if (factor_ == 1) {
      throw std::invalid_argument("-f 1: sizes would never grow; name 2 or more");
    }
    auto const by = bytes("-i", step_);
    std::vector<std::size_t> all;
    for (auto size = least; size <= most;
         size = factor_ > 1 ? size * static_cast<std::size_t>(factor_) : size + by) {
      all.push_back(size);
      constexpr std::size_t most_rows = 10000;
      if (all.size() > most_rows) {
        throw std::invalid_argument("-i " + step_ + ": more than 10000 sizes; name a factor by -f");
      }
    }
    return all;
  }

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

  /// As nccl-tests: K, M and G are powers of 1024; our own units are taken too.
  static std::size_t bytes(std::string_view option, std::string const& text) {
    auto unit = text;
    if (!unit.empty() && std::string_view{"kKmMgG"}.find(unit.back()) != std::string_view::npos) {
      unit += "iB";
    }
    return cli::value_of(option, [&] { return cli::parse_bytes(unit); });
  }

  CLI::App const* app_ = nullptr;
  all_reduce_parameters given_;
  std::string min_ = "32M", max_ = "32M", step_ = "1M", algorithm_ = "automatic", sweep_ = "64M";
  std::vector<std::string> compared_{"256K", "512K", "1M", "2M", "4M", "16M", "64M"};
  int factor_ = 0, devices_ = 0, windows_ = 0, same_device_ = 0;
  bool no_nccl_ = false;
};

}  // namespace assay::examples
